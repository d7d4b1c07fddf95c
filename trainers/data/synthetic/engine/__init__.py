"""The drawing kit: exact functions, random numbers, colours, a pen, and the digest of the code."""
