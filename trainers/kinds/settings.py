"""The settings of a kind of run, its presets and its command-line flags."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from trainers.config import BUDGET, MAX_ARMS, C, DataChoice, EncoderConfig, RunConfig
from trainers.errors import ParameterError
from trainers.kinds.sections import Section
from trainers.kinds.unused import unused
from trainers.parameters import Choice, check_all, entry, specs


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Settings that repeat one experiment, by their names in the configuration."""

    name: str
    title: str
    sentence: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class KindSettings(Generic[C]):
    """The settings of a kind of run, and what is accepted of them.

    Attributes:
        config: the class of its configurations.
        compares: what its arms differ in, in the plural.
        main, more: settings of every kind that its :attr:`sections` name, where it does not list these itself.
        folds: its classes, or their images, can be left out fold by fold (``config.data.conditions``), so that settings
            can be chosen without the test images.
        together: several processes can train a run, each with its share of the batch.
    """

    title: str
    config: type[C]
    compares: str = "arms"
    main: tuple[str, ...] = ("minutes",)
    more: tuple[str, ...] = ("steps", "learning_rate", "weight_decay", "clip_norm", "seed")
    folds: bool = False
    together: bool = False

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
        from trainers.devices.gpus import most_processes

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
        """Return the settings, by name, that runs on these images begin with in place of their defaults, and why."""
        return {}, ""

    def layered(self, given: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that are not at their defaults, by name; see :meth:`configured`."""
        settings: dict[str, Any] = {}
        for layer in (self.preset(flags.get("preset")), given):
            if any(layer.get(name) is not None for name in BUDGET):
                settings |= dict.fromkeys(BUDGET)
            settings |= layer
        return settings
