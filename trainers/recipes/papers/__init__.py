"""What the recipes of a paper share: settings, arms, images and sentences."""
