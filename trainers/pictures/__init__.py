"""Maps of a run as pictures and films."""
