"""Retrieval with trained runs: results, re-ranking, curves of a query, mistakes, disagreements. Nothing of the page."""
