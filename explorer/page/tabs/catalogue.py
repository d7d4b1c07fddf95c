"""The Catalogue tab: every loss and metric with its formula and paper, made from the descriptors."""

from __future__ import annotations

import gradio as gr

from explorer.page.tabs.base import TabContext, TabDescriptor
from trainers.image_text.models import MODELS, ModelDescriptor
from trainers.losses import FAMILIES, LOSSES, LossDescriptor
from trainers.metrics import IMAGE_TEXT_METRICS, METRICS, REPRESENTATION_METRICS, Measure
from trainers.parameters import Spec, describe, specs

_LATEX = [{"left": "$$", "right": "$$", "display": True}]
_BETWEEN = "Images and captions"
_FEATURES = "Frozen features"
_INTRO = (
    "Each loss is written from its paper's formula and shares everything else with the others: encoder, sampler, "
    "optimiser and batches."
)


def build(_context: TabContext) -> None:
    """Add the catalogue to the tab."""
    with gr.Column(elem_id="rs-catalogue"):
        jumps = _jumps([*FAMILIES, "Metrics", _FEATURES, _BETWEEN])
        gr.HTML(f'<p class="rs-sentence">{_INTRO}</p>{jumps}', apply_default_css=False)
        for family, losses in FAMILIES.items():
            gr.HTML(_heading(family), apply_default_css=False)
            for loss in losses:
                gr.Markdown(loss_text(loss), latex_delimiters=_LATEX, elem_classes=["rs-entry"])
        sections = {"Metrics": METRICS, _FEATURES: REPRESENTATION_METRICS, _BETWEEN: IMAGE_TEXT_METRICS}
        for heading, metrics in sections.items():
            gr.HTML(_heading(heading), apply_default_css=False)
            for metric in metrics.values():
                gr.Markdown(metric_text(metric), latex_delimiters=_LATEX, elem_classes=["rs-entry"])
        for model in MODELS.values():
            gr.Markdown(model_text(model), elem_classes=["rs-entry"])


def loss_text(loss: LossDescriptor) -> str:
    """One loss as Markdown."""
    names = [loss.name, *(name for name, other in LOSSES.items() if other.alias_of == loss.name)]
    facts = [", ".join(f"`{name}`" for name in names), *_needs(loss)]
    lines = [
        f"### {loss.title}",
        loss.sentence,
        f"$$\n{loss.equation}\n$$",
        f"[{loss.paper} {loss.year}]({loss.url})",
        " · ".join(facts),
    ]
    lines += filter(None, (loss.slow, loss.differs))
    fields = specs(loss.parameters)
    if fields:
        count = "1 parameter" if len(fields) == 1 else f"{len(fields)} parameters"
        listed = "\n".join(_parameter_text(spec) for spec in fields)
        lines.append(f"<details><summary>{count}</summary>\n\n{listed}\n\n</details>")
    return "\n\n".join(lines)


def metric_text(metric: Measure) -> str:
    """One metric as Markdown."""
    lines = [
        f"### {metric.title}",
        metric.sentence,
        f"$$\n{metric.equation}\n$$",
        f"[{metric.paper}]({metric.url})",
        f"`{metric.name}`",
    ]
    return "\n\n".join(lines)


def model_text(model: ModelDescriptor) -> str:
    """One image-text model as Markdown."""
    facts = [f"`{model.name}`", "can be fine-tuned" if model.trainable else "cannot be fine-tuned here"]
    if not model.natural_images:
        facts.append("knows the drawn scenes only")
    lines = [f"### {model.title}", model.sentence, model.paper, " · ".join(facts)]
    return "\n\n".join(lines)


def _needs(loss: LossDescriptor) -> list[str]:
    """What a loss uses beside embeddings and labels of one batch."""
    memory = f"keeps a cross-batch memory of {loss.memory}" if loss.memory else "can use a cross-batch memory"
    facts = (
        (loss.hierarchy, "uses the label tree"),
        (loss.proxies, "learns class proxies"),
        (loss.views > 1, f"sees {loss.views} views of each image"),
        (loss.gallery, memory),
        (loss.equal_classes, "needs classes of equal size in a batch"),
    )
    return [words for holds, words in facts if holds]


def _parameter_text(spec: Spec) -> str:
    if isinstance(spec.default, tuple):
        default = ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in spec.default)
    else:
        default = f"{spec.default:g}" if isinstance(spec.default, float) else spec.default
    default = "none" if spec.default is None else default
    accepted = describe(spec) + (" or nothing" if spec.optional else "")
    return f"- `{spec.name}` = {default}: {accepted}. {spec.rule.help}"


def _jumps(headings: list[str]) -> str:
    links = "".join(f'<a href="#{_anchor(heading)}">{heading}</a>' for heading in headings)
    return f'<nav class="rs-jumps" aria-label="Families">{links}</nav>'


def _heading(text: str) -> str:
    return f'<h2 id="{_anchor(text)}" tabindex="-1">{text}</h2>'


def _anchor(heading: str) -> str:
    return "catalogue-" + heading.lower().replace(" ", "-")


DESCRIPTOR = TabDescriptor(
    name="catalogue",
    title="Catalogue",
    order=90,
    build=build,
    aside="Nothing is started here. The settings of a comparison stand in this place while Live or Runs is open.",
)
