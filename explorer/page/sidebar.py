"""The sidebar: the settings of a run, Train, and the buttons of the run that is viewed."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.inspection import failed, paragraph
from explorer.page.kinds import PAGES, FormContext, KindForm, form_of
from explorer.page.remembered import KEY, LONGEST, keeping, kept
from explorer.page.run_buttons import run_buttons
from explorer.server.runs import Runs
from explorer.server.visitors import caller
from explorer.titles import waiting
from trainers.errors import UserError
from trainers.kinds import KINDS, kind_of
from trainers.parameters import entry

if TYPE_CHECKING:
    from explorer.page.tabs.base import TabDescriptor

_TITLE = '<h1 id="rs-title">Rankscope</h1><p class="rs-sentence">See what a ranking loss learns</p>'
_STATUS = '<p id="rs-status" role="status"></p>'
_WITH_TOKEN = "(...values) => [...values.slice(0, -1), window.rankscope?.token?.() ?? '']"
# on a phone the sidebar covers the page, so it closes when a run is started
_OPEN = """(id) => {
  const note = document.getElementById("rs-note");
  if (note) note.dataset.run = id ?? "";
  if (!id) return [];
  window.rankscope?.open?.(id);
  document.querySelector("#rs-tabs button[role=tab]")?.click();
  if (window.innerWidth < 769) document.querySelector("#rs-sidebar.open .toggle-button")?.click();
  return [];
}"""
# storage may be switched off, and reading it then raises an error; what is too long to be ours is not sent
_KEPT = f"""() => {{
  const now = String(performance.now());
  try {{
    const kept = localStorage.getItem("{KEY}") ?? "";
    return [kept.length > {LONGEST} ? "" : kept, now];
  }} catch {{ return ["", now]; }}
}}"""
_FORGOTTEN = f"""() => {{
  try {{ localStorage.removeItem("{KEY}"); }} catch {{ /* nothing was kept */ }}
  return ["", String(performance.now())];
}}"""
_RESTORED = "() => { window.rankscopeRestored = true; return []; }"


def sidebar(page: gr.Blocks, runs: Runs, tabs: Iterable[TabDescriptor]) -> None:
    """Build the sidebar and its events inside ``page``; ``tabs`` say what it shows while they are open."""
    with gr.Sidebar(label="Settings", width=288, elem_id="rs-sidebar"):
        gr.HTML(_TITLE, apply_default_css=False)
        gr.HTML(_asides(tabs), apply_default_css=False, elem_id="rs-aside")
        drawn = gr.Textbox(visible=False, label="Turn of the panels")
        run_id = gr.Textbox(visible=False, label="Run")
        token = gr.Textbox(visible=False, label="Visitor's token")
        note = gr.HTML("", apply_default_css=False, elem_id="rs-note", render=False)
        context = FormContext(drawn=drawn, note=note)
        with gr.Column(elem_id="rs-setup", min_width=80):
            kind, forms = _forms(context)
            reset = gr.Button("Reset to defaults", size="sm", elem_id="rs-reset")
        with gr.Column(elem_id="rs-go", min_width=80):
            train = gr.Button("Train", variant="primary", elem_id="rs-train")
            note.render()
            _start_event(train, kind, forms, token, note, run_id, runs)
            run_buttons(runs, run_id, token)
            gr.HTML(_STATUS, apply_default_css=False)
        _remember(page, reset, next(iter(forms.values())), drawn)


def _forms(context: FormContext) -> tuple[gr.Dropdown, dict[str, KindForm]]:
    """A form per kind of run that is started here, and the choice between them, hidden where there is one only."""
    builders = {}
    for name, kind in KINDS.items():
        builder = PAGES[name].form if name in PAGES else form_of(kind)
        if builder is not None:
            builders[name] = builder
    titles = [(KINDS[name].title, name) for name in builders]
    chosen = gr.Dropdown(
        titles, value=titles[0][1], label="Kind of run", elem_id="rs-kind", filterable=False, visible=len(titles) > 1
    )
    forms, groups = {}, []
    for name, builder in builders.items():
        with gr.Column(visible=not forms, min_width=80) as group:
            forms[name] = builder(context)
        groups.append(group)
    if len(titles) > 1:
        chosen.change(
            lambda name: [gr.update(visible=name == other) for other in builders],
            chosen,
            groups,
            queue=False,
            **QUIET,
        )
    return chosen, forms


def _asides(tabs: Iterable[TabDescriptor]) -> str:
    """The text that replaces the settings while a tab is open in which they start nothing."""
    return "".join(
        f'<p class="rs-sentence" data-tab="{tab.name}" hidden>{html.escape(tab.aside)}</p>'
        for tab in tabs
        if not tab.trains
    )


def _remember(page: gr.Blocks, reset: gr.Button, form: KindForm, drawn: gr.Textbox) -> None:
    """The visitor's browser keeps what they choose; it comes back with the page, or goes with the button."""
    kept_text = gr.Textbox(visible=False, label="Kept settings")
    fields = list(form.fields.values())
    looked: dict[str, Any] = {"inputs": [form.fields[name] for name in form.looks_at], "outputs": list(form.looked)}
    back: dict[str, Any] = {"inputs": [kept_text, drawn], "outputs": [*fields, *form.shown, drawn], "queue": False}
    page.load(_restoring(form, every=False), js=_KEPT, **back, **QUIET).then(fn=None, js=_RESTORED).then(
        _look_if_kept(form), **looked, **QUIET
    )
    reset.click(_restoring(form, every=True), js=_FORGOTTEN, **back, **QUIET).then(form.look, **looked, **QUIET)
    gr.on([field.change for field in fields], fn=None, inputs=fields, js=keeping(form.defaults))


