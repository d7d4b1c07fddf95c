"""Superclasses in the form: by hand in the table of classes, and from parts of names."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Site
from tests.browser.pages import visit
from tests.browser.sidebar import FORM, choose, config, images, leave_queue, named, train, unfold
from tests.data.world import write_tree
from trainers.image_text import class_groups
from trainers.parameters import Choice

CLASSES = ["animal_cat", "animal_dog", "plant_oak", "plant_rose"]

GIVEN = "(inputs) => inputs.map((input) => input.value)"
WIDER = """(node) => [...node.querySelectorAll("*")]
  .map((inner) => [inner.className, inner.getBoundingClientRect().right])
  .filter(([, right]) => right > node.getBoundingClientRect().right + 1)"""
"""What reaches out of a node on its right."""


def test_superclasses_are_given_by_hand_and_trained_with(site: Site, browser: Browser, tmp_path: Path) -> None:
    write_tree(tmp_path / "own", CLASSES)
    with visit(browser, site, site.url) as page:
        form = page.locator(FORM)
        images(page, str(tmp_path / "own"))
        expect(form).to_contain_text("Classes: 4 (class).")
        unfold(page)
        choose(page, "Superclasses", "Parts of names")
        expect(form).to_contain_text("Classes: 4 › 2 (class › group).")
        form.get_by_text("Change them by hand").click()
        expect(named(page, "Superclass of animal_dog")).to_have_value("animal")
        for name in ("animal_cat", "plant_rose"):
            named(page, f"Choose {name}").check()
        named(page, "Superclass of the ticked classes").fill("soft, pretty")
        form.get_by_role("button", name="Give it to them").click()
        assert form.locator(".rs-superclasses").evaluate(WIDER) == []
        with page.expect_download() as saved:
            form.get_by_role("button", name="Download as CSV").click()
        assert 'plant_rose,"soft, pretty"' in saved.value.path().read_text()
        form.get_by_role("button", name="Use this table").click()
        expect(form).to_contain_text("Classes: 4 › 3 (class › group).")
        expect(form.get_by_role("list", name="Superclasses with their classes")).to_contain_text(
            "soft, pretty: animal_cat, plant_rose"
        )
        named(page, "Superclass of animal_dog").fill("")
        form.get_by_role("button", name="Use this table").click()
        expect(form.get_by_role("alert").filter(has_text="a cell is empty")).to_be_visible()
        expect(named(page, "Superclass of animal_dog")).to_be_visible()
        named(page, "Superclass of animal_dog").fill("animal")
        form.get_by_role("button", name="Use this table").click()
        expect(form.get_by_role("alert").filter(has_text="a cell is empty")).to_have_count(0)
        run = train(page)
        leave_queue(page)
    kept = config(site, run)["data"]["hierarchy"]
    assert kept["name"] == "mapping"
    assert {"animal_dog,animal", 'animal_cat,"soft, pretty"'} < set(kept["parameters"]["table"].splitlines())


def test_similar_names_are_a_first_draft(
    site: Site, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path / "own", CLASSES)
    with visit(browser, site, site.url) as page:
        form = page.locator(FORM)
        images(page, str(tmp_path / "own"))
        expect(form).to_contain_text("Classes: 4 (class).")
        unfold(page)
        form.get_by_text("Change them by hand").click()
        group = form.get_by_role("button", name="Group similar names")
        monkeypatch.setattr(class_groups, "TOWER", Choice(name="open_clip", parameters={"pretrained": "/none.pt"}))
        group.click()
        expect(form.get_by_role("alert").filter(has_text="none.pt")).to_be_visible()
        monkeypatch.setattr(class_groups, "TOWER", Choice(name="tiny_clip"))
        group.click()
        parents = form.locator(".rs-hierarchy td input[type=text], .rs-hierarchy td input:not([type])")
        expect(parents.first).not_to_have_value("")
        given = parents.evaluate_all(GIVEN)
        assert len(set(given)) == 2 and set(given) <= set(CLASSES)
        form.get_by_role("button", name="Use this table").click()
        expect(form).to_contain_text("Classes: 4 › 2 (class › superclass).")
