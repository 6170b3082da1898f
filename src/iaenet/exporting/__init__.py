"""Trained models for other programs: one file, which runs without PyTorch."""
