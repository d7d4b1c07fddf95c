"""Faults that somebody could make, each a patch of the program that names the tests which catch it."""
