"""A test of queries and a gallery on the page: what numbers are about, and results that are of the gallery."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Site
from tests.browser.pages import rest, visit
from tests.synthetic import make_run
from trainers.data.base import GALLERY, QUERY, ROLE
from trainers.runs import RunFolder
from trainers.runs.records import Attribute, Scalar


@pytest.fixture
def divided(site: Site) -> Iterator[RunFolder]:
    """A run in which every third of 60 images is a query."""
    folder = make_run(site.root, points=60, frames=2, arms=1, seed=9)
    probe = folder.probe()
    assert probe is not None
    role = Attribute(name=ROLE, names=(QUERY, GALLERY), values=(np.arange(60) % 3 > 0).astype(np.int32))
    folder.write_probe(dataclasses.replace(probe, attributes=(role,), sheets=0), ())
    numbers = {"probe_role_queries": 20, "probe_role_gallery": 40, "train_images": 30}
    numbers |= {"test/images": 90, "test/role_queries": 30, "test/role_gallery": 60}
    last = folder.snapshots()[-1][1]
    at = [(key, value, last if key.startswith("test/") else 0) for key, value in numbers.items()]
    folder.db.add_metrics([Scalar(arm=0, step=step, seconds=0.0, key=key, value=value) for key, value, step in at])
    yield folder
    folder.delete()


def test_numbers_and_results_are_of_queries_and_the_gallery(browser: Browser, site: Site, divided: RunFolder) -> None:
    with visit(browser, site, site.at(divided), motion="reduce") as page:
        rest(page)
        whole = page.locator(".rs-card .rs-whole").filter(has_text="queries")
        expect(whole).to_contain_text("whole test set, 30 queries searched for among 60 images of the gallery: R@1 ")
        for point in (0, 1):  # a query, and an image of the gallery
            page.evaluate(f"window.rankscope.live.images.choose({point})")
            page.wait_for_function(f"window.rankscope.live.neighbours.shown === {point}")
            found = page.evaluate("window.rankscope.live.neighbours.lists[0].ids")
            assert len(found) == 10 and all(one % 3 and one != point for one in found)
        page.get_by_role("slider", name="Frame").locator("visible=true").press("Home")
        said = "on 20 queries, searched for among 40 images of the gallery; train R@1 on 30 training images"
        expect(whole).to_have_text(said)
