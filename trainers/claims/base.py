"""The descriptor of a claim: where a paper says it, what is run for it here, and which difference decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from trainers.plans.config import SweepConfig

WORKS = MappingProxyType(
    {
        "contextual": "Contextual similarity (Liao et al. 2023)",
        "rank_losses": "Rank losses (Ramzi et al. 2023)",
        "spurious": "Spurious correlations (Kim et al. 2023)",
        "contrastive": "MoCo (He et al. 2020) and SupCon (Khosla et al. 2020)",
    }
)
"""The works by name, as cited."""

Expected = Literal["larger", "equal", "held"]
"""``larger``: by more than the margin; ``equal``: within the margin; ``held``: smaller by no more than the margin."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """The results that one side of a difference has.

    Attributes:
        arm: title of the variant, as a plan of its runs gives it.
        under: the condition, by the titles of what the plan varies in its runs; empty where it varies nothing.
        name: as printed in place of the arm's title; empty: that.
    """

    arm: str
    under: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    @property
    def title(self) -> str:
        """As printed."""
        where = [f"{name.lower()} {value}" for name, value in self.under.items()]
        return ", ".join([self.name or self.arm, *where])


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A difference that decides a claim: ``first`` minus ``second``, or how much larger that is than elsewhere.

    Attributes:
        metric: key of the number, as :func:`trainers.metrics.names.describe` reads it.
        first: the side that is said to have the larger number.
        beyond: the two sides of another difference that is taken off, for claims about where a gain is larger.
        relative: by which part of the second side the first is larger, in place of by how much.
        margin: in the metric's own unit, of relative differences a share; fixed before any result.
    """

    metric: str
    first: Side
    second: Side
    beyond: tuple[Side, Side] | None = None
    relative: bool = False
    expected: Expected = "larger"
    margin: float = 0.0

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side, in order."""
        return (self.first, self.second, *(self.beyond or ()))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The key of every side's number."""
        return (self.metric,) * len(self.sides)

    @property
    def title(self) -> str:
        """As printed."""
        sign = "/" if self.relative else "−"
        pair = f"{self.first.title} {sign} {self.second.title}"
        if self.beyond is None:
            return pair
        return f"({pair}) − ({self.beyond[0].title} {sign} {self.beyond[1].title})"

    def of(self, values: Sequence[Any]) -> Any:
        """Return the difference of a seed, from the numbers of its sides in order, or of arrays of them where it is not
        relative; None if it would divide by 0.
        """
        firsts, seconds = values[::2], values[1::2]
        if self.relative and 0 in seconds:
            return None
        pairs = zip(firsts, seconds, strict=True)
        gains = [first / second - 1 if self.relative else first - second for first, second in pairs]
        return gains[0] - sum(gains[1:])


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper.

    Attributes:
        name: of its table, and of what its result is kept under.
        work: one of :data:`WORKS`.
        statement: what the paper says, in one sentence of ours.
        where: table, figure or section.
        printed: its figures there, as a sentence; empty: our text of the paper has none.
        differences: that decide it; all of them must come out as claimed.
        plan: makes the plan that is run here; None: it needs data or weights that are not at hand.
        begins: makes the plan whose encoders the runs of ``plan`` start from, seed by seed; None: they start anew.
        ours: sentences on what in the protocol is ours.
        lacking: what is not at hand, as a sentence; empty where there is a plan.
        recipe: command of the run at full size, for people with the data and a GPU.
        tried: what was looked at where it does not show, as a sentence; empty: nothing.
        minutes: guess of the processor minutes of its runs, for the time before there is a result.
    """

    name: str
    title: str
    work: str
    statement: str
    where: str
    recipe: str
    printed: str = ""
    differences: tuple[Difference, ...] = ()
    plan: Callable[[], SweepConfig] | None = None
    begins: Callable[[], SweepConfig] | None = None
    ours: tuple[str, ...] = ()
    lacking: str = ""
    tried: str = ""
    minutes: float = 0.0
