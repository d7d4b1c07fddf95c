"""The captioner whose weights are published, by name alone: the modules that run it take seconds to import."""

WEIGHTS = "Salesforce/blip-image-captioning-base"
"""Repository of the Hub."""
