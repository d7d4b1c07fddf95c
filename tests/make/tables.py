"""``python -m tests.make.tables``: write the tables of the documentation that are made from the registries.

A table stands between ``<!-- NAME -->`` and ``<!-- /NAME -->`` of any page of ``docs``; the names are those of
:data:`trainers.cli.readme_tables.TABLES`. Tables of measurements are written by the commands that measure.
"""

from __future__ import annotations

from pathlib import Path

from tests.markers import PAGES, between, placed
from trainers.cli.readme_tables import TABLES


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
