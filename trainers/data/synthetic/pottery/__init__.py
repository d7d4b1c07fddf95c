"""Images of painted pots, rendered with light and shading: the labelled dataset ``drawn``."""
