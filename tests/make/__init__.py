"""Scripts that make what ships: recordings, the first answer, the small models, evidence, tables of the docs."""
