"""Long trials of the whole program: kills, damaged folders, malformed requests, many viewers for an hour, a GPU.

Each is ``python -m tests.campaigns.<name>``; all are seeded, bounded, and print a table of what was tried and failed.
"""
