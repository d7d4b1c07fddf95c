"""The descriptor of a kind of run: everything that the command line, the page and the worker need to know about it."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from trainers.config import BUDGET, MAX_ARMS, Config, EncoderConfig, RunConfig
from trainers.errors import ParameterError
from trainers.kinds.ablation import ablation
from trainers.kinds.arm_view import ArmView
from trainers.kinds.unused import unused
from trainers.parameters import Choice, check_all, entry, specs
from trainers.runs.records import PHASES, Phase

if TYPE_CHECKING:
    from torch import nn

    from trainers.data.base import Progress
    from trainers.metrics.measures import Measures
    from trainers.runs import RunFolder
    from trainers.training.memory_estimate import Footprint
    from trainers.training.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Settings that repeat one experiment, by their names in the configuration."""

    name: str
    title: str
    sentence: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class Kind(ABC):
    """A kind of run. Modules that take seconds to import are imported inside the methods that need them.

    Attributes:
        name: of its folder.
        title: as listed.
        verb: of the command line; ``old_verbs`` still work, and their help names the new one.
        sentence: what it does, in one sentence.
        compares: what its arms differ in, in the plural.
        config: the class of its configurations.
        main, more: its settings that the page shows at once and in a fold, in this order.
        plans: it trains nothing itself, see :class:`trainers.plans.base.Plan`.
        no_images: of a kind whose runs hold no images, the end of a sentence that says so.
        folds: its images are classes that can be left out fold by fold (``config.data.conditions``), so that settings
            can be chosen without the test images.
        lists: registries of its own, ``module:NAME`` by the verb of the command line that lists them; their entries
            have ``family``, ``paper`` and ``url``.
    """

    name: str
    title: str
    verb: str
    old_verbs: tuple[str, ...] = ()
    sentence: str
    compares: str = "arms"
    order: int = 100
    config: ClassVar[type[Config]]
    plans: ClassVar[bool] = False
    no_images: ClassVar[str] = ""
    folds: ClassVar[bool] = False
    lists: ClassVar[Mapping[str, str]] = MappingProxyType({})
    main: tuple[str, ...] = ("minutes",)
    more: tuple[str, ...] = ("steps", "learning_rate", "weight_decay", "clip_norm", "seed")

    # ------------------------------------------------------------- training

    @abstractmethod
    def loop(self) -> type[Trainer]:
        """What trains a run of this kind."""

    def result(self, folder: RunFolder) -> str:
        """What a finished run prints: the numbers over the whole test set, a line per arm."""
        titles = [arm.title for arm in self.arms(folder.config)]
        return self.measures_of(folder.config).last_lines(folder.scalars(), titles)

    def images(self, config: Any) -> Any:
        """The images that its arms are evaluated on: a :class:`trainers.config.DataChoice`, or what has its field
        ``image_size`` and gives :class:`trainers.data.base.LoadedData` by ``load(progress)``; None: it embeds none."""
        return config.data if isinstance(config, EncoderConfig) else None

    def embedder_prefix(self, config: Any) -> str:
        """Of the tensors of :meth:`embedder` within an arm's part of a checkpoint."""
        return config.encoder_prefix

    def embedder(self, config: Any, *, channels: int, side: int) -> nn.Module:
        """What embeds images in evaluation, built anew; its tensors have the names that a checkpoint gives them after
        :meth:`embedder_prefix`. Only of kinds that have :meth:`images`.

        Args:
            channels, side: of the square images, pixels.
        """
        raise NotImplementedError

    def check_shared(self, config: Any) -> None:
        """Check what holds for every kind: names, ranges, budget and the number of arms.

        Raises:
            ParameterError: the first thing that is wrong, with what is accepted and what it got.
        """
        if all(getattr(config, name) is None for name in BUDGET):
            raise ParameterError("A run needs a budget: steps, minutes or epochs; got none.")
        check_all(config, "A run")
        if list(config.drops) != sorted(set(config.drops)):
            drops = " ".join(f"{drop:g}" for drop in config.drops)
            raise ParameterError(f"A run: drops needs shares of the budget in ascending order, each once; got {drops}.")
        if not 1 <= config.arms <= MAX_ARMS:
            raise ParameterError(f"A run compares one to {MAX_ARMS} {self.compares}; got {config.arms}.")

    def check(self, config: Any) -> None:  # noqa: B027 - most have nothing to add
        """Check what the ranges of the settings do not cover.

        Raises:
            UserError: the first thing that is wrong, with what is accepted and what it got.
        """

    def rehearse(self, config: Any, root: Path, progress: Progress) -> list[str]:
        """Check what is known of this machine and of the images alone, before a run is made.

        Args:
            config: checked.
            root: the folder where it is to be made.
            progress: told what is read; it may raise to give up.

        Returns:
            sentences on what will not be as it was asked for.

        Raises:
            UserError: the first thing that is wrong, with what to do.
        """
        from trainers.devices.device import choose

        choose(config.device)
        return []

    def memory(self, config: Any) -> Footprint:
        """Memory that a run will take, estimated."""
        from trainers.training.memory_estimate import Footprint

        return Footprint()

    def run_of(self, config: Any) -> Any:
        """The settings of a run; of a plan those of each of its runs, as far as it does not vary them."""
        return config

    def runs_of(self, config: Any) -> Sequence[RunConfig]:
        """The runs that are trained: this one."""
        return (config,)

    def parts_of(self, folder: RunFolder) -> Iterable[RunFolder]:
        """Further folders that belong to a run."""
        return ()

    def sizes(self, config: Any) -> Mapping[str, int]:
        """Numbers that a public page bounds, by the names in :class:`explorer.settings.Limits`."""
        return {}

    def advice(self, config: Any) -> list[str]:
        """Sentences on settings that change nothing or make a loss differ from its paper; the run may start anyway."""
        return unused(config)

    def diagnosis(self, config: Any, arm: int, numbers: Mapping[str, float]) -> list[str]:
        """Sentences on what an arm's newest numbers say of its training; none where nothing stands out.

        Args:
            numbers: by key as stored, of those that :attr:`measures` calls ``diagnosed``; some may be missing.
        """
        return []

    def diagnoses(self, config: Any, newest: Mapping[tuple[int, str], float | None]) -> list[list[str]]:
        """The diagnosis of every arm; none if this version does not know its parameters.

        Args:
            newest: numbers by arm and key; None: not finite.
        """
        arms = range(config.arms)
        known = [{key: value for (at, key), value in newest.items() if at == arm and value is not None} for arm in arms]
        try:
            return [self.diagnosis(config, arm, known[arm]) for arm in arms]
        except ParameterError:
            return [[] for _ in arms]

    # -------------------------------------------------------------- numbers

    @property
    @abstractmethod
    def measures(self) -> Measures:
        """The numbers that a run of this kind shows, and where."""

    def measures_of(self, config: Any) -> Measures:
        """The numbers of one run: those of its kind, and what it was asked for."""
        return self.measures

    def headline(self, config: Any) -> Sequence[str]:
        """Keys of the numbers that the list of runs shows."""
        return self.measures_of(config).headline

    # ------------------------------------------------------------- settings

    def phase(self, name: str) -> Phase:
        """What a phase means for a run of this kind."""
        return PHASES[name]

    @property
    def families(self) -> Collection[str]:
        """Names that arms may have in the settings: the entries of the registry that they are chosen from, if any."""
        named = [spec.rule for spec in specs(self.config) if spec.name == self.compares]
        return tuple(named[0].entries()) if named and named[0].registry else ()

    def listed(self, config: Any) -> tuple[Any, ...]:
        """The settings of each arm, where the setting :attr:`compares` lists them; empty: it does not."""
        arms = getattr(config, self.compares, ())
        return arms if isinstance(arms, tuple) else ()

    def with_arms(self, config: Any, arms: Sequence[Any]) -> Any:
        """The same run with other arms, each as in :meth:`listed`."""
        return config.changed(**{self.compares: tuple(arms)})

    def with_parameters(self, arm: Any, values: Mapping[str, Any]) -> Any:
        """An arm, as in :meth:`listed`, with some parameters."""
        if isinstance(arm, Choice):
            return Choice(name=arm.name, parameters={**arm.parameters, **values})
        return {**arm, **values}

    def divisible(self, config: Any) -> bool:
        """Whether an arm trained alone comes to what it comes to beside the others."""
        return True

    def alone(self, config: Any) -> str:
        """What a finished run that stands alone does not show, as a sentence; empty: nothing is said."""
        return ""

    def presets(self) -> Sequence[Preset]:
        """Settings that repeat experiments."""
        return ()

    def add_flags(self, parser: argparse.ArgumentParser) -> None:  # noqa: B027
        """Add flags of the command line beyond those of the settings."""

    def configured(self, given: dict[str, Any], flags: Mapping[str, Any] | None = None) -> RunConfig:
        """A configuration from the settings that somebody gave; the others take their defaults.

        What is not given comes from the preset that ``flags`` names, if any; one part of a budget that is given, or
        in the preset, replaces the whole budget below it.

        Args:
            given: settings by name.
            flags: the preset, and what :meth:`add_flags` added, by name.

        Raises:
            ParameterError: there is no such preset.
        """
        settings: dict[str, Any] = {}
        for layer in (self.preset((flags or {}).get("preset")), given):
            if any(layer.get(name) is not None for name in BUDGET):
                settings |= dict.fromkeys(BUDGET)
            settings |= layer
        return self.config(**settings)

    def preset(self, name: str | None) -> Mapping[str, Any]:
        """The settings of a preset; none for None.

        Raises:
            ParameterError: there is no such preset.
        """
        if not name:
            return {}
        settings: Mapping[str, Any] = entry({preset.name: preset for preset in self.presets()}, name, "preset").settings
        return settings

    # --------------------------------------------------------------- titles

    @abstractmethod
    def arms(self, config: Any) -> list[ArmView]:
        """The arms in order."""

    @abstractmethod
    def source(self, config: Any) -> str:
        """Which images, as they were asked for."""

    def data_title(self, config: Any) -> str:
        """A short name of the images, used until they are read."""
        return self.source(config).rstrip("/").rsplit("/", 1)[-1]

    def run_title(self, config: Any, data: str) -> str:
        """A title of a run on images of the title ``data``; arms of one kind share their name in it."""
        arms = self.arms(config)
        varied = ablation(arms) if arms else None
        names = varied.values if varied else [arm.title for arm in arms]
        shared = f"{arms[0].label}: {varied.title.lower()} " if varied else ""
        return f"{shared}{' vs '.join(names)} on {data}"

    def details(self, config: Any) -> list[str]:
        """Words between the images and the budget in a run's summary."""
        return []

    def summary(self, config: Any, data: str) -> str:
        """One line: images, what is special to the kind, budget, seed."""
        return ", ".join(filter(None, [data, *self.details(config), *self.budget(config), self.seeds(config)]))

    def budget(self, config: Any) -> list[str]:
        """Words on the clipping of gradients, and on how long it trains."""
        clipped = [] if config.clip_norm is None else [f"gradients clipped at norm {config.clip_norm:g}"]
        steps = f"{config.steps} steps" if config.steps is not None else ""
        minutes = f"{config.minutes:g} min" if config.minutes is not None else ""
        epochs = f"{config.epochs:g} epochs" if config.epochs is not None else ""
        return [*clipped, " or ".join(part for part in (steps, epochs, minutes) if part)]

    def seeds(self, config: Any) -> str:
        """Which seed, in words."""
        return f"seed {config.seed}"

    def line(self, config: Any) -> str:
        """One line for the command line's list of runs."""
        return f"{' vs '.join(arm.name for arm in self.arms(config))} on {self.source(config)}"
