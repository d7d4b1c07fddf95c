"""Optimizers and learning-rate schedules by name: what a configuration offers and a loop uses."""
