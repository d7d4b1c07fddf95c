"""Numbers of things in sentences: 1 class was, 2 classes were."""

from __future__ import annotations

_SEVERAL = {"class": "classes", "query": "queries", "is": "are", "was": "were", "has": "have", "lies": "lie"}


def counted(count: int, noun: str, verb: str = "") -> str:
    """Write a number with its noun, which may have words before it and is given in the singular, and its verb."""
    *before, last = noun.split(" ")
    words = [f"{count:,}", *before, last if count == 1 else _SEVERAL.get(last, f"{last}s")]
    if verb:
        words.append(verb if count == 1 else _SEVERAL.get(verb, verb))
    return " ".join(words)
