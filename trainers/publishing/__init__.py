"""Runs on the Hub: what is uploaded of one, its card, and the upload."""
