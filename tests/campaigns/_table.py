"""The table that a campaign ends with."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.programs import arguments, markdown


@dataclass(kw_only=True)
class Tally:
    """What was tried and what failed, by kind.

    Attributes:
        name: of the campaign.
        head: heading of the first column.
    """

    name: str
    head: str
    tried: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    failures: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def note(self, kind: str, failures: Sequence[str] = ()) -> None:
        """One more trial of ``kind``, with a sentence for everything that went wrong."""
        self.tried[kind] += 1
        if failures:
            self.failures[kind].append("; ".join(failures))

    @property
    def total(self) -> int:
        """How many trials there were."""
        return sum(self.tried.values())

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return sum(len(failure) for failure in self.failures.values())

    def rows(self) -> list[tuple[object, ...]]:
        """One row for every kind and one for all."""
        own = [(kind, count, len(self.failures.get(kind, ()))) for kind, count in self.tried.items()]
        return [*own, ("all", self.total, self.failed)]

    def markdown(self) -> str:
        """The table, then up to five failures of each kind."""
        lines = [markdown((self.head, "tried", "failed"), self.rows())]
        for kind, failure in self.failures.items():
            lines += [f"- {kind}: {sentence[:300]}" for sentence in failure[:5]]
            lines += [f"- {kind}: {len(failure) - 5} more"] * (len(failure) > 5)
        return "\n".join([lines[0], *[""] * (len(lines) > 1), *lines[1:]])

    def end(self) -> int:
        """Print; the exit status."""
        print(f"\n{self.markdown()}", flush=True)
        return int(self.failed > 0)


def campaign_arguments(doc: str | None, **flags: tuple[object, str]) -> argparse.Namespace:
    """The flags of a campaign: those given, as ``name=(default, help)``, and the common ones."""
    return arguments(
        doc,
        **flags,
        seed=(0, "of every random choice"),
        port=(0, "of the page; any free one if not given"),
    )
