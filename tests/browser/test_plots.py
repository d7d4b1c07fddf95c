"""The section Plots: paths at the step of the scrubber, files, controlled mistakes, and the note on a single run."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import Site
from tests.browser.pages import downloaded, rest, seek, shrink, sound, visit
from tests.synthetic import STEPS_PER_FRAME, make_run
from tests.waiting import wait
from trainers.kinds.metric_learning.measures import MEASURES
from trainers.metrics.catalogue.training import BATCH_AP as BATCH
from trainers.metrics.catalogue.training import CONTEXTUAL_AP, CONTEXTUAL_LOSS, GAP
from trainers.metrics.catalogue.training import WHOLE_AP as WHOLE
from trainers.runs import RunFolder
from trainers.runs.records import Scalar

PLOTS = {plot.name: plot for plot in MEASURES.plots}
FRAMES = 3
MARKS = r"""(svg) => [...svg.querySelectorAll('.rs-pathstart, .rs-pathend, .rs-pathnow')].map((mark) => {
  const { x, y, width, height } = mark.getBBox();
  return [mark.getAttribute('class').match(/rs-path(\w+)/)[1], x + width / 2, y + height / 2];
})"""

FILLED = """() => [...document.querySelectorAll('.rs-curve [role=img] > svg')]
  .every((svg) => Math.abs(svg.viewBox.baseVal.width - svg.parentNode.clientWidth) < 1)"""


@pytest.fixture
def flattered(site: Site) -> RunFolder:
    """A run of two losses whose batches flatter them, without a contextual loss at its last evaluation."""
    folder = make_run(site.root, points=48, frames=FRAMES)
    for k in range(FRAMES):
        values = {BATCH: 0.5 + 0.1 * k, WHOLE: 0.2 + 0.2 * k, GAP: 0.3 - 0.1 * k}
        if k < FRAMES - 1:
            values |= {CONTEXTUAL_LOSS: 0.03 - 0.01 * k, CONTEXTUAL_AP: 0.25 + 0.5 * k}
        rows = [
            Scalar(arm=arm, step=k * STEPS_PER_FRAME, seconds=k, key=key, value=values[key])
            for arm in (0, 1)
            for key in values
        ]
        folder.db.add_metrics(rows)
    return folder


def test_plots_fill_their_place_follow_the_scrubber_and_can_be_kept(
    browser: Browser, site: Site, flattered: RunFolder
) -> None:
    with visit(browser, site, site.at(flattered, "&__theme=light")) as page:
        rest(page)
        fold = page.locator(".rs-curves details").filter(has_not_text="More plots").first
        folded = fold.locator("svg")
        expect(page.locator(".rs-curve svg").first).to_be_visible()
        expect(folded).to_have_count(0)
        fold.locator("summary").click()
        expect(folded.first).to_be_visible()
        shrink(page)
        page.wait_for_function(FILLED)
        plots = page.get_by_label("Plots", exact=True)
        expect(plots.locator(".rs-plotcard:visible")).to_have_count(3)
        plots.get_by_text("More plots", exact=True).click()
        expect(plots.locator(".rs-plotcard:visible")).to_have_count(5)
        gap, contextual, levels, errors = (
            plots.get_by_label(PLOTS[name].title, exact=True)
            for name in ("decomposability", "contextual", "levels", "controlled_errors")
        )
        for k, words in ((FRAMES - 1, "0.700 and 0.600"), (1, "0.600 and 0.400")):
            seek(page, k)
            sides = PLOTS["decomposability"]
            said = f"{sides.y.title} against {sides.x.title} at step {k * STEPS_PER_FRAME}: "
            label = f"{said}Smooth-AP {words}, HAPPIER {words}"
            expect(gap.get_by_role("img").first).to_have_attribute("aria-label", label)
        wait(lambda: gap.locator("svg").first.evaluate(MARKS)[0][1:] != [0, 0])  # it is drawn in its new width
        marks = gap.locator("svg").first.evaluate(MARKS)
        assert [kind for kind, *_ in marks] == ["start", "end", "now"] * 2
        (_, left, low), (_, right, high), (_, across, up) = marks[:3]
        assert left < right and high < low  # y points down
        assert (across, up) == pytest.approx(((left + right) / 2, (low + high) / 2), abs=0.1)
        expect(levels.locator(".rs-profilebar rect")).to_have_count(6)

        table = downloaded(contextual.get_by_role("button", name="save as CSV")).decode()
        rows = list(csv.DictReader(io.StringIO(table)))
        found = [[float(row[name]) for name in ("arm", "step", "contextual loss", "1 − mAP")] for row in rows]
        assert np.allclose(found, [[0, 0, 0.03, 0.75], [0, 25, 0.02, 0.25], [1, 0, 0.03, 0.75], [1, 25, 0.02, 0.25]])
        picture = Image.open(io.BytesIO(downloaded(levels.get_by_role("button", name="save as a picture"))))
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}
        assert picture.format == "PNG" and {(0x1D, 0x4C, 0x9E), (0xCF, 0x3C, 0x08)} <= colours  # bars of both arms

        errors.scroll_into_view_if_needed()
        expect(errors.locator(".rs-striprow")).to_have_count(3)
        errors.get_by_role("slider", name="Mistakes").fill("1")
        expect(errors.locator(".rs-striprow").first.locator(".rs-rankmarks > span", has_text="✕")).to_have_count(1)
        worst, _, best = ([float(value) for value in row.split()] for row in shown(errors))
        assert worst[0] == best[0] < 1 and all(bad < good for bad, good in zip(worst[1:], best[1:], strict=True))

        expect(page.get_by_text("One run, one seed, one learning rate: differences may be chance.")).to_be_visible()
        expect(page.get_by_role("button", name="Make it a sweep")).to_be_visible()

        sound(page, ".rs-plotsection", ".rs-live")


def shown(errors: Locator) -> list[str]:
    """The scores of each severity, the worst first."""
    return [" ".join(row.locator("b").all_text_contents()) for row in errors.locator(".rs-striprow").all()]
