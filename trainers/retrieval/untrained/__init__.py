"""The rows without training of a run: made for one that lacks them, in words, and what they say of it."""
