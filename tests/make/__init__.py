"""Scripts that make what ships: recordings, the first answer, the small models, tables of the docs."""
