"""Headless metric learning: data, encoders, losses, metrics, the training loop and the run folder."""

from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"
"""Files that ship with the program."""
HOME = Path(__file__).resolve().parents[1 + __name__.count(".")]
"""Where Python finds this program."""
