"""Rows without training."""
