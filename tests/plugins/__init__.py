"""Files and packages outside the program that add entries."""
