"""Runs that were not trained here: embeddings from files, and training loops of one's own that log them."""
