"""The Live view against the rules of WCAG 2.1 A and AA that a machine can check."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import WIDE, rest, visit

# without its preloading: axe looks for imported style sheets at the wrong address
OPTIONS = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}, "preload": False}


def findings(page: Page, within: str) -> list[str]:
    """Serious and critical findings, one line each."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page, context=within, options=OPTIONS)
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found.response["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def darken(page: Page, view: str) -> None:
    """Make the page dark as Gradio does, and wait until a view has taken it up."""
    page.evaluate("() => document.body.classList.add('dark')")
    expect(page.locator(view)).to_have_css("color", "rgb(236, 238, 244)")


@pytest.mark.parametrize("size", [WIDE], ids=["wide"])
def test_no_serious_finding(browser: Browser, site: Site, size: tuple[int, int]) -> None:
    with visit(browser, site, f"{site.at(site.finished)}&__theme=light", size=size) as page:
        rest(page)
        for fold in page.locator(".rs-live details > summary").all():
            fold.click()
        page.get_by_role("button", name="Download").first.click()
        assert findings(page, "#live-view") == []
        darken(page, ".rs-live")
        assert findings(page, "#live-view") == []


def test_the_page_follows_a_change_of_theme(browser: Browser, site: Site) -> None:
    with visit(browser, site, f"{site.at(site.finished)}&__theme=light") as page:
        rest(page)
        middle = "() => window.debug.pixel(...window.debug.place(0, 3))"
        light = page.evaluate(middle)
        page.evaluate("() => document.body.classList.add('dark')")
        page.wait_for_function(f"(light) => String(({middle})()) !== String(light)", arg=light)


def test_every_number_explains_itself_on_focus(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished)) as page:
        rest(page)
        for word in page.locator(".rs-card").first.locator(".rs-word").filter(visible=True).all():
            word.focus()
            page.keyboard.press("Shift")  # focus by script counts as focus by key only after a key
            tip = page.locator(f"#{word.get_attribute('aria-describedby')}")
            assert len(tip.text_content() or "") > 30
            assert tip.evaluate("(node) => getComputedStyle(node).visibility") == "visible", word.text_content()
