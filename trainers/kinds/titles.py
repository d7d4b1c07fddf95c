"""The titles that a kind of run gives its runs and their arms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Generic

from trainers.config import C
from trainers.kinds.ablation import ablation
from trainers.kinds.arm_view import ArmView

if TYPE_CHECKING:
    from trainers.runs.reader import RunReader


class KindTitles(Generic[C]):
    """Titles and summaries of the runs of a kind.

    Attributes:
        stages: titles of its stages where a run has several, with the word before the number of their steps.
    """

    stages: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def by_stage(self, folder: RunReader) -> str:
        """Say how many steps a run has taken in each stage, ``5 contrastive, 200 classifier steps``; empty: it has no
        stages.
        """
        begun = folder.stages() if self.stages else {}
        ends = [*begun.values(), folder.state().step][1:]
        counts = [
            f"{end - begun[title]:,} {self.stages.get(title, title)}" for title, end in zip(begun, ends, strict=True)
        ]
        return f"{', '.join(counts)} steps" if counts else ""

    @abstractmethod
    def arms(self, config: C) -> list[ArmView]:
        """List the arms in order."""

    @abstractmethod
    def source(self, config: C) -> str:
        """Say which images, as they were asked for."""

    def data_title(self, config: C) -> str:
        """Name the images in short, until they are read."""
        return self.source(config).rstrip("/").rsplit("/", 1)[-1]

    def run_title(self, config: C, data: str) -> str:
        """Write the title of a run on images of the title ``data``; arms of one kind share their name in it."""
        arms = self.arms(config)
        varied = ablation(arms) if arms else None
        names = varied.values if varied else [arm.title for arm in arms]
        shared = f"{arms[0].label}: {varied.title.lower()} " if varied else ""
        return f"{shared}{' vs '.join(names)} on {data}"

    def details(self, config: C) -> list[str]:
        """List the words between the images and the budget in a run's summary."""
        return []

    def summary(self, config: C, data: str) -> str:
        """Write one line: images, what is special to the kind, budget, seed."""
        return ", ".join(filter(None, [data, *self.details(config), *self.budget(config), self.seeds(config)]))

    def budget(self, config: C) -> list[str]:
        """List words on the clipping of gradients, and on how long it trains, or its first stage."""
        run = config.single
        clipped = [] if run.clip_norm is None else [f"gradients clipped at norm {run.clip_norm:g}"]
        word = "".join(f"{stage} " for stage in [*self.stages.values()][:1])
        steps = f"{run.steps} {word}steps" if run.steps is not None else ""
        minutes = f"{run.minutes:g} min" if run.minutes is not None else ""
        epochs = f"{run.epochs:g} epochs" if run.epochs is not None else ""
        return [*clipped, " or ".join(part for part in (steps, epochs, minutes) if part)]

    def begins_as(self, config: C) -> str:
        """Say of what the numbers before the first step are."""
        return "at step 0"

    def seeds(self, config: C) -> str:
        """Say which seed."""
        return f"seed {config.single.seed}"

    def line(self, config: C) -> str:
        """Write one line for the command line's list of runs."""
        return f"{' vs '.join(arm.name for arm in self.arms(config))} on {self.source(config)}"

    def alone(self, config: C) -> str:
        """Say what a finished run that stands alone does not show, in a sentence; empty: nothing is said."""
        return ""
