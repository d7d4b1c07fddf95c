"""The Catalogue tab: every loss, metric, model and method with its paper, made from the descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from explorer.page.scripted import scripted
from explorer.page.tab import Shared, Tab
from trainers.cli.flags import shown
from trainers.image_text.models import MODELS, ModelDescriptor
from trainers.kinds import KINDS
from trainers.losses import FAMILIES, LOSSES, LossDescriptor
from trainers.metrics import IMAGE_TEXT_METRICS, MAP_METRICS, METRICS, REPRESENTATION_METRICS, Measure
from trainers.parameters import Rule, Spec, describe, specs

_GIVEN = '{ opened: () => trigger("mounted") }'
_LATEX: list[dict[str, str | bool]] = [{"left": "$$", "right": "$$", "display": True}]
_INTRO = (
    "Each loss is written from its paper's formula and shares everything else with the others: encoder, sampler, "
    "optimiser and batches."
)


def build(_shared: Shared) -> None:
    """Add the catalogue to the tab; its entries are drawn when the tab is opened, for they are a third of the page."""
    sections = dict(_sections())
    anchors = {heading: "catalogue-" + heading.lower().replace(" ", "-") for heading in sections}
    links = "".join(f'<a href="#{anchor}">{heading}</a>' for heading, anchor in anchors.items())
    jumps = f'<nav class="rs-jumps" aria-label="Families">{links}</nav>'
    with gr.Column(elem_id="rs-catalogue"):
        gr.HTML(f'<p class="rs-sentence">{_INTRO}</p>{jumps}', apply_default_css=False)
        host = scripted("catalogue/catalogue.js", "rs-nothing", "The catalogue", _GIVEN, elem_classes=["rs-nothing"])
        opened = gr.Textbox(visible=False, label="Opened")
        host.mounted(fn=None, outputs=[opened], js='() => ["yes"]')

        @gr.render(triggers=[opened.change], queue=False, show_progress="hidden")
        def draw() -> None:
            for heading, entries in sections.items():
                gr.HTML(f'<h2 id="{anchors[heading]}" tabindex="-1">{heading}</h2>', apply_default_css=False)
                for entry in entries:
                    gr.Markdown(entry, latex_delimiters=_LATEX, elem_classes=["rs-entry"])


def _sections() -> Iterator[tuple[str, list[str]]]:
    """Yield headings with their entries as Markdown."""
    for family, losses in FAMILIES.items():
        yield family, [loss_text(loss) for loss in losses]
    for kind in KINDS.values():
        for listed, place in kind.lists.items():
            entries = Rule(help="", registry=place).entries().values()
            yield f"{listed.capitalize()} of {kind.title.lower()}", [entry_text(entry) for entry in entries]
    yield "Metrics", [metric_text(metric) for metric in METRICS.values()]
    yield "Frozen features", [metric_text(metric) for metric in REPRESENTATION_METRICS.values()]
    yield "Maps", [metric_text(metric) for metric in MAP_METRICS.values()]
    between = [metric_text(metric) for metric in IMAGE_TEXT_METRICS.values()]
    yield "Images and captions", between + [model_text(model) for model in MODELS.values()]


def loss_text(loss: LossDescriptor) -> str:
    """Write one loss as Markdown."""
    names = [loss.name, *(name for name, other in LOSSES.items() if other.alias_of == loss.name)]
    facts = [", ".join(f"`{name}`" for name in names), *_needs(loss)]
    paper = f"[{loss.paper} {loss.year}]({loss.url})"
    notes = f"<details><summary>Notes</summary>\n\n{loss.differs}\n\n</details>" if loss.differs else ""
    needs = (" · ".join(facts), loss.slow, notes)
    return _entry(loss.title, loss.sentence, _equation(loss), paper, *needs, _panel(loss.parameters))


def entry_text(entry: Any) -> str:
    """Write one entry of a registry that a kind of run lists, as Markdown."""
    facts = f"`{entry.name}` · {entry.family.lower()}"
    return _entry(entry.title, entry.sentence, f"[{entry.paper}]({entry.url})", facts, _panel(entry.parameters))


def metric_text(metric: Measure) -> str:
    """Write one metric as Markdown."""
    paper = f"[{metric.paper}]({metric.url})"
    return _entry(metric.title, metric.sentence, _equation(metric), paper, f"`{metric.name}`")


def model_text(model: ModelDescriptor) -> str:
    """Write one image-text model as Markdown."""
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
    """List what a loss uses beside embeddings and labels of one batch."""
    memory = f"keeps a cross-batch memory of {loss.memory}" if loss.memory else "can use a cross-batch memory"
    facts = (
        (loss.hierarchy, "uses the label tree"),
        (loss.proxies, "learns class proxies"),
        (loss.views > 1, f"sees {loss.views} views of each image"),
        (loss.gallery, memory),
    )
    return [words for holds, words in facts if holds]


def _panel(parameters: type) -> str:
    """Write the parameters behind a line that counts them; empty if there are none."""
    fields = specs(parameters)
    count = "1 parameter" if len(fields) == 1 else f"{len(fields)} parameters"
    listed = "\n".join(_parameter_text(spec) for spec in fields)
    return f"<details><summary>{count}</summary>\n\n{listed}\n\n</details>" if fields else ""


def _parameter_text(spec: Spec) -> str:
    accepted = describe(spec) + (" or nothing" if spec.optional else "")
    return f"- `{spec.name}` = {shown(spec.default)}: {accepted}. {spec.rule.help}"


DESCRIPTOR = Tab(
    name="catalogue",
    title="Catalogue",
    order=90,
    build=build,
    aside="Nothing is started here. The settings of a comparison stand in this place while Live or Runs is open.",
)
