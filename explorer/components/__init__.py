"""Components of our own: each is a class here, and a script and a style in ``assets/components``."""