def _restoring(form: KindForm, *, every: bool) -> Callable[..., list[object]]:
    """Updates of the fields from a kept text: of every one, or of those that are not as the page shows them at first,
    since somebody may be typing into the others."""

    def restore(text: str, turn: str) -> list[object]:
        values = form.restored(kept(text))
        shown = [value if every or value != form.defaults[name] else gr.skip() for name, value in values.items()]
        return [*shown, *form.following(values), turn]

    return restore


def _look_if_kept(form: KindForm) -> Callable[..., list[object]]:
    """Describe images restored from an earlier visit; the default ones are described already."""

    def look(*values: object) -> list[object]:
        first = [form.defaults[name] for name in form.looks_at]
        same = all((value or None) == (before or None) for value, before in zip(values, first, strict=True))
        return [gr.skip()] * len(form.looked) if same else form.look(*values)

    return look


def _start_event(
    train: gr.Button,
    kind: gr.Dropdown,
    forms: Mapping[str, KindForm],
    token: gr.Textbox,
    note: gr.HTML,
    run_id: gr.Textbox,
    runs: Runs,
) -> None:
    """Train: check everything, queue the run and open it, or show the error under the button."""
    asked = [field for form in forms.values() for field in form.fields.values()]

    def start(request: gr.Request, *values: object) -> tuple[str, str]:
        name, secret = str(values[-2]), str(values[-1] or "")
        try:
            form = entry(forms, name, "kind of run")
            given = iter(values)
            held = {of: {field: next(given) for field in form.fields} for of, form in forms.items()}
            config = form.config(held[name])
            started = runs.start(config, secret, caller(request))
            lines = [waiting(runs.place(started)), *kind_of(config).advice(config)]
            return started, "".join(paragraph(line) for line in lines if line)
        except (UserError, OSError) as error:
            return "", failed(str(error))

    train.click(start, [*asked, kind, token], [run_id, note], js=_WITH_TOKEN, **QUIET).then(
        fn=None, inputs=[run_id], outputs=None, js=_OPEN
    )


def opened(tab: TabDescriptor) -> str:
    """JavaScript for the moment a tab is opened: ``shell.js`` shows of the sidebar what belongs to it."""
    detail = json.dumps({"name": tab.name, "trains": tab.trains})
    return f"() => {{ window.dispatchEvent(new CustomEvent('rankscope:tab', {{ detail: {detail} }})); return []; }}"
