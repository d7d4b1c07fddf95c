"""The Catalogue tab: every loss and metric with its formula and paper, written from the descriptors alone."""

from __future__ import annotations

from itertools import groupby

import gradio as gr

from explorer.tabs.base import TabContext, TabDescriptor
from trainers.losses import LOSSES, LossDescriptor
from trainers.metrics import METRICS
from trainers.metrics.menu import MetricDescriptor
from trainers.parameters import Spec, describe, specs

_LATEX = [{"left": "$$", "right": "$$", "display": True}]


def build(_context: TabContext) -> None:
    """Add the catalogue to the tab."""
    with gr.Column(elem_id="rs-catalogue"):
        gr.Markdown(
            "Each loss is written from its paper's formula and shares everything else with the others: encoder, "
            "sampler, optimiser and batches.",
            elem_classes=["rs-sentence"],
        )
        for family, losses in groupby(sorted(LOSSES.values(), key=_family_order), key=lambda loss: loss.family):
            gr.Markdown(f"## {family}")
            for loss in losses:
                gr.Markdown(loss_text(loss), latex_delimiters=_LATEX, elem_classes=["rs-entry"])
        gr.Markdown("## Metrics")
        for metric in METRICS.values():
            gr.Markdown(metric_text(metric), latex_delimiters=_LATEX, elem_classes=["rs-entry"])


def loss_text(loss: LossDescriptor) -> str:
    """One loss as Markdown."""
    needs = [
        words
        for wanted, words in (
            (loss.hierarchy, "uses the label tree"),
            (loss.proxies, "learns proxies of the classes"),
            (loss.views > 1, f"needs {loss.views} views of each image"),
            (loss.gallery, "can compare with a memory of earlier batches"),
            (loss.equal_classes, "needs equally many images of each class in a batch"),
        )
        if wanted
    ]
    lines = [
        f"### {loss.title}",
        loss.sentence,
        f"$$\n{loss.equation}\n$$",
        f"[{loss.paper}]({loss.url}) {loss.year}.",
    ]
    if needs:
        lines.append(f"It {_joined(needs)}.")
    fields = specs(loss.parameters)
    if fields:
        lines.append("\n".join(_parameter_text(spec) for spec in fields))
    return "\n\n".join(lines)


def metric_text(metric: MetricDescriptor) -> str:
    """One metric as Markdown."""
    return f"### {metric.title}\n\n{metric.sentence}\n\n$$\n{metric.equation}\n$$\n\n{metric.paper}."


def _parameter_text(spec: Spec) -> str:
    default = f"{spec.default:g}" if isinstance(spec.default, float) else spec.default
    default = "none" if spec.default is None else default
    accepted = describe(spec) + (" or nothing" if spec.optional else "")
    return f"- `{spec.name}` = {default}: {accepted}. {spec.rule.help}"


def _family_order(loss: LossDescriptor) -> tuple[int, str, int, str]:
    """Families in the order of their first loss."""
    first = min(other.order for other in LOSSES.values() if other.family == loss.family)
    return first, loss.family, loss.order, loss.name


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


DESCRIPTOR = TabDescriptor(name="catalogue", title="Catalogue", order=90, build=build)
