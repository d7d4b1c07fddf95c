"""Mirroring runs to trackers."""
