"""Contrastive runs in the Live view: the dictionary by age, the number over a parameter, diagnosis, both stages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site, serve
from tests.browser.contrastive_run import trained
from tests.browser.pages import PHONE, fits, rest, seek, show, state, visit
from trainers.kinds import diagnoses
from trainers.parameters import Choice
from trainers.runs import RunFolder

SHOWN = ".rs-chart:visible"
TICKS = "[aria-label='x-axis tick label'] text"


def queues(*parameters: dict[str, object]) -> list[Choice]:
    return [Choice(name="moco_v1", parameters={"queue": 80, **each}) for each in parameters]


@pytest.fixture(scope="module")
def momenta(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Two momenta; the queue of 80 fills in step 5."""
    return trained(tmp_path_factory.mktemp("pretrain"), *queues({"momentum": 0.5}, {"momentum": 0.9}), snapshot_steps=2)


@pytest.fixture(scope="module")
def site(momenta: RunFolder) -> Iterator[Site]:
    with serve(momenta.path.parent, momenta) as served:
        yield served


SPANS = """([title, what]) => {
  const titled = (node) => node.querySelector('figcaption span')?.textContent === title;
  const curve = [...document.querySelectorAll('.rs-curve')].find(titled);
  const axis = curve.querySelector('[aria-label=frame]').getBBox();
  return [...curve.querySelectorAll(what)].map((mark) => mark.getBBox())
    .flatMap(({ x, width }) => [x, x + width].map((end) => (end - axis.x) / axis.width));
}"""


def spans(page: Page, title: str, what: str) -> list[float]:
    """Left and right end of each mark of a curve, as shares of the axis of the steps."""
    return list(page.evaluate(SPANS, [title, what]))


def told(page: Page, name: str) -> str:
    """What a chart says of itself to those who cannot see it."""
    return str(page.locator(name).first.get_attribute("aria-label"))


def test_the_dictionary_a_number_over_a_parameter_and_both_stages(
    browser: Browser, site: Site, momenta: RunFolder
) -> None:
    newest = momenta.newest("knn_accuracy", "test/knn_accuracy")
    last = len(momenta.frames()) - 1
    with visit(browser, site, site.at(momenta), size=PHONE, scheme="dark") as page:
        rest(page)
        profile = page.locator(".rs-profile")
        expect(profile.locator(SHOWN)).to_have_count(2)
        seek(page, last)
        expect(profile.locator(SHOWN).first).to_contain_text("Queue filled 100 %")
        expect(profile.locator(".rs-profilebar rect")).to_have_count(16)
        expect(profile.locator(".rs-unfilled rect")).to_have_count(0)
        full = told(page, ".rs-profile [role=img]")
        assert full.startswith("Keys in the dictionary, by age, MoCo v1 (momentum 0.5") and "4 batches ago" in full
        plots = page.locator(".rs-ablation .rs-chart")
        expect(plots).to_have_count(2)
        expect(page.locator(".rs-ablation h3")).to_have_text("Over momentum")
        expect(plots.first.locator(TICKS)).to_have_text(["0.5", "0.9"])
        expect(plots.first.locator(".rs-shown circle")).to_have_count(2)
        expect(plots.first.locator(".rs-final circle")).to_have_count(2)
        for arm, momentum in enumerate(("0.5", "0.9")):
            shown, final = (f"{newest[arm, key] + 1e-9:.3f}" for key in ("knn_accuracy", "test/knn_accuracy"))
            assert f"{momentum}: {shown}, at the end {final}" in told(page, ".rs-ablation [role=img]")

        expect(page.locator(".rs-key")).to_contain_text("linear classifier on the frozen encoder from step 12")
        page.locator(".rs-curves summary").filter(visible=True).first.click()
        expect(page.locator(".rs-curve", has_text="Classifier accuracy").locator("svg").first).to_be_visible()
        assert spans(page, "Classifier accuracy", ".rs-begin line") == pytest.approx([12 / 20] * 2, abs=0.01)
        begins = spans(page, "Classifier accuracy", ".rs-line path")[::2]
        assert len(begins) == 2
        assert all(12 / 20 < begin < 1 for begin in begins), begins  # it is scored once it has been trained
        page.locator(".rs-curves summary").filter(visible=True).nth(1).click()
        expect(page.locator(".rs-curves table")).to_contain_text("k-NN accuracy")
        expect(page.locator(".rs-curves table")).not_to_contain_text("Stage:")

        seek(page, 1)
        expect(profile.locator(SHOWN).first).to_contain_text("Queue filled 40 %")
        expect(profile.locator(SHOWN).first).to_contain_text("60 % still random")
        expect(profile.locator(".rs-unfilled rect")).to_have_count(2)
        fits(page)
        seek(page, 0)  # equal weights at first: the dots lie level
        expect(profile).to_be_hidden()
        dots = plots.first.locator(".rs-shown circle")
        level = dots.evaluate_all("dots => dots.map((dot) => dot.getAttribute('cy'))")
        assert len(level) == 2 and level[0] == level[1]
        expect(plots.first.locator(".rs-final circle")).to_have_count(2)


def test_the_diagnosis_and_numbers_over_the_batch(browser: Browser, site: Site, momenta: RunFolder) -> None:
    """Of the second run the last arm has no batch of its own: its mark stands at the run's. None has a second stage."""
    root = momenta.path.parents[1]
    settings = {"norm": "batch", "learning_rate": 0.3, "weight_decay": 0.5, "steps": 24, "head_steps": 2}
    folder = trained(root, *queues({"momentum": 0.9}), Choice(name="cross_entropy"), **settings)
    said, nothing = diagnoses(folder.config, folder)
    assert said and said[0].startswith("The embeddings have collapsed")
    sizes: tuple[dict[str, object], ...] = ({"batch": 4}, {"batch": 8}, {})
    over = trained(root, *(Choice(name="cross_entropy", parameters=each) for each in sizes))
    with visit(browser, site, site.at(folder)) as page:
        expect(page.locator(".rs-card").first.locator(".rs-diagnosis li")).to_have_text(said)
        expect(page.locator(".rs-card").nth(1).locator(".rs-diagnosis li")).to_have_count(len(nothing))
        expect(page.locator(".rs-ablation")).to_be_hidden()
        expect(page.locator(".rs-profile").locator(SHOWN)).to_have_count(1)  # of the arm that has a dictionary
        assert state(page)["run"] == folder.id
        show(page, over)
        rest(page)
        seek(page, len(over.frames()) - 1)
        expect(page.locator(".rs-ablation h3")).to_have_text("Over batch")
        expect(page.locator(".rs-ablation .rs-chart").first.locator(TICKS)).to_have_text(["4", "8", "16"])
        expect(page.locator(".rs-ablation .rs-chart").first.locator(".rs-shown circle")).to_have_count(3)
        assert spans(page, "Loss", ".rs-line path")[1::2] == pytest.approx([12 / 20] * 3, abs=0.01)
        fits(page)
