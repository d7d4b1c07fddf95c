"""The Catalogue tab: every loss and metric with its formula and paper, made from the descriptors."""

from __future__ import annotations

import gradio as gr

from explorer.page.tabs.base import TabContext, TabDescriptor
from trainers.cli.flags import shown
from trainers.image_text.models import MODELS, ModelDescriptor
from trainers.losses import FAMILIES, LOSSES, LossDescriptor
from trainers.metrics import IMAGE_TEXT_METRICS, METRICS, REPRESENTATION_METRICS, Measure
from trainers.parameters import Spec, describe, specs

_LATEX = [{"left": "$$", "right": "$$", "display": True}]
_INTRO = (
    "Each loss is written from its paper's formula and shares everything else with the others: encoder, sampler, "
    "optimiser and batches."
)


def build(_context: TabContext) -> None:
    """Add the catalogue to the tab."""
    sections = {family: [loss_text(loss) for loss in losses] for family, losses in FAMILIES.items()}
    sections["Metrics"] = [metric_text(metric) for metric in METRICS.values()]
    sections["Frozen features"] = [metric_text(metric) for metric in REPRESENTATION_METRICS.values()]
    between = [metric_text(metric) for metric in IMAGE_TEXT_METRICS.values()]
    sections["Images and captions"] = between + [model_text(model) for model in MODELS.values()]
    anchors = {heading: "catalogue-" + heading.lower().replace(" ", "-") for heading in sections}
    links = "".join(f'<a href="#{anchor}">{heading}</a>' for heading, anchor in anchors.items())
    jumps = f'<nav class="rs-jumps" aria-label="Families">{links}</nav>'
    with gr.Column(elem_id="rs-catalogue"):
        gr.HTML(f'<p class="rs-sentence">{_INTRO}</p>{jumps}', apply_default_css=False)
        for heading, entries in sections.items():
            gr.HTML(f'<h2 id="{anchors[heading]}" tabindex="-1">{heading}</h2>', apply_default_css=False)
            for entry in entries:
                gr.Markdown(entry, latex_delimiters=_LATEX, elem_classes=["rs-entry"])


def loss_text(loss: LossDescriptor) -> str:
    """One loss as Markdown."""
    names = [loss.name, *(name for name, other in LOSSES.items() if other.alias_of == loss.name)]
    facts = [", ".join(f"`{name}`" for name in names), *_needs(loss)]
    paper = f"[{loss.paper} {loss.year}]({loss.url})"
    fields = specs(loss.parameters)
    count = "1 parameter" if len(fields) == 1 else f"{len(fields)} parameters"
    listed = "\n".join(_parameter_text(spec) for spec in fields)
    panel = f"<details><summary>{count}</summary>\n\n{listed}\n\n</details>" if fields else ""
    return _entry(loss.title, loss.sentence, _equation(loss), paper, " · ".join(facts), loss.slow, loss.differs, panel)


def metric_text(metric: Measure) -> str:
    """One metric as Markdown."""
    paper = f"[{metric.paper}]({metric.url})"
    return _entry(metric.title, metric.sentence, _equation(metric), paper, f"`{metric.name}`")


def model_text(model: ModelDescriptor) -> str:
    """One image-text model as Markdown."""
    facts = [f"`{model.name}`", "can be fine-tuned" if model.trainable else "cannot be fine-tuned here"]
    if not model.trained:
        facts.append("starts from random weights")
    elif not model.natural_images:
        facts.append("knows the drawn scenes only")
    return _entry(model.title, model.sentence, model.paper, " · ".join(facts))


def _entry(title: str, *paragraphs: str) -> str:
    return "\n\n".join([f"### {title}", *filter(None, paragraphs)])


def _equation(described: LossDescriptor | Measure) -> str:
    return f"$$\n{described.equation}\n$$"


def _needs(loss: LossDescriptor) -> list[str]:
    """What a loss uses beside embeddings and labels of one batch."""
    memory = f"keeps a cross-batch memory of {loss.memory}" if loss.memory else "can use a cross-batch memory"
    facts = (
        (loss.hierarchy, "uses the label tree"),
        (loss.proxies, "learns class proxies"),
        (loss.views > 1, f"sees {loss.views} views of each image"),
        (loss.gallery, memory),
    )
    return [words for holds, words in facts if holds]


def _parameter_text(spec: Spec) -> str:
    accepted = describe(spec) + (" or nothing" if spec.optional else "")
    return f"- `{spec.name}` = {shown(spec.default)}: {accepted}. {spec.rule.help}"


DESCRIPTOR = TabDescriptor(
    name="catalogue",
    title="Catalogue",
    order=90,
    build=build,
    aside="Nothing is started here. The settings of a comparison stand in this place while Live or Runs is open.",
)
