"""Images with captions and objects."""
