"""Using the form in the sidebar in tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import PHONE

FORM = ".rs-setup"


def enter(page: Page) -> None:
    """Open the sidebar where the window is too small for it to be open at first."""
    if page.viewport_size == {"width": PHONE[0], "height": PHONE[1]}:
        page.locator("#rs-sidebar .toggle-button").click()


def unfold(page: Page) -> None:
    """Open every fold of the form."""
    page.evaluate("() => document.querySelectorAll('.rs-setup details').forEach((fold) => { fold.open = true; })")


def named(page: Page, label: str) -> Locator:
    """A field of the form; of its folds once they are open."""
    return page.locator(FORM).get_by_label(label, exact=True)


def fill(page: Page, label: str, value: str) -> None:
    named(page, label).fill(value)
    named(page, label).press("Tab")


def choose(page: Page, label: str, title: str) -> None:
    named(page, label).select_option(label=title)


def images(page: Page, source: str) -> None:
    """Name a folder or a Hub id."""
    named(page, "Images").select_option("")
    field = page.locator(FORM).get_by_label("Hub id")
    field.fill(source)
    field.press("Tab")


def shown(page: Page, label: str) -> str:
    """What is chosen in a menu, in words."""
    return str(named(page, label).evaluate("(menu) => menu.selectedOptions[0].textContent"))


def train(page: Page) -> str:
    """Press Train; the id of the run that is opened then."""
    before = page.evaluate("window.rankscope.current()")
    page.locator(FORM).get_by_role("button", name="Train", exact=True).click()
    page.wait_for_function(f"window.rankscope.current() !== '{before}'")
    return str(page.evaluate("window.rankscope.current()"))


def train_on(page: Page, folder: Path, minutes: str) -> str:
    """Train on small images for some time; the id of the run."""
    images(page, str(folder))
    expect(page.locator(".rs-report")).to_contain_text("class")
    unfold(page)
    for label, value in {"Budget in minutes": minutes, "Classes per batch": "4", "Images per class": "3"}.items():
        fill(page, label, value)
    return train(page)


def row(page: Page) -> Locator:
    """The row of the run on screen in the strip about what trains."""
    return page.locator(f".rs-trainingrow[data-run='{page.evaluate('window.rankscope.viewed()')}']")


def leave_queue(page: Page) -> None:
    """Take the run that was just queued out of the queue."""
    row(page).get_by_role("button", name="Stop", exact=True).click()
    expect(row(page)).to_contain_text("Stopped")


def config(site: Site, run: str) -> dict[str, Any]:
    """The settings of a run as they were written."""
    settings: dict[str, Any] = json.loads((site.root / run / "config.json").read_text())
    return settings
