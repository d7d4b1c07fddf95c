"""What the drawn images are made with: exact functions, random numbers, colours, a pen, and the digest of the code."""
