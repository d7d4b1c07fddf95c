"""Files of weights that other programs wrote: how they are read without running anything of them, and their names."""
