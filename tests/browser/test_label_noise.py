"""Maps of training images: rings around those with a wrong label, what these are, and colours of the given classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Site
from tests.browser.pages import rest, until, visit
from tests.synthetic import make_run
from trainers.runs import RunFolder
from trainers.runs.records import Attribute


@pytest.fixture
def noisy(site: Site) -> Iterator[RunFolder]:
    """A run in which every fifth of 60 images was given the class after its own."""
    folder = make_run(site.root, points=60, frames=2, arms=1, seed=8)
    probe = folder.probe()
    assert probe is not None
    names, true = probe.hierarchy.names[0], probe.labels[:, 0]
    changed = np.arange(60) % 5 == 0
    noise = Attribute(name="label noise", names=("kept", "changed"), values=changed.astype(np.int32), ringed=1)
    given = np.where(changed, (true + 1) % len(names), true)
    attributes = (noise, Attribute(name="given product", names=names, values=given, level=0))
    folder.write_probe(dataclasses.replace(probe, attributes=attributes, part="train", sheets=0), ())
    yield folder
    folder.delete()


def test_wrong_labels_are_ringed_named_and_coloured(browser: Browser, site: Site, noisy: RunFolder) -> None:
    with visit(browser, site, site.at(noisy), motion="reduce") as page:
        rest(page)
        legend = page.locator(".rs-legend")
        expect(legend.locator(".rs-ringed")).to_have_text("ringed: label noise changed, 12 of 60 images")
        names = noisy.probe().hierarchy.names[0]
        rings = "marks(0, (i) => [i, 0], 8).filter((one) => one.size === 11).map(({ x }) => x)"
        ring = page.evaluate(f"window.rankscope.live.images.{rings}")
        assert ring == list(range(0, 60, 5))
        page.mouse.move(*page.evaluate("window.debug.place(0, 10)"))
        until(page, "s.hovered !== null")
        page.evaluate("window.rankscope.live.float(0, 10)")
        card = page.locator(".rs-hover")
        expect(card).to_contain_text("label noise: changed · given product: ")
        expect(card.locator("strong")).to_have_text(names[10])
        expect(card).to_contain_text(names[11])
        page.get_by_role("button", name="given product").click()
        assert page.evaluate("window.rankscope.live.legend.classes.names") == list(names)
        legend.get_by_role("button").filter(has_text=names[11]).first.click()
        images = "window.rankscope.live.images"
        shown = page.evaluate(f"[...Array(60).keys()].filter((i) => {images}.highlighted(i))")
        assert 10 in shown and 11 in shown
        kept = page.evaluate(f"{images}.ringed.filter((i) => {images}.highlighted(i))")
        assert kept == [i for i in shown if i % 5 == 0]
