"""Names of any length and script stay in their place and are text; once other images are opened, none is left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import PHONE, lasso, open_tab, place, rest, show, state, until, visit
from tests.browser.sidebar import FORM, fill, images
from tests.synthetic import add_maps, make_run
from tests.tiny import tiny_config, trained, write_images
from trainers.config import DataChoice
from trainers.runs import RunFolder

LONG = "Extraordinarily" * 333 + "long."  # 5,000 letters without a space
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>' + "b" * 300
NAMES = (
    LONG,
    "כלב" * 100,
    "قطة سوداء",
    "e" + "\u0301\u0316" * 2000,
    "\u202egnorw \u2069 turned",
    "two\nlines\tand more",
    HOSTILE,
    "word " * 200,
)
GROUPS = ("A" * 5000, "مجموعة " * 60)


def write_named(root: Path) -> Path:
    """Parquet with two class labels, ``fine`` in ``coarse``: eight plain classes to train on, :data:`NAMES` to test."""
    pictures = write_images(root / "pictures", train=8, test=len(NAMES), each=10)
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "fine": datasets.ClassLabel(names=[*(f"plain {n}" for n in range(8)), *NAMES]),
            "coarse": datasets.ClassLabel(names=list(GROUPS)),
        }
    )
    (root / "set" / "data").mkdir(parents=True)
    for split, first in (("train", 0), ("test", 8)):
        folders = enumerate(sorted((pictures / split).iterdir()), first)
        rows = [(path.read_bytes(), label) for label, folder in folders for path in sorted(folder.iterdir())]
        table = {
            "image": [{"bytes": content, "path": None} for content, _ in rows],
            "fine": [label for _, label in rows],
            "coarse": [label % 2 for _, label in rows],
        }
        made = datasets.Dataset.from_dict(table, features=features)
        made.to_parquet(str(root / "set" / "data" / f"{split}-00000-of-00001.parquet"))
    return root / "set"


def drawn(root: Path, folder: Path, **changes: object) -> RunFolder:
    """A run of a few steps on a folder, really trained, with maps by a plain projection."""
    return add_maps(trained(root, tiny_config(folder, **{"steps": 2, **changes})))


@pytest.fixture(scope="module")
def named(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    root = tmp_path_factory.mktemp("named")
    data = DataChoice(source=str(write_named(root)), label_columns=("fine", "coarse"), image_size=24)
    run = drawn(site.root, root, data=data, probe_size=80)
    probe = run.probe()
    assert probe is not None and set(probe.hierarchy.names[0]) >= {LONG}, "the whole name came through"
    yield run
    run.db.close()


_OUTSIDE = """() => {
  const wide = document.documentElement.scrollWidth;
  const out = [...document.querySelectorAll("#live-view *, #rs-runs-list *")].filter((node) => {
    const scrolled = node.closest(".rs-unseen, .rs-strip, .rs-tablebox, .rs-classes, .rs-menu, .rs-sprites");
    if (scrolled || !node.checkVisibility()) return false;
    const box = node.getBoundingClientRect();
    return box.width > 0 && box.right > innerWidth + 1;
  });
  return [...(wide > innerWidth ? [`page ${wide}`] : []), ...out.map((node) => node.className || node.tagName)];
}"""
_TALL = """(within) => [...document.querySelectorAll(within)].filter((node) => node.checkVisibility())
  .map((node) => node.getBoundingClientRect().height)"""
_WIDTHS = "all => all.map((one) => one.getBoundingClientRect().width)"
_LEVEL = """(parts) => {
  document.querySelector(".rs-card h3").textContent = "Smooth-AP (tau 0.01) ".repeat(9);
  document.querySelectorAll(".rs-whole")[2].textContent = "gradient clipped in 3 % of steps ".repeat(6);
  document.querySelector(".rs-curve figcaption span").textContent = "A long name of a curve ".repeat(4);
  const sides = ({ top, bottom, left }) => [top, bottom, left];
  const pair = (part) => [...document.querySelectorAll(part)].slice(0, 2);
  return parts.map((part) => pair(part).map((node) => sides(node.getBoundingClientRect())));
}"""
"""Edges of each pair of parts where one card says more, measured before the page writes its own words again."""
PARTS = [".rs-card", ".rs-plot", ".rs-card > footer"]
PARTS += [f".rs-panels:first-child {part}" for part in (".rs-curve", ".rs-plotbox")]


def test_long_names_stay_in_their_place_on_a_phone(browser: Browser, site: Site, named: RunFolder) -> None:
    with visit(browser, site, site.at(named), size=PHONE, scheme="dark") as page:
        rest(page)
        entries = page.locator(".rs-classes button")
        expect(entries).to_have_count(len(NAMES))
        assert page.evaluate(_OUTSIDE) == []
        assert max(page.evaluate(_TALL, ".rs-classes button")) <= 46
        assert max(entries.evaluate_all(_WIDTHS)) <= PHONE[0] * 0.6 + 1
        _look_at_every_class(page)
        for summary in page.locator(".rs-curves summary").filter(visible=True).all():
            summary.click()
        assert page.evaluate(_OUTSIDE) == []
        page.locator(".rs-segments button").nth(1).click()
        expect(entries).to_have_count(len(GROUPS))
        assert max(page.evaluate(_TALL, ".rs-segments button")) <= 46
        assert page.evaluate(_OUTSIDE) == []
        for first, second in page.evaluate(_LEVEL, PARTS):
            assert first[2] == second[2] and second[0] >= first[1] - 1, "they stack"
        open_tab(page, "Runs")
        expect(page.locator(".rs-runcard").first).to_be_visible()
        assert page.evaluate(_OUTSIDE) == []
        assert page.evaluate("window.hacked") is None


def _look_at_every_class(page: Page) -> None:
    """The query, its tiles and the card under the cursor, for an image of each class."""
    about = "async () => (await fetch(`gradio_api/rankscope/run/${rankscope.current()}`)).json()"
    labels = page.evaluate(about)["labels"][0]
    assert len(set(labels)) == len(NAMES)
    for label in sorted(set(labels)):
        page.mouse.move(2, 2)
        x, y = place(page, 0, labels.index(label))
        page.locator(".rs-plot").first.scroll_into_view_if_needed()
        x, y = place(page, 0, labels.index(label))
        page.mouse.move(x, y)
        expect(page.locator(".rs-hover")).to_be_visible()
        assert page.locator(".rs-hover").bounding_box()["height"] < 220
        page.mouse.click(x, y)
        rest(page)
        assert page.evaluate(_OUTSIDE) == []
        assert max(page.evaluate(_TALL, ".rs-about h3, .rs-about .rs-path")) <= 70
        assert max(page.evaluate(_TALL, ".rs-severity")) <= 40


def test_the_full_name_is_a_bounded_tooltip_and_cards_end_level(browser: Browser, site: Site, named: RunFolder) -> None:
    with visit(browser, site, site.at(named)) as page:
        rest(page)
        assert page.evaluate(_OUTSIDE) == []
        longest = "(all, name) => Math.max(...all.map((one) => one.getAttribute(name).length))"
        for name, most in (("title", 1000), ("aria-label", 400)):
            assert page.locator(f"#live-view [{name}]").evaluate_all(longest, name) <= most
        assert max(len(text) for text in page.locator("#live-view :is(span, h3, p, h2)").all_inner_texts()) < 1000
        assert max(page.locator(".rs-classes button").evaluate_all(_WIDTHS)) <= 240 + 1
        titles = page.locator(".rs-classes button").evaluate_all("all => all.map((one) => one.title)")
        assert any(LONG[:300] in title for title in titles), "more than the line shows"
        everything = page.locator("#live-view").inner_text() + "".join(titles)
        assert "\u202e" not in everything, "what turns the text around it is left out"
        assert "\u2068כלב" in everything, "a name from right to left is set apart"
        expect(page.locator(".rs-classes button", has_text="<img src=x")).to_have_count(1)
        assert page.evaluate("() => document.querySelectorAll('#live-view img, #live-view script').length") == 0
        for first, second in page.evaluate(_LEVEL, PARTS):
            assert first[:2] == pytest.approx(second[:2], abs=0.6)


# ---------------------------------------------------------------------- other images, another run


FIRST = re.compile(r"made-up|product|aisle|\bkind\b(?! of run)|first_set", re.IGNORECASE)
"""Words that only the first dataset brings: its name, its levels, its classes."""
_SAID = """() => ["#live-view", "#rs-sidebar"].flatMap((part) => [document.querySelector(part)].flatMap((root) =>
  [...[root.cloneNode(true)].map((copy) => {
    copy.querySelectorAll("option").forEach((option) => option.remove());  // a list of all runs names other ones
    return copy.textContent;
  }), ...[...root.querySelectorAll("*")].flatMap((node) =>
    [...["title", "aria-label", "placeholder"].map((name) => node.getAttribute(name)), node.value])]))
  .filter((text) => typeof text === "string" && text)"""


def of_the_first(page: Page) -> list[str]:
    """What is said about the first dataset, in sight or not."""
    # the menu's own text names every family of losses, and the list of images every dataset
    return [text[:200] for text in page.evaluate(_SAID) if FIRST.search(text)]


def talk_about_it(page: Page) -> None:
    """Let every part of the page say something about the first dataset."""
    page.locator(".rs-classes button").first.click()
    page.locator(".rs-classes button").first.click()
    page.locator(".rs-more").click()
    page.locator(".rs-search").fill("product 1")
    for summary in page.locator(".rs-curves summary").filter(visible=True).all():
        summary.click()
    page.evaluate("() => scrollTo(0, 0)")
    lasso(page)
    until(page, "s.lassoed > 0")
    page.locator(".rs-plot").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.mouse.move(*place(page, 0, 5))
    expect(page.locator(".rs-hover")).to_be_visible()
    for name in ("Runs", "Catalogue", "Live"):
        page.get_by_role("tab", name=name).first.click()
    assert len(of_the_first(page)) > 20


def test_another_run_leaves_no_line_of_the_one_before(browser: Browser, site: Site, tmp_path: Path) -> None:
    colours = drawn(site.root, write_images(tmp_path / "discs", each=6))
    queued = make_run(site.root, phase="queued", seed=9)
    with visit(browser, site, site.at(site.finished)) as page:
        rest(page)
        talk_about_it(page)
        for following in (queued, colours):
            page.get_by_role("tab", name="Runs").first.click()
            show(page, following, "true")
            page.get_by_role("tab", name="Live").first.click()
            if following is colours:
                until(page, "s.k !== null")
                rest(page)
                expect(page.locator(".rs-classes")).to_contain_text("colour")
            else:
                expect(page.locator(".rs-vacant, .rs-waiting").first).to_contain_text("Waiting for the first frame")
            assert state(page)["lassoed"] == 0
            page.wait_for_timeout(300)  # what was on its way has come
            assert of_the_first(page) == [], "what the page still says"
    for each in (queued, colours):
        each.db.close()


def test_what_was_said_at_a_start_goes_with_its_run_and_its_images(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    first = write_images(tmp_path / "first_set", train=2, test=2, each=2)
    second = write_images(tmp_path / "second_set", train=2, test=2, each=2)
    with visit(browser, site, site.at(site.finished)) as page:
        alert, report = page.locator(".rs-go [role=alert]"), page.locator(".rs-report")
        press = page.locator(FORM).get_by_role("button", name="Train", exact=True).click
        images(page, str(first))
        expect(report).to_contain_text("first_set")
        fill(page, "Budget in minutes", "-3")
        press()
        expect(alert.first).to_contain_text("minutes needs")
        images(page, str(second))
        expect(alert.first).to_be_hidden()
        expect(report).to_contain_text("second_set")
        assert "first_set" not in page.locator("#rs-sidebar").inner_html()
        press()
        expect(alert.first).to_contain_text("minutes needs")
        page.evaluate("(id) => window.rankscope.open(id)", make_run(site.root, points=60, frames=2, seed=3).id)
        expect(alert.first).to_be_hidden()
        images(page, str(tmp_path / "nothing_here"))
        expect(report.get_by_role("alert")).to_be_visible()
        assert "second_set" not in page.locator("#rs-sidebar").inner_html()
