"""Headless metric learning: data, encoders, losses, metrics, the training loop and the run folder."""
