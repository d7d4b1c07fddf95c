"""The descriptor of a kind of run: everything that the command line, the page and the worker need to know about it."""

from __future__ import annotations

import argparse
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from trainers.config import BUDGET, MAX_ARMS, C, DataChoice, EncoderConfig, RunConfig
from trainers.errors import ParameterError
from trainers.kinds.arm_view import ArmView, ablation
from trainers.kinds.checks import unused
from trainers.parameters import Choice, check_all, entry, imported, specs
from trainers.runs.records import PHASES, Phase

if TYPE_CHECKING:
    from torch import nn

    from trainers.metrics.measures import Measures
    from trainers.progress import Progress
    from trainers.runs import RunFolder
    from trainers.runs.reader import RunReader
    from trainers.training.footprint import Footprint
    from trainers.training.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the settings.

    Attributes:
        names: of its settings, in order; of a setting within another one ``data.subset``.
        title: its heading; empty: none.
        folded: it is rarely needed: the page opens it by its heading, the command line has it after the others.
        about: a sentence below it on the page.
    """

    names: Sequence[str]
    title: str = ""
    folded: bool = False
    about: str = ""


READ = (
    "image_column",
    "label_columns",
    "hierarchy",
    "level_names",
    "train_split",
    "test_split",
    "held_out",
    "subset",
    "name_encoding",
    "max_images",
)
"""Settings of :class:`trainers.config.DataChoice` on how images are read."""
HARD = ("label_noise", "noise_kind", "withheld_classes", "withheld_images")
"""Hard conditions with a field; folds are for searches, which set them themselves."""
IMAGES = Section(names=("data.source",), title="Images")
READING = Section(names=tuple(f"data.{name}" for name in READ), title="How the images are read", folded=True)
START = Section(names=("start", "weights"), title="Start from other weights", folded=True)
CONDITIONS = Section(names=tuple(f"data.conditions.{name}" for name in HARD), title="Hard conditions", folded=True)
SPEED = Section(
    names=("chunk", "checkpointing", "precision", "channels_last", "compiled"), title="Memory and speed", folded=True
)
TOGETHER = dataclasses.replace(SPEED, names=(*SPEED.names, "processes"))
"""Of kinds of which several processes train a run."""
MORE = "Batch, learning rate and more"


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Settings that repeat one experiment, by their names in the configuration."""

    name: str
    title: str
    sentence: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class Kind(ABC, Generic[C]):
    """A kind of run. Modules that take seconds to import are imported inside the methods that need them.

    Attributes:
        name: of its folder.
        title: as listed.
        verb: of the command line.
        sentence: what it does, in one sentence.
        lists: registries of its own, ``module:NAME`` by the verb of the command line that lists them; their entries
            have ``family``, ``paper`` and ``url``.
        config: the class of its configurations.
        compares: what its arms differ in, in the plural.
        main, more: settings of every kind that its :attr:`sections` name, where it does not list these itself.
        folds: its classes, or their images, can be left out fold by fold (``config.data.conditions``), so that settings
            can be chosen without the test images.
        together: several processes can train a run, each with its share of the batch.
        plans: it trains nothing itself, see :class:`trainers.plans.base.Plan`.
        no_images: of a kind whose runs hold no images, the end of a sentence that says so.
        stages: titles of its stages where a run has several, with the word before the number of their steps.
    """

    name: str
    title: str
    verb: str
    sentence: str
    order: int = 100
    lists: ClassVar[Mapping[str, str]] = MappingProxyType({})
    config: type[C]
    compares: str = "arms"
    main: tuple[str, ...] = ("minutes",)
    more: tuple[str, ...] = ("steps", "learning_rate", "weight_decay", "clip_norm", "seed")
    folds: bool = False
    together: bool = False
    plans: bool = False
    no_images: str = ""
    stages: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @property
    def sections(self) -> Sequence[Section]:
        """The sections of its settings: unless it lists them, one of all but those of every kind that it does not name;
        of a setting that holds others the first of them.
        """
        shared, listed = {spec.name for spec in specs(RunConfig)}, {*self.main, *self.more}
        names = [
            f"{spec.name}.{specs(spec.type)[0].name}" if spec.nested else spec.name
            for spec in specs(self.config)
            if not spec.rule.private and (spec.name in listed or spec.name not in shared)
        ]
        return (Section(names=names),)

    @property
    def compiles(self) -> bool:
        """Whether its encoders can be compiled: those of the registry, that are trained on images alone."""
        return issubclass(self.config, EncoderConfig)

    def offers(self, name: str) -> bool:
        """Return whether its runs can use a setting, by its name in the configuration."""
        return name != "compiled" or self.compiles

    # --------------------------------------------------------------- checks

    def check_shared(self, config: C) -> None:
        """Check what holds for every kind: names, ranges, budget and the number of arms.

        Raises:
            ParameterError: the first thing that is wrong, with what is accepted and what it got.
        """
        run = config.single
        if all(getattr(run, name) is None for name in BUDGET):
            raise ParameterError("A run needs a budget: steps, minutes or epochs; got none.")
        check_all(config, "A run")
        if list(run.drops) != sorted(set(run.drops)):
            drops = " ".join(f"{drop:g}" for drop in run.drops)
            raise ParameterError(f"A run: drops needs shares of the budget in ascending order, each once; got {drops}.")
        if run.processes > 1 and not self.together:
            raise ParameterError(f"{self.title} trains in one process; got processes {run.processes}. Leave it out.")
        if run.track != "none":
            imported("trainers.trackers:check_there")(run.track)
        if run.compiled and not self.compiles:
            raise ParameterError(f"{self.title} cannot compile its models: only encoders of images alone are compiled.")
        if not 1 <= config.arms <= MAX_ARMS:
            raise ParameterError(f"A run compares one to {MAX_ARMS} {self.compares}; got {config.arms}.")

    def check(self, config: C) -> None:
        """Check what the ranges of the settings do not cover.

        Raises:
            UserError: the first thing that is wrong, with what is accepted and what it got.
        """

    def check_processes(self, count: int) -> None:
        """Refuse so many processes that were started to train one run.

        Raises:
            ParameterError: its runs cannot be shared.
        """
        if count > 1 and not self.together:
            raise ParameterError(
                f"{self.title} is not shared by several processes, and {count} were started. Start it in one, without "
                "torchrun, accelerate or srun."
            )

    def processes(self, config: C, asked: int) -> int:
        """Return how many processes train a run for which so many were asked: no more than there are GPUs now, and so
        many that they divide its batch."""
        from trainers.devices.device import most_processes

        most = min(asked, most_processes()) if asked > 1 and self.together else 1
        return next((count for count in range(most, 1, -1) if self.sizes(config)["batch"] % count == 0), 1)

    def sizes(self, config: C) -> Mapping[str, int]:
        """Return the numbers that a public page bounds, by the names in :class:`explorer.settings.Limits`."""
        return {}

    def advice(self, config: C) -> list[str]:
        """List sentences on settings that change nothing or make a loss differ from its paper; the run may start."""
        return unused(config.single)

    # ----------------------------------------------------------------- arms

    @property
    def families(self) -> Collection[str]:
        """Names that arms may have in the settings: the entries of the registry that they are chosen from, if any."""
        named = [spec.rule for spec in specs(self.config) if spec.name == self.compares]
        return tuple(named[0].entries()) if named and named[0].registry else ()

    def listed(self, config: C) -> tuple[Any, ...]:
        """Return the settings of each arm, where the setting :attr:`compares` lists them; empty: it does not."""
        arms = getattr(config, self.compares, ())
        return arms if isinstance(arms, tuple) else ()

    def with_arms(self, config: C, arms: Sequence[Any]) -> C:
        """Return the same run with other arms, each as in :meth:`listed`."""
        return config.changed(**{self.compares: tuple(arms)})

    def with_parameters(self, arm: Any, values: Mapping[str, Any]) -> Any:
        """Return an arm, as in :meth:`listed`, with some parameters."""
        if isinstance(arm, Choice):
            return Choice(name=arm.name, parameters={**arm.parameters, **values})
        return {**arm, **values}

    def divisible(self, config: C) -> bool:
        """Return whether an arm trained alone comes to what it comes to beside the others."""
        return True

    # ----------------------------------------------------- from what is given

    def presets(self) -> Sequence[Preset]:
        """Return settings that repeat experiments."""
        return ()

    def preset(self, name: str | None) -> Mapping[str, Any]:
        """Return the settings of a preset; none for None.

        Raises:
            ParameterError: there is no such preset.
        """
        return entry({preset.name: preset for preset in self.presets()}, name, "preset").settings if name else {}

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add flags of the command line beyond those of the settings."""

    def configured(self, given: dict[str, Any], flags: Mapping[str, Any] | None = None) -> C:
        """Make a configuration from the settings that somebody gave; the others take their defaults.

        What is not given comes from the preset that ``flags`` names, if any; one part of a budget that is given, or in
        the preset, replaces the whole budget below it.

        Args:
            given: settings by name.
            flags: the preset, and what :meth:`add_flags` added, by name.

        Raises:
            ParameterError: there is no such preset.
        """
        return self.config(**self.layered(given, flags or {}))

    def begins_with(self, images: DataChoice) -> tuple[dict[str, Any], str]:
        """Return the settings, by name, that runs begin with as these images say, and why they are not the defaults;
        empty: they are.
        """
        return {}, ""

    def layered(self, given: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that are not at their defaults, by name; see :meth:`configured`."""
        settings: dict[str, Any] = {}
        for layer in (self.preset(flags.get("preset")), given):
            if any(layer.get(name) is not None for name in BUDGET):
                settings |= dict.fromkeys(BUDGET)
            settings |= layer
        return settings

    # ------------------------------------------------------------- training

    @abstractmethod
    def loop(self) -> type[Trainer]:
        """Return the class that trains a run of this kind."""

    def images(self, config: C) -> Any:
        """Return the images that its arms are evaluated on; None: it embeds none.

        They are a :class:`trainers.config.DataChoice`, or what has its field ``image_size`` and its method ``at``, and
        gives :class:`trainers.data.base.LoadedData` by ``load(progress)``.
        """
        return None

    def embedder_prefix(self, config: C) -> str:
        """Return the prefix of the tensors of :meth:`embedder` within an arm's part of a checkpoint."""
        return config.encoder_prefix

    def embedder(self, config: C, *, channels: int, side: int) -> nn.Module:
        """Build what embeds images in evaluation; its tensors have the names that a checkpoint gives them after
        :meth:`embedder_prefix`. Only of kinds that have :meth:`images`.

        Args:
            channels, side: of the square images, pixels.
        """
        raise NotImplementedError

    def rehearse(self, config: C, root: Path, progress: Progress) -> list[str]:
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
        from trainers.devices.device import check_processes, choose

        choose(config.single.device)
        check_processes(config.single.processes, config.single.device)
        return []

    def footprint(self, config: C) -> Footprint:
        """Estimate the memory that a run will take."""
        from trainers.training.footprint import Footprint

        return Footprint()

    def runs_of(self, config: C) -> Sequence[RunConfig]:
        """Return the runs that are trained: this one."""
        return (config.single,)

    def parts_of(self, folder: RunFolder) -> Iterable[RunFolder]:
        """Return further folders that belong to a run."""
        return ()

    def phase(self, name: str) -> Phase:
        """Return what a phase means for a run of this kind."""
        return PHASES[name]

    # -------------------------------------------------------------- numbers

    @property
    @abstractmethod
    def measures(self) -> Measures:
        """The numbers that a run of this kind shows, and where."""

    def measures_of(self, config: C) -> Measures:
        """Return the numbers of one run: those of its kind, and what it was asked for."""
        return self.measures

    def headline(self, config: C) -> Sequence[str]:
        """Return the keys of the numbers that the list of runs shows."""
        return self.measures_of(config).headline

    def diagnosis(self, config: C, arm: int, numbers: Mapping[str, float]) -> list[str]:
        """List sentences on what an arm's newest numbers say of its training; none where nothing stands out.

        Args:
            numbers: by key as stored, of those that :attr:`measures` calls ``diagnosed``; some may be missing.
        """
        return []

    def diagnoses(self, config: C, newest: Mapping[tuple[int, str], float | None]) -> list[list[str]]:
        """Return the diagnosis of every arm; none if this version does not know its parameters.

        Args:
            newest: numbers by arm and key; None: not finite.
        """
        arms = range(config.arms)
        known = [{key: value for (at, key), value in newest.items() if at == arm and value is not None} for arm in arms]
        try:
            return [self.diagnosis(config, arm, known[arm]) for arm in arms]
        except ParameterError:
            return [[] for _ in arms]

    # --------------------------------------------------------------- titles

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

    def result(self, config: C, folder: RunFolder) -> str:
        """Write what a finished run prints: the numbers over the whole test set, a line per arm."""
        titles = [arm.title for arm in self.arms(config)]
        return self.measures_of(config).last_lines(folder.scalars(), titles)
