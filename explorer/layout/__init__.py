"""From snapshots of embeddings to two-dimensional maps, in a process of its own."""
