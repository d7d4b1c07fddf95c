"""The settings of plans: those of one of its runs, of any kind, and what the runs differ in."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import PlainValidator

from trainers.config import Config, DataChoice, RunConfig, with_lost
from trainers.errors import ParameterError, RunError
from trainers.kinds import KINDS, OWN
from trainers.parameters import parameter, specs
from trainers.values import check_types, is_number, values_of

if TYPE_CHECKING:
    from typing import Self


MOST_SEEDS = 20
_BETWEEN = re.compile(r"[,;\s，；、]+")
_NEEDED = (
    f"Seeds are given by their number, 1 to {MOST_SEEDS} (3 for the seeds 0, 1 and 2), or one by one with commas "
    "(4,7,9; of a single seed 4,)"
)


def read_seeds(value: Any) -> Any:
    """Return the seeds that a number or a text stands for; a list of seeds, and what is none of these, stays as it is.

    A number N stands for the seeds 0 to N-1, as a number or as text; text with a comma or a space lists the seeds.

    Raises:
        ParameterError: it is a number of seeds that no plan has, or text that holds something else than whole numbers.
    """
    if isinstance(value, str):
        text = value.strip()
        words = [word for word in _BETWEEN.split(text) if word]
        try:
            numbers = tuple(map(int, words))
        except ValueError:
            numbers = ()
        if not numbers:
            raise ParameterError(f"{_NEEDED}; got {value!r:.60}.")
        return numbers if _BETWEEN.search(text) else _counted(numbers[0])
    if is_number(value) and value == int(value):
        return _counted(int(value))
    return value


def _counted(number: int) -> tuple[int, ...]:
    if not 1 <= number <= MOST_SEEDS:
        raise ParameterError(f"{_NEEDED}; got {number!s:.40}.")
    return tuple(range(number))


S = TypeVar("S", bound="SweepConfig")
MOST_RUNS = 500
"""Of one sweep, or of one part of a fair comparison."""
FOLDS = 2
"""Folds of the training data in the search of a fair comparison, where the settings ask for none."""
FIRST = next(iter(OWN))
"""The kind of the runs of a plan that does not name it."""


@dataclass(frozen=True, kw_only=True)
class SweepConfig(Config):
    """The settings of a sweep. The ``seed`` of its run counts for nothing.

    Attributes:
        run: the settings of each of its runs, as far as the sweep does not vary them.
    """

    kind: ClassVar[str] = "sweep"
    version: ClassVar[int] = 4
    described: ClassVar[str] = "trainers.plans:PLANS"
    folded: ClassVar[bool] = False
    """Its runs train on folds, which not every kind has: see :attr:`trainers.kinds.base.Kind.folds`."""

    run: Annotated[RunConfig, PlainValidator(check_types)] = dataclasses.field(
        default_factory=lambda: KINDS[FIRST].config()
    )
    seeds: tuple[int, ...] = parameter(
        (0, 1, 2),
        low=0,
        high=2**31 - 1,
        spelled=read_seeds,
        help="How many: 3 for the seeds 0, 1 and 2; or the seeds themselves with commas: 4,7,9, or 4, for one alone. "
        "All that is compared is trained once with each; runs of one seed start from the same weights and batches.",
    )
    vary: Mapping[str, Any] = parameter(
        factory=dict,
        help="Settings, or parameters of what is compared, with the values to try: dim=32;64;128 or happier.alpha=1;5.",
    )
    parallel: int = parameter(
        1, low=1, high=64, help="Runs that train at once without a GPU; with GPUs one run trains on each."
    )

    def __post_init__(self) -> None:
        """Read the seeds where their number or text is given in place of them."""
        object.__setattr__(self, "seeds", read_seeds(self.seeds))

    @property
    def arms(self) -> int:
        """Of each of its runs, as far as the arms are not varied."""
        return self.run.arms

    @property
    def single(self) -> RunConfig:
        """See :class:`Config`."""
        return self.run

    def values(self) -> dict[str, Any]:
        """See :class:`Config`; the kind of the runs stands beside their settings."""
        return super().values() | {"run": {"kind": self.run.kind} | self.run.values()}

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Config:
        """See :class:`Config`."""
        run = dict(values["run"])
        name = run.pop("kind")
        if name not in KINDS or (cls.folded and not KINDS[name].folds):
            raise ValueError(f"there is no kind of run {name!r:.40} that it could plan")
        of_plan = {setting: value for setting, value in values.items() if setting != "run"}
        made = KINDS[name].config.read(run)
        return with_lost(cls(**values_of(cls, of_plan), run=made), made.lost)

    def changed(self, **settings: Any) -> Self:
        """Return the same plan of runs with other settings."""
        return dataclasses.replace(self, run=self.run.changed(**settings))


@dataclass(frozen=True, kw_only=True)
class FairComparisonConfig(SweepConfig):
    """A sweep whose arms are searched first.

    ``data.conditions.folds`` of the run is the number of folds of the search; the runs that are compared train on all
    of them.
    """

    kind: ClassVar[str] = "fair_comparison"
    folded: ClassVar[bool] = True

    trials: int = parameter(
        8,
        low=1,
        high=100,
        title="Trials",
        help="Settings tried for each loss or method, the one given among them.",
    )
    select_by: str = parameter(
        "AP_at_R",
        title="Chosen by",
        help="The metric whose mean over the folds decides which trial is best.",
    )
    searched: str = parameter(
        "all",
        choices=("all", "rate"),
        title="Searched",
        help="all: the learning rate and the loss's own parameters; rate: the learning rate alone.",
    )
    compare_given: bool = parameter(
        True, title="Compare the settings given too", help="Train them over the seeds as well as the settings chosen."
    )
    search_steps: int | None = parameter(
        None,
        low=1,
        high=10_000_000,
        title="Maximum steps per trial",
        help="Makes the search cheaper than the runs that are compared; empty: a trial is as long as they are.",
    )
    search_seed: int = parameter(
        1000,
        low=0,
        high=2**31 - 1,
        help="Seed of the search: of the settings that are tried, and of the weights and batches of every trial.",
    )

    @property
    def folds(self) -> int:
        """Of the training data in the search; as many runs make up a trial."""
        return data_of(self.run).conditions.folds or FOLDS

    def __post_init__(self) -> None:
        """Keep the key of a metric that is written by its title; seeds as of a sweep."""
        super().__post_init__()
        if isinstance(self.select_by, str):
            from trainers.metrics.names import key_of

            object.__setattr__(self, "select_by", key_of(self.select_by))


def sweep_of(config: Config) -> SweepConfig:
    """Return the settings of a plan.

    Raises:
        RunError: they are of a single run.
    """
    if not isinstance(config, SweepConfig):
        raise RunError("A comparison is needed here, and this is a single run. Open it in Live.")
    return config


def data_of(run: RunConfig) -> DataChoice:
    """Return the images of a run, which can be divided into folds, see :attr:`trainers.kinds.base.Kind.folds`."""
    data: DataChoice = run.data  # type: ignore[attr-defined]
    return data


def apart(plan: type[SweepConfig], values: Mapping[str, Any]) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Take apart the settings of a plan, the kind of its runs (``of``) and their settings, all by name."""
    names = {spec.name for spec in specs(plan)}
    of_plan = {name: value for name, value in values.items() if name in names}
    rest = {name: value for name, value in values.items() if name not in names}
    return of_plan, rest.pop("of", FIRST), rest
