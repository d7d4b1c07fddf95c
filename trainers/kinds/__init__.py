"""Kinds of run, one folder each."""
