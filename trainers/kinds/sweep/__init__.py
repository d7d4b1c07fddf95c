"""Sweeps: the same losses over several seeds and values of settings, as one job of paired runs."""

from trainers.kinds.sweep.kind import Sweep

DESCRIPTOR = Sweep()
