"""``python -m tests.make.tables``: write the tables of the documentation that are made from the registries.

A table stands between ``<!-- NAME -->`` and ``<!-- /NAME -->`` of any page of ``docs``; the names are those of
:data:`TABLES`. Tables of measurements are written by the commands that measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.markers import PAGES, between, placed
from trainers.encoders.published import PUBLISHED as MODELS_OF_TIMM
from trainers.image_text.models import MODELS
from trainers.kinds import KINDS
from trainers.losses import FAMILIES, LOSSES
from trainers.metrics import PUBLISHED
from trainers.parameters import Rule, specs
from trainers.registry import Descriptor
from trainers.retrieval.galleries import GALLERIES
from trainers.retrieval.indexes import INDEXES
from trainers.training.augmentations import AUGMENTATIONS


def losses_table() -> str:
    """Write one row per registered loss, family by family; an alias stands beside the loss it equals."""
    rows = []
    for family, losses in FAMILIES.items():
        for loss in losses:
            names = [loss.name, *(name for name, other in LOSSES.items() if other.alias_of == loss.name)]
            paper = f"[{loss.paper}]({loss.url})"
            rows.append(
                (
                    family,
                    ", ".join(f"`{name}`" for name in names),
                    loss.title,
                    paper,
                    loss.year,
                    loss.sentence,
                    loss.unlike,
                )
            )
    return _table(("family", "name", "title", "paper", "year", "what it does", "what sets it apart"), rows)


def metrics_table() -> str:
    """Write one row per metric; ``k`` stands for any number and ``l`` for a level of the label tree."""
    rows = [
        (f"`{metric.name}`", metric.title, f"[{metric.paper}]({metric.url})", metric.sentence)
        for metric in PUBLISHED.values()
    ]
    return _table(("name", "title", "paper", "what it says"), rows)


def models_table() -> str:
    """Write one row per registered image-text model."""
    rows = [
        (f"`{model.name}`", model.title, model.paper, "yes" if model.trainable else "no", model.sentence)
        for model in MODELS.values()
    ]
    return _table(("name", "title", "paper", "can be fine-tuned", "what it is"), rows)


def encoders_table() -> str:
    """Write one row per model of timm that is offered by name."""
    rows = [
        (
            model.family,
            f"`{model.name}`",
            model.title,
            f"{model.millions:g}",
            f"{model.gmacs:g}",
            model.side,
            model.licence,
        )
        for model in MODELS_OF_TIMM
    ]
    return _table(("family", "name", "model", "M weights", "GMACs", "side", "licence"), rows)


def augmentations_table() -> str:
    """Write one row per registered augmentation, with its parameters and their defaults."""
    rows = [
        (
            f"`{augmentation.name}`",
            augmentation.title,
            augmentation.paper,
            augmentation.sentence,
            _defaults(augmentation.parameters),
        )
        for augmentation in AUGMENTATIONS.values()
    ]
    return _table(("name", "title", "paper", "what it does", "parameters"), rows)


def entries_table(entries: Mapping[str, Any]) -> str:
    """Write one row per entry of a registry that a kind of run lists, with its parameters and their defaults."""
    rows = [
        (
            entry.family,
            f"`{entry.name}`",
            entry.title,
            f"[{entry.paper}]({entry.url})",
            entry.sentence,
            _defaults(entry.parameters),
        )
        for entry in entries.values()
    ]
    return _table(("family", "name", "title", "paper", "what it does", "parameters"), rows)


def plain_table(entries: Mapping[str, Descriptor]) -> str:
    """Write one row per entry of a registry without papers, with its parameters and their defaults."""
    rows = [(f"`{entry.name}`", entry.title, entry.sentence, _defaults(entry.parameters)) for entry in entries.values()]
    return _table(("name", "title", "what it is", "parameters"), rows)


def _defaults(parameters: type) -> str:
    return ", ".join(f"`{spec.name}={spec.default}`" for spec in specs(parameters))


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def claims_table() -> str:
    """Return the tables of the claims with the verdicts of the results that ship."""
    from trainers.claims.tables import markdown, results

    return markdown(results())


def recipes_table() -> str:
    """Return the table of the papers' training recipes."""
    from trainers.recipes.catalogue import RECIPES

    rows = []
    for recipe in RECIPES.values():
        figures = "; ".join(dict.fromkeys(figure.where for figure in recipe.figures)) or "none in our text"
        images = f"{recipe.dataset.title} (`{recipe.dataset.source}`)"
        rows.append((f"`{recipe.name}`", recipe.title, recipe.paper, images, figures))
    return _table(("recipe", "what it is", "paper", "images", "printed figures"), rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "claims": claims_table,
    "recipes": recipes_table,
    "losses": losses_table,
    "metrics": metrics_table,
    "models": models_table,
    "published": encoders_table,
    "augmentations": augmentations_table,
    "galleries": lambda: plain_table(GALLERIES),
    "indexes": lambda: plain_table(INDEXES),
    **{
        verb: partial(entries_table, Rule(help="", registry=registry).entries())
        for kind in KINDS.values()
        for verb, registry in kind.lists.items()
    },
}
"""Every table of the documentation that is made from a registry, by the name of its markers."""


def stale() -> dict[Path, str]:
    """The pages whose tables are not what the registries say, each as it should be.

    Raises:
        ValueError: a table has no page.
    """
    pages = {path: path.read_text(encoding="utf-8") for path in PAGES}
    written = dict(pages)
    for name, table in TABLES.items():
        homes = [path for path, text in pages.items() if between(text, name) is not None]
        if not homes:
            raise ValueError(f"no page of docs/ has the markers <!-- {name} --> and <!-- /{name} -->")
        for path in homes:
            written[path] = placed(written[path], name, table())
    return {path: text for path, text in written.items() if text != pages[path]}


def main() -> None:
    """Write the stale pages and name them."""
    pages = stale()
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote docs/{path.name}")
    if not pages:
        print("every table is up to date")


if __name__ == "__main__":
    main()
