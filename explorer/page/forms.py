"""The forms of all kinds of run, one of which is on the page, and the presets of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.arm_picker import ANEW
from explorer.page.blocks import QUIET
from explorer.page.inspection import paragraph
from explorer.page.kinds import PAGES, FormContext, KindForm, Values, form_of
from explorer.page.plan_forms import PlanForm
from explorer.page.plans import with_plans
from explorer.server.runs import Runs
from trainers.config import BUDGET, Config, RunConfig
from trainers.kinds import KINDS
from trainers.kinds.base import Kind
from trainers.parameters import entry

# a form that was on the page once is hidden by the style: taken off the page, Gradio would not bring it back whole
_SWITCH = """(name) => {
  const forms = document.querySelectorAll(".rs-form");
  for (const form of forms) form.classList.toggle("rs-away", form.id !== `rs-form-${name}`);
  const buttons = document.querySelectorAll(".rs-plan");
  for (const { classList } of buttons) classList.toggle("rs-away", !classList.contains(`rs-of-${name}`));
  return [name];
}"""


@dataclass(frozen=True, kw_only=True)
class BuiltForm:
    """A form on the page.

    Attributes:
        form: it.
        defaults: the values of its untouched fields.
        drawn: see :class:`explorer.page.kinds.base.FormContext`.
        mounted: raises ``mounted`` when the form comes onto the page.
        reset: the button below it.
        plans: those of runs of this form, by name.
    """

    form: KindForm
    defaults: Values
    drawn: gr.Textbox
    mounted: gr.HTML
    reset: gr.Button
    plans: Mapping[str, PlanForm] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Forms:
    """All forms.

    Attributes:
        kind: the choice between them; hidden where there is one only.
        by_kind: each by the name of its kind. Nothing may update one before it is chosen for the first time: what
            Gradio updates before it is on the page comes without its properties.
    """

    kind: gr.Dropdown
    by_kind: Mapping[str, BuiltForm]

    @property
    def first(self) -> str:
        """The kind that is chosen at first."""
        return next(iter(self.by_kind))

    @property
    def fields(self) -> list[Component]:
        """The fields of all forms."""
        return [field for built in self.by_kind.values() for field in built.form.fields.values()]

    def config(self, kind: str, values: Sequence[object]) -> RunConfig:
        """Make the checked configuration of a kind.

        Args:
            values: of :attr:`fields`.

        Raises:
            UserError: what is wrong.
        """
        return entry(self.by_kind, kind, "kind of run").form.config(self._held(kind, values))

    def plan(self, name: str, kind: str, values: Sequence[object]) -> Config:
        """Make the checked configuration of a plan of runs of one of the forms.

        Args:
            name: of the plan.
            kind: of its runs.
            values: of :attr:`fields`.

        Raises:
            UserError: what is wrong.
        """
        plan = entry(self.by_kind, kind, "kind of run").plans[name]
        return plan.config(self.config(kind, values), self._held(kind, values))

    def _held(self, kind: str, values: Sequence[object]) -> dict[str, object]:
        """Return the values of one form's fields by name."""
        given = iter(values)
        held = {name: {field: next(given) for field in built.form.fields} for name, built in self.by_kind.items()}
        return held.get(kind, {})


def build_forms(note: gr.HTML, runs: Runs) -> Forms:
    """Build a form per kind of run that is started in the sidebar, and the choice between them.

    Args:
        note: what was said at the last start.
        runs: those there are.
    """
    builders = {}
    for name, kind in KINDS.items():
        builder = PAGES[name].form if name in PAGES else form_of(kind)
        if builder is not None:
            builders[name] = builder
    titles = [(KINDS[name].title, name) for name in builders]
    several = len(titles) > 1
    chosen = gr.Dropdown(
        titles, value=titles[0][1], label="Kind of run", elem_id="rs-kind", filterable=False, visible=several
    )
    built: dict[str, BuiltForm] = {}
    groups = []
    for name, builder in builders.items():
        mark = f"-{name}" if built else ""
        with gr.Column(visible=not built, elem_id=f"rs-form-{name}", elem_classes=["rs-form"], min_width=80) as group:
            mounted = gr.HTML("", js_on_load='trigger("mounted")', elem_classes=["rs-nothing"])
            drawn = gr.Textbox(visible=False, label="Turn of the panels")
            context = FormContext(drawn=drawn, note=note, mark=mark, runs=runs)
            form, first = _with_presets(KINDS[name], builder, context)
            form, plans = with_plans(name, form, context)
            reset = gr.Button("Reset to defaults", size="sm", elem_id=f"rs-reset{mark}")
        if first:
            reset.click(list(first.values()).copy, None, list(first), queue=False, **QUIET)
        defaults = form.held(KINDS[name].config())
        built[name] = BuiltForm(form=form, defaults=defaults, drawn=drawn, mounted=mounted, reset=reset, plans=plans)
        groups.append(group)
    if several:
        chosen.change(
            lambda name: [gr.update(visible=True) if name == other else gr.skip() for other in builders],
            chosen,
            groups,
            js=_SWITCH,
            queue=False,
            **QUIET,
        )
    return Forms(kind=chosen, by_kind=built)


def _with_presets(
    kind: Kind, builder: Callable[[FormContext], KindForm], context: FormContext
) -> tuple[KindForm, dict[Component, Any]]:
    """Put a form under the menu of its kind's presets, if there are any: choosing one fills the form.

    Returns:
        The form, and the menu and its sentence with their first values.
    """
    presets = {preset.name: preset for preset in kind.presets()}
    if not presets:
        return builder(context), {}
    menu = gr.Dropdown(
        [("Defaults", ""), *((preset.title, name) for name, preset in presets.items())],
        value="",
        label="Start from a preset",
        filterable=False,
        elem_classes=["rs-presets"],
        min_width=80,
    )
    sentence = gr.HTML(paragraph(kind.sentence), apply_default_css=False, elem_classes=["rs-preset"])
    form = builder(context)
    outputs = [*form.fields.values(), *form.shown, sentence, context.note, context.drawn]

    def fill(name: str, turn: str) -> list[object]:
        words = entry(presets, name, "preset").sentence if name else kind.sentence
        values = filled(kind, form, name)
        updates = [values.get(field, gr.skip()) for field in form.fields]
        shown = form.following(form.held(kind.configured({}, {"preset": name})))
        return [*updates, *shown, paragraph(words), "", turn]

    menu.input(fill, [menu, context.drawn], outputs, js=ANEW, queue=False, **QUIET)
    return form, {menu: "", sentence: paragraph(kind.sentence)}


def filled(kind: Kind, form: KindForm, preset: str) -> Values:
    """Return the fields of a form that a preset sets: all, but images and budget only if the preset has its own.

    Args:
        preset: its name; empty: the defaults.
    """
    config = kind.configured({}, {"preset": preset})
    values, defaults = form.held(config), form.held(kind.config())
    own = kind.preset(preset)
    own_budget = any(own.get(name) is not None for name in BUDGET)
    kept = {*(() if "data" in own else form.looks_at), *(() if own_budget else BUDGET)}
    return {name: value for name, value in values.items() if name not in kept or value != defaults[name]}
