"""The label tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """The label tree. Level 0 is the finest.

    Attributes:
        levels: name of each level, finest first, e.g. ``("product", "kind", "aisle")``.
        names: for each level, the name of every class id at that level. Ids are unique across parents: two images
            that agree at a level agree at every coarser one.
    """

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]

    @property
    def depth(self) -> int:
        """Number of levels L."""
        return len(self.levels)


def severity_words(hierarchy: Hierarchy) -> list[str]:
    """``words[n]`` for a result that shares ``n`` levels with the query, 0 to L."""
    depth = hierarchy.depth
    return ["unrelated", *(f"same {hierarchy.levels[depth - shared]}" for shared in range(1, depth + 1))]
