"""Scripts that make what ships: recordings, the first answer, the small models, the evidence table."""
