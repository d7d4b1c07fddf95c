"""The devices that there are, the choice of one for a run, and values to and from them."""
