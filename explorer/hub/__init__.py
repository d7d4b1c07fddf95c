"""Comparisons of the Hub on the page, and uploads to it in a visitor's own name."""
