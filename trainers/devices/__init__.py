"""Which devices there are, which one a run takes, and values to and from them."""
