"""What the Catalogue shows of every loss, metric, model and method, from their descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainers.cli.flags import shown
from trainers.image_text.models import MODELS, ModelDescriptor
from trainers.kinds import KINDS
from trainers.losses import FAMILIES, LOSSES, LossDescriptor
from trainers.metrics import IMAGE_TEXT_METRICS, MAP_METRICS, METRICS, REPRESENTATION_METRICS, Measure
from trainers.parameters import Rule, Spec, describe, specs

Entry = dict[str, str]
"""``title`` and ``sentence``; ``text``, shown once it is opened, in Markdown; of a loss also ``loss``, its name."""


def sections() -> Iterator[tuple[str, list[Entry]]]:
    """Yield families with their entries."""
    for family, losses in FAMILIES.items():
        yield family, [_loss(loss) for loss in losses]
    for kind in KINDS.values():
        for listed, path in kind.lists.items():
            entries = Rule(help="", registry=path).entries().values()
            yield f"{listed.capitalize()} of {kind.title.lower()}", [_listed(entry) for entry in entries]
    yield "Metrics", [_metric(metric) for metric in METRICS.values()]
    yield "Frozen features", [_metric(metric) for metric in REPRESENTATION_METRICS.values()]
    yield "Maps", [_metric(metric) for metric in MAP_METRICS.values()]
    between = [_metric(metric) for metric in IMAGE_TEXT_METRICS.values()]
    yield "Images and captions", between + [_model(model) for model in MODELS.values()]


def _loss(loss: LossDescriptor) -> Entry:
    names = [loss.name, *(name for name, other in LOSSES.items() if other.alias_of == loss.name)]
    facts = [", ".join(f"`{name}`" for name in names), *_needs(loss)]
    paper = f"[{loss.paper} {loss.year}]({loss.url})"
    notes = f"<details><summary>Notes</summary>\n\n{loss.differs}\n\n</details>" if loss.differs else ""
    fields = (loss.unlike, *_formula(loss), paper, " · ".join(facts), loss.slow, notes, _panel(loss.parameters))
    return _entry(loss, *fields) | {"loss": loss.name}


def _listed(entry: Any) -> Entry:
    """Describe an entry of a registry that a kind of run lists."""
    facts = f"`{entry.name}` · {entry.family.lower()}"
    return _entry(entry, f"[{entry.paper}]({entry.url})", facts, _panel(entry.parameters))


def _metric(metric: Measure) -> Entry:
    return _entry(metric, *_formula(metric), f"[{metric.paper}]({metric.url})", f"`{metric.name}`")


def _model(model: ModelDescriptor) -> Entry:
    facts = [f"`{model.name}`", "can be fine-tuned" if model.trainable else "cannot be fine-tuned here"]
    if not model.trained:
        facts.append("starts from random weights")
    elif not model.natural_images:
        facts.append("knows the drawn scenes only")
    return _entry(model, model.paper, " · ".join(facts))


def _entry(described: Any, *paragraphs: str) -> Entry:
    text = "\n\n".join(filter(None, paragraphs))
    return {"title": described.title, "sentence": described.sentence, "text": text}


def _formula(described: LossDescriptor | Measure) -> tuple[str, str]:
    """Write the formula, and the list of its symbols."""
    meanings = (f"- ${symbol}$ {meaning}" for symbol, meaning in described.symbols.items())
    return f"$$\n{described.equation}\n$$", "\n".join(meanings)


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
