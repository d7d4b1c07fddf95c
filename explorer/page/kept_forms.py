"""The choices of each form that a visitor's browser keeps: they come back with the page, or go with the button."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.controls import change_of
from explorer.page.forms import BuiltForm, Forms
from explorer.page.remembered import KEY, LONGEST, choice, keeping, kept

_KIND = "kind"
_RESTORED = "rankscopeRestored"


def remember(page: gr.Blocks, forms: Forms) -> None:
    """Add the events. The first form comes back with the page, the others when they are chosen for the first time."""
    text = gr.Textbox(visible=False, label="Kept settings")
    for kind, built in forms.by_kind.items():
        if kind == forms.first:
            _keep_first(page, forms, built, text)
        else:
            key, flag = f"{KEY}-{kind}", f"{_RESTORED}_{kind}"
            _come_back(built.mounted.mounted, built, text, key, flag)
            _keep(built, text, key, flag)


def _keep_first(page: gr.Blocks, forms: Forms, built: BuiltForm, text: gr.Textbox) -> None:
    """Keep the first form as others; then the kind that was chosen, since what is no longer shown cannot be updated."""

    def chosen(stored: str) -> Any:
        return choice(kept(stored), _KIND, forms.by_kind).get(_KIND, gr.skip())

    back = _come_back(page.load, built, text, KEY, _RESTORED)
    kind_key = f"{KEY}-{_KIND}"
    back.then(chosen, text, forms.kind, js=f"() => [{_stored(kind_key)}]", queue=False, **QUIET)
    forms.kind.change(fn=None, inputs=[forms.kind], js=keeping({_KIND: forms.first}, kind_key, _RESTORED))
    _keep(built, text, KEY, _RESTORED)


def _keep(built: BuiltForm, text: gr.Textbox, key: str, flag: str) -> None:
    """Keep every change, and forget all of them when the button is pressed."""
    form, fields = built.form, list(built.form.fields.values())
    forget = f"""() => {{
  try {{ localStorage.removeItem("{key}"); }} catch {{ /* nothing was kept */ }}
  return ["", String(performance.now())];
}}"""
    outputs = [*fields, *form.shown, built.drawn]
    gone = built.reset.click(
        _restoring(built, every=True), [text, built.drawn], outputs, js=forget, queue=False, **QUIET
    )
    if form.looked:
        gone.then(form.look, [form.fields[name] for name in form.looks_at], list(form.looked), **QUIET)
    gr.on([change_of(field) for field in fields], fn=None, inputs=fields, js=keeping(built.defaults, key, flag))


def _come_back(trigger: Any, built: BuiltForm, text: gr.Textbox, key: str, flag: str) -> Any:
    """Restore a form once; returns its last event."""
    form = built.form
    ask = f"""() => {{
  const now = String(performance.now());
  return window.{flag} ? [null, now] : [{_stored(key)}, now];
}}"""
    outputs = [*form.fields.values(), *form.shown, built.drawn]
    back = trigger(_restoring(built, every=False), [text, built.drawn], outputs, js=ask, queue=False, **QUIET).then(
        fn=None, js=f"() => {{ window.{flag} = true; return []; }}"
    )
    if form.looked:
        looks_at = [form.fields[name] for name in form.looks_at]
        back = back.then(_look_if_kept(built), looks_at, list(form.looked), **QUIET)
    return back


def _stored(key: str) -> str:
    """Return JavaScript of what the browser keeps under a key. What is too long to be ours is not sent; storage may be
    off, and reading it then raises an error.
    """
    return f"""(() => {{
    try {{
      const kept = localStorage.getItem("{key}") ?? "";
      return kept.length > {LONGEST} ? "" : kept;
    }} catch {{ return ""; }}
  }})()"""


def _restoring(built: BuiltForm, *, every: bool) -> Callable[..., list[object]]:
    """Make a function of a kept text that updates the fields: every one, or those that are not as the page shows them
    at first, since somebody may be typing into the others. None: nothing is updated.
    """
    form = built.form

    def restore(text: str | None, turn: str) -> list[object]:
        if text is None:
            return [gr.skip()] * (len(form.fields) + len(form.shown) + 1)
        values = form.restored(kept(text))
        shown = [value if every or value != built.defaults[name] else gr.skip() for name, value in values.items()]
        return [*shown, *form.following(values), turn]

    return restore


def _look_if_kept(built: BuiltForm) -> Callable[..., list[object]]:
    """Describe images restored from an earlier visit; the default ones are described already."""
    form = built.form

    def look(*values: object) -> list[object]:
        first = [built.defaults[name] for name in form.looks_at]
        same = all((value or None) == (before or None) for value, before in zip(values, first, strict=True))
        return [gr.skip()] * len(form.looked) if same else form.look(*values)

    return look
