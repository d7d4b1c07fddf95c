"""What a map says of itself, stillness below the noise floor, the refined frame, and classes as points."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import place, rest, state, until, visit
from tests.synthetic import make_run
from trainers.metrics.catalogue import maps
from trainers.runs import RunFolder
from trainers.runs.records import REFINED, Frame, Snapshot

FLOOR = 0.2


def _run(site: Site) -> RunFolder:
    """Two frames and a refined one; between the first two, images 0..29 move by less than the floor, others by more."""
    folder = make_run(site.root, points=60, frames=2, arms=1)
    first = folder.frame(0)
    xy = first.arms[0].xy.astype(np.int64)
    size = np.sqrt(xy.var(axis=0).mean())
    step = np.where(np.arange(60) < 30, 0.5, 1.5) * FLOOR * size
    moved = np.stack([xy[:, 0] + step, xy[:, 1]], axis=1)
    for k, places, floor in (
        (0, xy, None),
        (1, moved, FLOOR),
        (REFINED + 1, xy + np.array([0, round(0.05 * size)]), None),
    ):
        folder.add_frame(_frame(first, k, places, floor))
    return folder


def _frame(frame: Frame, k: int, xy: np.ndarray, floor: float | None) -> Frame:
    measures = {
        maps.at_level(maps.TRUSTWORTHINESS, 0): 0.93,
        maps.at_level(maps.CONTINUITY, 0): 0.55 + k % REFINED / 100,
    }
    more = {} if floor is None else {maps.NOISE_FLOOR: floor, maps.AGREEMENT: 0.31}
    arm = dataclasses.replace(frame.arms[0], xy=np.clip(xy, 0, 65535).astype(np.uint16), measures=measures | more)
    return dataclasses.replace(frame, k=k, arms=(arm,))


def _at(page: Page, point: int) -> list[float]:
    """Where a point is on the first map, in its own unit, which does not change when the map is fitted anew."""
    at: list[float] = page.evaluate("(i) => window.rankscope.live.maps.scene.at(0, i, performance.now())", point)
    return at


def test_a_map_says_what_is_true_of_it_and_shows_classes(browser: Browser, site: Site) -> None:
    folder = _run(site)
    with visit(browser, site, site.at(folder, "&k=0"), motion="reduce") as page:
        until(page, "s.k === 0")
        truth = page.locator(".rs-truth")
        expect(truth).to_contain_text("0.93")
        page.locator(".rs-truthbadge").first.focus()
        expect(page.get_by_text("Classes look further apart than they are")).to_be_visible()
        before = [_at(page, i) for i in (3, 45)]
        page.get_by_role("button", name="One frame on").click()
        until(page, "s.k === 1")
        after = [_at(page, i) for i in (3, 45)]
        assert after[0] == before[0] and after[1][0] > before[1][0]
        expect(truth).to_contain_text("0.31")
        # a jump shows the frame as it is stored
        page.get_by_role("slider", name="Frame").press("End")
        until(page, "s.k === a", REFINED + 1)
        expect(page.locator(".rs-steptext")).to_contain_text("refined")
        expect(truth).to_contain_text("(±0.00)")
        page.get_by_role("button", name="One frame back").click()
        until(page, "s.k === 1")
        assert _at(page, 3)[0] > before[0][0]
        rest(page)
        # classes: each at the mean of its images
        members = [i for i, label in enumerate(folder.probe().labels[:, state(page)["level"]]) if label == 0]
        mean = np.mean([place(page, 0, i) for i in members], axis=0)
        page.get_by_role("button", name="Classes").click()
        assert np.allclose(place(page, 0, 0), mean, atol=0.01)
        page.mouse.move(*place(page, 0, 0))
        expect(page.locator(".rs-hover")).to_contain_text(f"{len(members)} images")
        assert page.locator(".rs-classlabel:not([hidden])").count() > 3
        page.mouse.click(*place(page, 0, 0))
        until(page, "s.lassoed === a", len(members))
        expect(page.get_by_role("heading", name=f"{len(members)} images of")).to_be_visible()
        page.locator(".rs-plot").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        until(page, "s.lassoed > 0")
        page.get_by_role("button", name="Images", exact=True).click()
        page.get_by_role("button", name="Class names").click()
        expect(page.locator(".rs-classlabel:not([hidden])")).to_have_count(0)


@pytest.mark.parametrize(
    ("points", "kept", "equal", "badge"),
    [
        (12, 1.0, False, "too few images"),
        (16, 1.0, True, "too few images"),
        (20, 0.8, False, "read with care"),  # any map of 20 images keeps 0.79
        (20, 1.0, True, "read with care"),
        (20, 1.0, False, "faithful"),
        (60, 1.0, True, "read with care"),
        (60, 0.6, False, "faithful"),
    ],
)
def test_a_map_of_which_nothing_can_be_said_is_not_called_faithful(
    points: int, kept: float, equal: bool, badge: str, browser: Browser, site: Site
) -> None:
    folder = make_run(site.root, points=points, frames=1, arms=1)
    frame = folder.frame(0)
    arm = dataclasses.replace(frame.arms[0], method="umap", quality=kept)
    folder.add_frame(dataclasses.replace(frame, arms=(arm,)))
    (rows,) = folder.embeddings(0)
    if equal:
        folder.add_snapshot(Snapshot(k=0, step=0, seconds=0.0, embeddings=(np.ones_like(rows),)))
    with visit(browser, site, site.at(folder, "&k=0"), motion="reduce") as page:
        until(page, "s.k === 0")
        expect(page.locator(".rs-truthbadge")).to_have_text(badge)
        told = page.locator(".rs-diagnosis")
        says = expect(told).to_contain_text if equal else expect(told).not_to_contain_text
        says("The embeddings have collapsed")
