"""A slider whose steps are factors, for numbers such as temperatures and learning rates."""

from __future__ import annotations

import gradio as gr

# The template holds no value: Gradio compares rendered templates and would rebuild the slider while it is dragged.
_TEMPLATE = """
<div class="rs-log-head"><span class="rs-log-name">${name}</span>
<input class="rs-log-number" type="number" step="any" aria-label="${name}"></div>
<span class="rs-log-help">${help}</span>
<input class="rs-log-range" type="range" min="0" max="100" step="1" aria-label="${name}, slider">
"""

_SCRIPT = """
const number = element.querySelector(".rs-log-number");
const range = element.querySelector(".rs-log-range");
const low = Math.log(props.low), span = Math.log(props.high) - low;
const first = props.zero ? 1 : 0; // place of the smallest number: with a zero the left end is nothing else
const tidy = (x) => props.whole ? Math.round(x) : Number(x.toPrecision(2));
const write = () => {
  number.value = props.value ?? "";
  range.setAttribute("aria-valuetext", String(props.value ?? ""));
};
const slide = () => {
  const value = Number(props.value);
  const part = value > 0 ? (Math.log(value) - low) / span : -1;
  range.value = part < 0 ? (value > 0 ? first : 0) : Math.round(first + (100 - first) * part);
};
const at = (place) => place < first ? 0 : tidy(Math.exp(low + span * (place - first) / (100 - first)));
const set = (value) => { props.value = value; write(); trigger("change"); };
// the handle stays where it is put: moved to the rounded value it could never leave it by the arrow keys
range.addEventListener("input", () => set(at(Number(range.value))));
number.addEventListener("change", () => { set(number.value === "" ? null : Number(number.value)); slide(); });
watch("value", () => { write(); slide(); });
write();
slide();
"""


def log_slider(
    value: float,
    *,
    low: float,
    high: float,
    whole: bool,
    label: str,
    info: str,
    zero: bool = False,
    key: tuple[str, ...] | None = None,
) -> gr.HTML:
    """A logarithmic slider with a number field; its value is the number, not its logarithm.

    The number field takes what is typed as it stands: what is out of range is named when the run starts, not corrected.

    Args:
        low: smallest number that the slider reaches, above 0.
        zero: its left end is exactly 0, and ``low`` the place beside it.
    """
    return gr.HTML(
        value,
        html_template=_TEMPLATE,
        js_on_load=_SCRIPT,
        apply_default_css=False,
        elem_classes=["rs-log"],
        label=label,
        key=key,
        low=low,
        high=high,
        zero=zero,
        whole=whole,
        name=label,
        help=info,
    )
