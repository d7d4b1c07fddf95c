"""The table of classes and superclasses: made by clustering, split, put under a further level, written and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trainers.cells import csv_text, some
from trainers.data.labelled.hierarchies.mapping import DROPPED, read_mapping
from trainers.errors import UserError
from trainers.image_text.class_groups import NameEncoder, class_groups, nearest_groups

SUPERCLASS, TOP = "superclass", "top"
"""Names of the first level above the classes, and of the next."""


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """How groups are made of names: see :func:`trainers.image_text.class_groups.class_groups`."""

    encoder: NameEncoder
    by: str = "meaning"
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class ClassTable:
    """Classes with their superclasses.

    Attributes:
        levels: names of the levels, finest first.
        rows: for each class its name and those of its superclasses; of one that is dropped
            :data:`trainers.data.labelled.hierarchies.mapping.DROPPED` in their place.
    """

    levels: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def clustered(cls, level: str, classes: Sequence[str], count: int, how: Similarity) -> ClassTable:
        """Put classes under ``count`` superclasses; ``level`` is what their own level is called.

        Raises:
            UserError: there are too few classes for so many, or the model cannot be had.
        """
        made = class_groups(classes, count, by=how.by, seed=how.seed, encoder=how.encoder)
        return cls(levels=(level, SUPERCLASS), rows=tuple(zip(classes, made.titles(classes), strict=True)))

    @classmethod
    def read(cls, table: str, level: str, classes: Sequence[str]) -> ClassTable:
        """Read a table, or the file that ``table`` names; classes with several superclasses are dropped.

        Raises:
            DataError: it cannot be read, or lacks classes.
        """
        made = read_mapping(table, classes, drop_several=True)
        gone = (DROPPED,) * (len(made.names) - 1)
        rows = tuple(made.paths.get(name, (name, *gone)) for name in classes)
        return cls(levels=(level, *made.names[1:]), rows=rows)

    def split(self, group: str, count: int, how: Similarity) -> ClassTable:
        """Divide a superclass in ``count``, by clustering its classes; what is above it is above each.

        Raises:
            UserError: there is no such superclass, or it has too few classes.
        """
        members = [row[0] for row in self.rows if row[1] == group]
        if not members:
            raise UserError(f"There is no superclass {group!r:.60}; there are: {some(self._names(1))}.")
        if len(members) == count:
            titles = members
        else:
            made = class_groups(members, count, by=how.by, seed=how.seed, encoder=how.encoder)
            titles = made.titles(members)
        taken = {*self._names(1)} - {group}
        fresh = dict(zip(members, _unlike(titles, taken), strict=True))
        rows = tuple((row[0], fresh[row[0]], *row[2:]) if row[0] in fresh else row for row in self.rows)
        return replace(self, rows=rows)

    def above(self, into: int | Sequence[str], how: Similarity) -> ClassTable:
        """Put a level above the coarsest: so many clusters of its groups, or groups of these names, each the nearest.

        Raises:
            UserError: there are too few groups for so many, or the model cannot be had.
        """
        kept = [row for row in self.rows if row[-1] != DROPPED]
        groups = list(dict.fromkeys(row[-1] for row in kept))
        names, of = [row[0] for row in kept], [groups.index(row[-1]) for row in kept]
        if isinstance(into, int):
            titles = class_groups(names, into, of=of, by=how.by, seed=how.seed, encoder=how.encoder).titles(groups)
        else:
            nearest = nearest_groups(names, into, of=of, by=how.by, encoder=how.encoder)
            titles = [into[number] for number in nearest]
        over = dict(zip(groups, titles, strict=True)) | {DROPPED: DROPPED}
        title = TOP if TOP not in self.levels else f"level {len(self.levels)}"
        return replace(self, levels=(*self.levels, title), rows=tuple((*row, over[row[-1]]) for row in self.rows))

    def groups(self, level: int = 1) -> dict[str, list[str]]:
        """Return the groups of a level with their classes; without those that are dropped."""
        made: dict[str, list[str]] = {name: [] for name in self._names(level)}
        for row in self.rows:
            if row[level] != DROPPED:
                made[row[level]].append(row[0])
        return made

    def csv(self) -> str:
        """Write it as CSV with a header, as a mapping reads it."""
        return csv_text(self.levels, self.rows)

    def _names(self, level: int) -> list[str]:
        return [name for name in dict.fromkeys(row[level] for row in self.rows) if name != DROPPED]


def _unlike(titles: Sequence[str], taken: set[str]) -> list[str]:
    """Change titles that are taken: ``church`` becomes ``church 2``."""
    made: dict[str, str] = {}
    for title in dict.fromkeys(titles):
        number, fresh = 1, title
        while fresh in taken:
            number += 1
            fresh = f"{title} {number}"
        taken = taken | {fresh}
        made[title] = fresh
    return [made[title] for title in titles]
