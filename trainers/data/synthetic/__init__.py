"""Images that are drawn here, for use without a network."""
