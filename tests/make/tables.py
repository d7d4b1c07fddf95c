"""``python -m tests.make.tables``: write the tables of the documentation that are made from the registries.

A table stands between ``<!-- NAME -->`` and ``<!-- /NAME -->`` of any page of ``docs``; the names are those of
:data:`TABLES`. Tables of measurements are written by the commands that measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.markers import PAGES, between, placed
from trainers.kinds import KINDS
from trainers.losses import FAMILIES, LOSSES
from trainers.metrics import PUBLISHED
from trainers.parameters import Rule, specs
from trainers.retrieval.galleries import GALLERIES
from trainers.retrieval.indexes import INDEXES

Cells = Mapping[str, str | Callable[[Any], object]]
"""The columns of a table: what stands in them of an entry, or the name of its attribute."""


def _name(entry: Any) -> str:
    return f"`{entry.name}`"


def _loss_names(loss: Any) -> str:
    """An alias stands beside the loss it equals."""
    return ", ".join([_name(loss), *(f"`{name}`" for name, other in LOSSES.items() if other.alias_of == loss.name)])


def _paper(entry: Any) -> str:
    return f"[{entry.paper}]({entry.url})"


def _parameters(entry: Any) -> str:
    """With their defaults."""
    return ", ".join(f"`{spec.name}={spec.default}`" for spec in specs(entry.parameters))


def _table(entries: Iterable[Any], cells: Cells) -> str:
    """Write one row per entry."""
    lines: list[Iterable[object]] = [cells, ["---"] * len(cells)]
    lines += [[getattr(one, of) if isinstance(of, str) else of(one) for of in cells.values()] for one in entries]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


_METRICS: Cells = {"name": _name, "title": "title", "paper": _paper, "what it says": "sentence"}
_PLAIN: Cells = {"name": _name, "title": "title", "what it is": "sentence", "parameters": _parameters}
_LOSSES: Cells = {
    "family": "family",
    "name": _loss_names,
    "title": "title",
    "paper": _paper,
    "year": "year",
    "what it does": "sentence",
    "what sets it apart": "unlike",
}
_LISTED: Cells = {
    "family": "family",
    "name": _name,
    "title": "title",
    "paper": _paper,
    "what it does": "sentence",
    "parameters": _parameters,
}


def claims_table() -> str:
    """Return the tables of the claims with the verdicts of the results that ship."""
    from trainers.claims.tables import markdown, results

    return markdown(results())


def recipes_table() -> str:
    """Return the table of the papers' training recipes."""
    from trainers.recipes.catalogue import RECIPES

    cells: Cells = {
        "recipe": _name,
        "what it is": "title",
        "paper": "paper",
        "images": lambda recipe: f"{recipe.dataset.title} (`{recipe.dataset.source}`)",
        "printed figures": lambda recipe: (
            "; ".join(dict.fromkeys(figure.where for figure in recipe.figures)) or "none in our text"
        ),
    }
    return _table(RECIPES.values(), cells)


TABLES: Mapping[str, Callable[[], str]] = {
    "claims": claims_table,
    "recipes": recipes_table,
    "losses": lambda: _table((loss for losses in FAMILIES.values() for loss in losses), _LOSSES),
    "metrics": lambda: _table(PUBLISHED.values(), _METRICS),
    "galleries": lambda: _table(GALLERIES.values(), _PLAIN),
    "indexes": lambda: _table(INDEXES.values(), _PLAIN),
    **{
        verb: partial(_table, Rule(help="", registry=registry).entries().values(), _LISTED)
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
