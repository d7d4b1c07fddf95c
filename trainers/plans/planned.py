"""The runs of a plan, where they stand and what came of them, and the contents of a report on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trainers.config import RunConfig
from trainers.runs.records import PHASES

if TYPE_CHECKING:
    from trainers.comparison import ComparisonTable


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The meaning of one arm of a planned run, beyond the condition of its run.

    Attributes:
        title: different for every variant of a plan.
        family: title that variants share which differ in parameters only.
        parameters: of the arm, those that are not at their defaults.
        color: place of the family in the plan, from 0; it decides the colour.
    """

    title: str
    family: str
    parameters: Mapping[str, Any]
    color: int = 0


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run that a plan asks for.

    Attributes:
        name: unique in the plan and the same whenever it is planned again; the id of the run follows from it.
        title: what sets it apart from the other runs of the plan, in words.
        config: its settings.
        condition: the settings that the plan varies, by title; runs are compared under the same condition.
        seed: runs of the same seed and condition are paired.
        variants: one per arm.
        part: what the run is for, one of the parts that its plan names; results are shown part by part.
        also: further parts that its results belong to.
    """

    name: str
    title: str
    config: RunConfig
    condition: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    variants: tuple[Variant, ...] = ()
    part: str = ""
    also: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """Every part that its results belong to."""
        return self.part, *self.also


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a planned run that has ended.

    Attributes:
        finished: False: it failed or was stopped, and has no numbers.
        stopped: somebody stopped it.
        begun: False: it failed before it trained.
        numbers: the final numbers of each arm by key, ``test/`` taken off, and the last ones of its training that are
            compared.
        seconds: of training.
        steps: that were trained.
        error: why it has no numbers.
    """

    finished: bool
    stopped: bool = False
    begun: bool = True
    numbers: tuple[Mapping[str, float], ...] = ()
    seconds: float = 0.0
    steps: int = 0
    error: str = ""


Outcomes = Mapping[str, Outcome]
"""By the name of the planned run; those that have not ended are missing."""


@dataclass(frozen=True, kw_only=True)
class Child:
    """A planned run and where it stands.

    Attributes:
        id: of its run, whether it is there or not.
        phase: as in :data:`trainers.runs.records.PHASES`, or ``planned`` before its folder is made.
        message: what it is doing, in words.
        outcome: None until it has ended.
    """

    planned: PlannedRun
    id: str
    phase: str
    message: str = ""
    outcome: Outcome | None = None

    @property
    def active(self) -> bool:
        """Whether a trainer works on it, perhaps one of another program."""
        return self.phase in PHASES and PHASES[self.phase].active


@dataclass(frozen=True, kw_only=True)
class PlanPart:
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
    table: ComparisonTable | None

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
