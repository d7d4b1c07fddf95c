"""Scripts of the page by themselves: pairs of arms, limits of an axis, badges of maps, thumbnails, trees of classes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from explorer.server.routes import PREFIX
from tests.browser.conftest import Site
from tests.browser.pages import visit
from trainers.retrieval.baseline import paired, subtracted


@pytest.fixture(scope="module")
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with visit(browser, site, site.at(site.finished)) as opened:
        yield opened


def run(page: Page, script: str, *arguments: object) -> object:
    """What a function of the arguments returns, that can import ``of(path)``."""
    of = f"const of = (path) => import(`${{location.origin}}{PREFIX}/assets/${{path}}`);"
    return page.evaluate(f"async (given) => {{ {of} return await ({script})(...given); }}", list(arguments))


PAIRS = """async (titles, others, own, base) => {
  const { paired } = await of("common/baseline.js"), { Series } = await of("common/series.js");
  const series = new Series();
  series.add(base.map(([step, value]) => [0, step, "a number", value]), {});
  return [paired(titles, others), own.map(([step]) => series.between("a number", 0, step))];
}"""


def test_the_page_pairs_and_interpolates_as_the_package_does(page: Page) -> None:
    titles, others = ["a", "b", "c", "d"], ["c", "a", "e"]
    own = [(0, 1.0), (5, 2.0), (20, 3.0), (40, 4.0)]
    base = [(5, 0.5), (10, 1.0), (30, 2.0)]
    pairs, found = run(page, PAIRS, titles, others, own, base)
    assert tuple(pairs) == paired(titles, others) == (1, 1, 0, 0)
    assert found[0] is None and found[3] == [30, 2.0]  # before its first step nothing, after its last one that
    inside = [value - other for (_, value), (_, other) in zip(own[1:3], found[1:3], strict=True)]
    assert inside == pytest.approx([less for _, less in subtracted(own, base)])


LIMITS: list[tuple[list[float], list[float]]] = [
    ([0.024, 0.024], [0, 0.048]),
    ([0, 0], [0, 1]),
    ([-2], [-4, 0]),
    ([0.4, 0.5], [0.4, 0.5]),
    ([0.1, 0.5], [0, 0.5]),
    ([], [0, 1]),
]
DOMAIN = """async (rows) => {
  const { domain } = await of("common/panel.js");
  return rows.map((values) => domain(values, "number"));
}"""


def test_limits_of_an_axis_of_values_that_do_not_change_keep_their_sign(page: Page) -> None:
    assert run(page, DOMAIN, [values for values, _ in LIMITS]) == [limits for _, limits in LIMITS]


TRUTH = """async (rows) => {
  const { Truth } = await of("live/truth.js");
  return rows.map(([quality, chance, equal]) => {
    const truth = new Truth();
    truth.show({ quality, chance, equal, method: "umap" }, null);
    return truth.badge.textContent;
  });
}"""
BADGES = [
    (1.0, 1.0, False, "too few images"),
    (1.0, 1.0, True, "too few images"),
    (0.8, 0.79, False, "read with care"),  # any map of 20 images keeps 0.79
    (1.0, 0.79, True, "read with care"),
    (1.0, 0.79, False, "faithful"),
    (1.0, 0.25, True, "read with care"),
    (0.6, 0.25, False, "faithful"),
]
"""Share of neighbours that the map keeps, that any map keeps, whether all have one embedding; what the badge says."""


def test_a_map_of_which_nothing_can_be_said_is_not_called_faithful(page: Page) -> None:
    assert run(page, TRUTH, [row[:3] for row in BADGES]) == [badge for *_, badge in BADGES]


THUMBNAILS = """async (prefix, ids) => {
  const { thumbnail } = await of("common/thumbnails.js");
  const about = await (await fetch(`${prefix}/run/${window.rankscope.current()}`)).json();
  const cut = (i) => thumbnail(document.createElement("span"), about, i).style;
  const shown = ids.map((i) => [cut(i).backgroundImage, parseFloat(cut(i).backgroundPosition.split(" ")[1])]);
  return [about.points, about.columns, shown];
}"""


def test_thumbnails_of_the_last_sheet_are_cut_at_its_own_rows(page: Page) -> None:
    points, columns, shown = run(page, THUMBNAILS, PREFIX, [0, 12, 599])
    assert (points, columns) == (600, 12)  # four sheets of 144 and one of 24: two rows
    (_, first), (_, second), (url, last) = shown
    assert first == 0 and second == pytest.approx(100 / 11, abs=0.01)
    assert "/sheet/4.webp" in url and last == 100


TREE = r"""async (rows) => {
  const tree = await of("page/class_tree.js");
  const { read } = await of("page/class_csv.js"), { csv } = await of("common/files.js");
  const classes = ["=a", "b,c", "d", "e"].map((name) => ({ name, images: 2 }));
  const begun = tree.treeOf(rows[0], rows.slice(1), [2, 2, 2, 2]);
  const [x, y] = begun.layers[0].groups.map(({ id }) => id);
  const refused = (change) => { try { change(); return ""; } catch (error) { return error.message; } };
  const back = (text) => tree.rowsOf(read(text, classes).tree);
  return {
    emptied: tree.rowsOf(tree.moved(begun, 0, [2, 3], x)),
    gone: tree.rowsOf(tree.dropped(begun, 0, [y])),
    fresh: tree.rowsOf(tree.movedToNew(begun, 0, [0], "new")),
    apart: tree.rowsOf(tree.split(begun, 0, x, [0, 1], [0, 1])),
    round: back(csv([[...rows[0], "reviewed"], ...tree.rowsOf(begun).slice(1).map((row) => [...row, "yes"])])),
    quoted: back("class,kind\n'=a,x\n\"b,c\",x\nd,y\ne,y\n"),
    semicolons: back("=a;x\nb,c;x\nd;y\ne;\n"),
    untouched: tree.rowsOf(begun),
    taken: refused(() => tree.renamed(begun, 0, x, "y")),
    blank: refused(() => tree.renamed(begun, 0, x, " ")),
    alone: refused(() => tree.merged(begun, 0, [x])),
    parents: refused(() => read("=a,x,t\n\"b,c\",x,u\nd,y,t\ne,y,t\n", classes)),
  };
}"""
"""Steps of the editor of superclasses, without its window."""
BEGUN = [["class", "kind", "top"], ["=a", "x", "t"], ["b,c", "x", "t"], ["d", "y", "t"], ["e", "y", "t"]]
GONE = ["(dropped)", "(dropped)"]


def test_steps_make_new_trees_and_their_tables_come_back(page: Page) -> None:
    assert run(page, TREE, BEGUN) == {
        "emptied": [BEGUN[0], *([name, "x", "t"] for name in ("=a", "b,c", "d", "e"))],
        "gone": [*BEGUN[:3], ["d", *GONE], ["e", *GONE]],
        "fresh": [BEGUN[0], ["=a", "new", "t"], *BEGUN[2:]],
        "apart": [BEGUN[0], ["=a", "=a", "t"], ["b,c", "b,c", "t"], *BEGUN[3:]],
        "round": BEGUN,
        "quoted": [row[:2] for row in BEGUN],
        "semicolons": [["class", "superclass"], *(row[:2] for row in BEGUN[1:4]), ["e", "unsorted"]],
        "untouched": BEGUN,
        "taken": "There is a group “y” already. Merge the two, or use another name.",
        "blank": "A group needs a name.",
        "alone": "Two or more groups are needed to merge them.",
        "parents": "“x” has two groups above it, “t” and “u”. It needs one.",
    }
