"""Scripts that make what ships: recordings, the first answer, the small models, the evidence, the tables of the docs."""
