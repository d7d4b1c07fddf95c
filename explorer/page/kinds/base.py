"""Forms that start runs: what a kind of run shows in the sidebar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.controls import control, raw, read
from explorer.page.inspection import paragraph
from explorer.page.remembered import settings
from explorer.server.runs import Runs
from trainers.cli.flags import SPELLING, given_text, shown
from trainers.config import RunConfig
from trainers.kinds import check
from trainers.kinds.base import Kind
from trainers.parameters import Spec, specs

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FormContext:
    """The context that a form is built in.

    Attributes:
        drawn: hidden; its change draws the parameter panels anew.
        note: what was said at the last start.
        mark: ends the ids of the form's elements, so that they are unique.
        runs: those that it may start from; None: none.
    """

    drawn: gr.Textbox
    note: gr.HTML
    mark: str = ""
    runs: Runs | None = None


@dataclass(frozen=True, kw_only=True)
class KindForm:
    """A form that was built.

    Attributes:
        fields: its components by name.
        config: from the values of the fields to a checked configuration; raises a UserError.
        held: from a configuration to the values of the fields that show it, in their order.
        restored: from what a browser kept to the values of all fields, checked one by one.
        shown: further components that follow the values, and ``following``, their updates.
        arms: names of the fields that hold the names of the arms, where arms are chosen from a registry.
        looked: components that :attr:`look` updates from the values of the first fields after they were restored.
    """

    fields: Mapping[str, Component]
    config: Callable[[Mapping[str, object]], RunConfig]
    held: Callable[[Any], Values]
    restored: Callable[[Mapping[str, Any]], Values]
    shown: tuple[Component, ...] = ()
    following: Callable[[Mapping[str, object]], list[object]] = lambda _values: []
    looked: tuple[Component, ...] = ()
    look: Callable[..., list[object]] = lambda *_values: []
    looks_at: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KindPage:
    """The page's additions to a kind of run.

    Attributes:
        name: of the kind.
        form: builds its form in the sidebar; None: its runs are started elsewhere on the page.
        endpoints: functions that the API offers beside those of every kind.
    """

    name: str
    form: Callable[[FormContext], KindForm] | None = None
    endpoints: Callable[[Runs], Sequence[Callable[..., Any]]] = lambda _runs: ()


def form_of(kind: Kind) -> Callable[[FormContext], KindForm]:
    """Make a form with a control per setting, for a kind that has no page of its own.

    What is no number, text or choice is written as on the command line.
    """
    offered = [spec for spec in specs(kind.config) if not spec.rule.private]
    listed = [spec for spec in offered if spec.name in {*kind.main, *kind.more} or not _is_shared(spec)]

    def build(_context: FormContext) -> KindForm:
        gr.HTML(paragraph(kind.sentence), apply_default_css=False)
        first = held(kind.config())
        fields = {spec.name: _field(spec, first[spec.name]) for spec in listed}
        return KindForm(fields=fields, config=config, held=held, restored=restored)

    def held(config: RunConfig) -> Values:
        values = [(spec, getattr(config, spec.name)) for spec in listed]
        return {spec.name: raw(spec, value) if _is_plain(spec) else shown(value) for spec, value in values}

    def restored(kept: Mapping[str, Any]) -> Values:
        return held(kind.config()) | settings(kind.config, kept, only=[spec.name for spec in listed if _is_plain(spec)])

    def config(values: Mapping[str, object]) -> RunConfig:
        plain = {spec.name: values[spec.name] for spec in listed if _is_plain(spec)}
        written = {spec.name: given_text(spec, str(values[spec.name])) for spec in listed if not _is_plain(spec)}
        made = kind.config(**read(kind.config, plain, kind.title), **written)
        check(made)
        return made

    return build


def _is_shared(spec: Spec) -> bool:
    return any(spec.name == shared.name for shared in specs(RunConfig))


def _is_plain(spec: Spec) -> bool:
    return (spec.item or spec.type) in (int, float, bool, str)


def _field(spec: Spec, value: Any) -> Component:
    if _is_plain(spec):
        return control(spec, value)
    return gr.Textbox(value, label=spec.label, info=spec.rule.help, placeholder=SPELLING, max_lines=1)
