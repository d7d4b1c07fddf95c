"""Metric learning on labelled images: one to four losses in lockstep."""
