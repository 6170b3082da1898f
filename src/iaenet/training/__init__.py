"""Training: configuration, loop, checkpoints, run folders."""
