"""The contents of a report on a plan: parts, whose runs are compared, and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trainers.comparison import Table
from trainers.plans.planned import Child, Variant


@dataclass(frozen=True, kw_only=True)
class Part:
    """Runs of a plan that are compared with each other.

    Attributes:
        name: see :attr:`trainers.plans.planned.PlannedRun.part`.
        title: as listed.
        children: of this part, those without a result among them.
        table: of the results that are there; None: there are none yet.
    """

    name: str
    title: str
    children: Sequence[Child]
    table: Table | None

    @property
    def variants(self) -> dict[str, Variant]:
        """The variants by title."""
        return {variant.title: variant for child in self.children for variant in child.planned.variants}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding of a plan beyond its tables.

    Attributes:
        files: further texts by name, for the archive.
    """

    title: str
    sentences: tuple[str, ...] = field(default=())
    files: Mapping[str, str] = field(default_factory=dict)
