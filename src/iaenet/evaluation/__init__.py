"""What a trained network is worth, and its use: errors, resolution studies, certificates, predictions."""
