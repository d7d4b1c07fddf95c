"""The settings of a kind of run that have a control of their own, derived from their specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gradio.components import Component

from explorer.page import remembered
from explorer.page.controls import control, raw, read
from explorer.page.parameter_panel import fold
from trainers.config import BUDGET, RunConfig
from trainers.errors import ParameterError
from trainers.parameters import Choice, Spec, entry, specs


@dataclass(frozen=True, kw_only=True)
class SettingsForm:
    """Controls of some settings.

    Attributes:
        config: the class of the configurations.
        main, more: names of the settings shown at once and in a fold, in this order.
        title: of the fold.
    """

    config: type[RunConfig]
    main: Sequence[str]
    more: Sequence[str]
    title: str = "Batch, learning rate and more"

    @cached_property
    def specs(self) -> dict[str, Spec]:
        """The settings by name, in the order of the page."""
        known = {spec.name: spec for spec in specs(self.config)}
        return {name: known[name] for name in (*self.main, *self.more)}

    def build(self) -> dict[str, Component]:
        """Build the controls, by name."""
        made = {name: self._control(name) for name in self.main}
        with fold(self.title):
            made |= {name: self._control(name) for name in self.more}
        return made

    def _control(self, name: str) -> Component:
        return control(self.specs[name], raw(self.specs[name], self.specs[name].default))

    def held(self, config: RunConfig) -> dict[str, Any]:
        """Return the values of the controls that show ``config``, by name."""
        return {name: raw(spec, getattr(config, name)) for name, spec in self.specs.items()}

    def restored(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values as they were left; defaults are left out."""
        values = remembered.settings(self.config, kept, only=self.specs)
        if not any(values.get(name, getattr(self.config(), name)) for name in BUDGET):
            values = {name: value for name, value in values.items() if name not in BUDGET}  # a run needs a budget
        return values

    def chosen(self, values: Mapping[str, Any], owner: str = "Training") -> dict[str, Any]:
        """Check settings and return those that differ from their defaults.

        Args:
            values: as the controls hold them, or plain ones; some of them.

        Raises:
            ParameterError: one is unknown or wrong.
        """
        unknown = sorted(set(values) - set(self.specs))
        if unknown:
            raise ParameterError(f"{owner} has no parameter {unknown[0]!r:.60}; it has {', '.join(self.specs)}.")
        return read(self.config, values, owner)


def checked_choice(what: str, entries: Mapping[str, Any], name: str, values: Mapping[str, Any]) -> Choice:
    """Check an entry of a registry with parameters as controls hold them, or plain ones.

    Raises:
        ParameterError: there is no such entry, or a parameter is unknown or wrong.
    """
    descriptor = entry(entries, name, what)
    return Choice(name=name, parameters=read(descriptor.parameters, values, descriptor.title))
