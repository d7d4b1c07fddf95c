"""What the Catalogue shows of every loss, metric, model and method, from their descriptors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from trainers.cli.flags import shown
from trainers.errors import UserError
from trainers.image_text.models import MODELS, ModelDescriptor
from trainers.kinds import KINDS
from trainers.losses import FAMILIES, LOSSES, LossDescriptor
from trainers.metrics import IMAGE_TEXT_METRICS, MAP_METRICS, METRICS, REPRESENTATION_METRICS, Measure
from trainers.parameters import Rule, Spec, describe, specs

_BOTH = "Images and captions"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is shown of a loss, metric, model or method.

    Attributes:
        name: in its registry.
        family: its heading.
        text: formula, symbols, paper and parameters, in Markdown.
        loss: it is a loss.
    """

    name: str
    title: str
    sentence: str
    family: str
    text: str
    loss: bool = False

    @property
    def markdown(self) -> str:
        """All of it."""
        return f"### {self.title}\n\n{self.sentence}\n\n{self.text}"

    def rank(self, words: str) -> int | None:
        """Return how well it answers a search, smaller is better: the title, its beginning, a part of it, the words
        anywhere; None where one of the words is missing.
        """
        title = self.title.lower()
        for rank, found in enumerate((title == words, title.startswith(words), words in title)):
            if found:
                return rank
        text = f"{self.family} {title} {self.name} {self.sentence} {self.text}".lower()
        return 3 if all(word in text for word in words.split()) else None


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries, family by family."""
    return tuple(
        Entry(
            name=one.name,
            title=one.title,
            sentence=one.sentence,
            family=family,
            text="\n\n".join(filter(None, paragraphs)),
            loss=isinstance(one, LossDescriptor),
        )
        for family, one, paragraphs in _described()
    )


def found(words: str = "", family: str = "") -> list[Entry]:
    """Return the entries of a family (empty: of all) that have every word, best first."""
    asked = " ".join(words.lower().split())
    ranks = {entry: entry.rank(asked) for entry in entries() if family in ("", entry.family)}
    known = {entry: rank for entry, rank in ranks.items() if rank is not None}
    return sorted(known, key=known.__getitem__)


def families() -> list[str]:
    """Return the headings, in order."""
    return list(dict.fromkeys(entry.family for entry in entries()))


def named(title: str, sentence: str) -> Entry:
    """Return the entry with a title and a sentence: some titles are those of two.

    Raises:
        UserError: there is none.
    """
    for entry in entries():
        if (entry.title, entry.sentence) == (title, sentence):
            return entry
    raise UserError(f"The catalogue has no entry {title[:80]!r}.")


def _described() -> Iterator[tuple[str, Any, Iterable[str]]]:
    """Yield the family of every entry, what it is made from, and its paragraphs."""
    for family, losses in FAMILIES.items():
        yield from ((family, loss, _loss(loss)) for loss in losses)
    for kind in KINDS.values():
        for listed, path in kind.lists.items():
            family = f"{listed.capitalize()} of {kind.title.lower()}"
            yield from ((family, one, _listed(one)) for one in Rule(help="", registry=path).entries().values())
    of_metrics = {
        "Metrics": METRICS,
        "Frozen features": REPRESENTATION_METRICS,
        "Maps": MAP_METRICS,
        _BOTH: IMAGE_TEXT_METRICS,
    }
    for family, metrics in of_metrics.items():
        yield from ((family, metric, _metric(metric)) for metric in metrics.values())
    yield from ((_BOTH, model, _model(model)) for model in MODELS.values())


def _loss(loss: LossDescriptor) -> tuple[str, ...]:
    names = [loss.name, *(name for name, other in LOSSES.items() if other.alias_of == loss.name)]
    facts = [", ".join(f"`{name}`" for name in names), *_needs(loss)]
    paper = f"[{loss.paper} {loss.year}]({loss.url})"
    notes = f"<details><summary>Notes</summary>\n\n{loss.differs}\n\n</details>" if loss.differs else ""
    return (loss.unlike, *_formula(loss), paper, " · ".join(facts), loss.slow, notes, _panel(loss.parameters))


def _listed(entry: Any) -> tuple[str, ...]:
    """Describe an entry of a registry that a kind of run lists."""
    return f"[{entry.paper}]({entry.url})", f"`{entry.name}` · {entry.family.lower()}", _panel(entry.parameters)


def _metric(metric: Measure) -> tuple[str, ...]:
    return (*_formula(metric), f"[{metric.paper}]({metric.url})", f"`{metric.name}`")


def _model(model: ModelDescriptor) -> tuple[str, ...]:
    facts = [f"`{model.name}`", "can be fine-tuned" if model.trainable else "cannot be fine-tuned here"]
    if not model.trained:
        facts.append("starts from random weights")
    elif not model.natural_images:
        facts.append("knows the drawn scenes only")
    return model.paper, " · ".join(facts)


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
