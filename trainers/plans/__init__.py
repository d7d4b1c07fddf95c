"""Plans: runs of a kind that trains nothing itself, but says which other runs are to be trained."""
