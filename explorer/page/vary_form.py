"""The fields of what a plan varies: its seeds, and up to two settings or parameters with the values to try."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.blocks import QUIET
from explorer.page.controls import control, read
from explorer.page.remembered import is_text, settings
from trainers.config import Config
from trainers.errors import ParameterError
from trainers.kinds.base import Kind
from trainers.parameters import Choice, Spec, parse_choice, specs
from trainers.plans.axes import offered
from trainers.plans.config import SweepConfig

MOST = 2
"""Axes with fields of their own; the command line and the API take more."""
_SEEDS, _VARY = "seeds", "vary"
_HELP = "Values, e.g. 0.1, 0.2, 0.5"


@dataclass(frozen=True, kw_only=True)
class VaryForm:
    """The settings ``seeds`` and ``vary`` of a plan.

    Attributes:
        kind: of the runs that are planned.
        follows: the fields of the form that hold the names of the chosen arms, if it has such fields.
    """

    kind: Kind
    follows: Sequence[str]

    @cached_property
    def spec(self) -> Spec:
        """Of the seeds."""
        return next(spec for spec in specs(SweepConfig) if spec.name == _SEEDS)

    @cached_property
    def axes(self) -> list[tuple[str, str]]:
        """Names of the fields of each axis: what is varied, and the values."""
        return [(f"{_VARY}_{axis}", f"{_VARY}_{axis}_values") for axis in range(MOST)]

    def build(self, fields: Mapping[str, Component], drawn: gr.Textbox) -> dict[str, Component]:
        """Build the fields; the menus follow the entries that are chosen in the form.

        Args:
            fields: of the form.
            drawn: its change fills the menus for the first time: they would be a tenth of the page.
        """
        made: dict[str, Component] = {_SEEDS: control(self.spec, self.held(SweepConfig())[_SEEDS])}
        menus = []
        for axis, (name, values) in enumerate(self.axes):
            title = "Vary" if axis == 0 else "And vary"
            with gr.Column(elem_classes=["rs-vary"], min_width=80):
                made[name] = gr.Dropdown(_choices({}), value="", label=title, allow_custom_value=True, min_width=80)
                made[values] = gr.Textbox(
                    "", label=f"Values {axis + 1}", show_label=False, placeholder=_HELP, max_lines=1
                )
            menus.append(made[name])
        asked = [fields[name] for name in self.follows]

        def listed(*names: object) -> list[Any]:
            chosen = [Choice(name=str(name)) for name in names if name]
            run = self.kind.config()
            choices = _choices(offered(self.kind.with_arms(run, chosen) if asked else run))
            return [gr.update(choices=choices)] * MOST

        changes = [drawn.change, *(field.change for field in asked)]  # type: ignore[attr-defined]
        gr.on(changes, listed, asked, menus, queue=False, trigger_mode="always_last", **QUIET)
        return made

    def held(self, config: Config) -> dict[str, Any]:
        """Return the values of the fields that show ``config``, by name.

        Of a single run they are the seeds that a plan has at first, and nothing is varied.
        """
        seeds = getattr(config, _SEEDS, self.spec.default)
        varied = list(getattr(config, _VARY, {}).items())[:MOST]
        varied += [("", ())] * (MOST - len(varied))
        held = {_SEEDS: ", ".join(map(str, seeds))}
        for (name, values), (axis, tried) in zip(self.axes, varied, strict=True):
            held |= {
                name: axis,
                values: ", ".join(map(_written, tried if isinstance(tried, (list, tuple)) else [tried])),
            }
        return held

    def restored(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields as they were left; what is varied is checked when it is read."""
        values = self.held(SweepConfig()) | settings(SweepConfig, kept, only=[_SEEDS])
        texts = [name for axis in self.axes for name in axis]
        return values | {name: kept[name] for name in texts if is_text(kept.get(name))}

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Read the settings that the fields describe, by name; what is varied is not yet checked.

        Raises:
            ParameterError: a field cannot be read.
        """
        seeds = read(SweepConfig, {_SEEDS: values[_SEEDS]}, "Over seeds").get(_SEEDS, self.spec.default)
        varied: dict[str, Any] = {}
        for name, tried in self.axes:
            axis, text = str(values[name] or "").strip(), str(values[tried] or "").strip()
            if not axis and not text:
                continue
            if not axis or not text:
                wanted = f"the values of {axis}" if axis else f"what takes the values {text!r:.60}"
                raise ParameterError(f"Over seeds needs {wanted}; got nothing. Fill it, or empty the other field too.")
            if axis in varied:
                raise ParameterError(f"Over seeds varies each thing once; got {axis!r:.60} twice.")
            items = [item.strip() for item in re.split("[,;]", text) if item.strip()]
            varied[axis] = parse_choice(f":values={';'.join(items)}")[1]["values"]
        return {_SEEDS: tuple(seeds), _VARY: varied}


def _choices(offered: Mapping[str, str]) -> list[tuple[str, str]]:
    return [("Nothing", ""), *((title, name) for name, title in offered.items())]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
