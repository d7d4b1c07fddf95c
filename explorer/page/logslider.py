"""A slider whose steps are factors, for numbers such as temperatures and learning rates."""

from __future__ import annotations

import gradio as gr

from explorer.page.scripted import scripted


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
    """Make a logarithmic slider with a number field; its value is the number, not its logarithm.

    The number field takes what is typed as it stands: what is out of range is named when the run starts, not corrected.

    Args:
        low: smallest number that the slider reaches, above 0.
        zero: its left end is exactly 0, and ``low`` the place beside it.
    """
    return scripted(
        "page/log_slider.js",
        "rs-logfield",
        "The slider",
        '{ props, watch, changed: () => trigger("change") }',
        value=value,
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
