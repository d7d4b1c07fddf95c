"""Copies of runs in a folder that outlives this machine's disk: a mounted bucket, volume or share."""
