"""``python -m tests.browser.screenshots``: pictures for README and docs, of the recordings and the shipped models."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from explorer.explorer import Explorer
from explorer.settings import ASSETS, Settings
from tests.browser.conftest import FLAGS, chromium
from tests.browser.pages import new_page, open_tab, profile

SHOTS = {
    "live_light": ((1280, 1000), "light", "Live"),
    "live_dark": ((1280, 1000), "dark", "Live"),
    "live_phone": ((390, 844), "light", "Live"),
    "compare_light": ((1280, 1300), "light", "Compare"),
    "object_light": ((1280, 1080), "light", "Remove an object"),
    "object_dark": ((1280, 1080), "dark", "Remove an object"),
    "object_phone": ((390, 1500), "light", "Remove an object"),
}
# what shows that a tab has drawn all it has
_READY = {
    "Compare": "() => document.querySelectorAll('.rs-results tbody tr').length > 3",
    "Remove an object": r"""() => {
      const said = document.querySelector(".rs-object")?.innerText ?? "";
      return /\.\d{3}/.test(said) && !/captions read/.test(said);
    }""",
}


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ASSETS / "screens")
    parser.add_argument("--only", nargs="+", choices=list(SHOTS), default=list(SHOTS), help="some of them")
    flags = parser.parse_args()
    out = flags.out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as runs, sync_playwright() as playwright:
        explorer = Explorer(Settings(runs=Path(runs)))
        launched = explorer.blocks.queue().launch(prevent_thread_lock=True, quiet=True, **explorer.launch_options)
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for name in flags.only:
            size, scheme, tab = SHOTS[name]
            with profile(browser, launched[1].rstrip("/")) as context:
                page = new_page(context, size, scheme)
                page.goto(launched[1])
                _settle(page)
                if tab != "Live":
                    _open(page, tab)
                page.screenshot(path=out / f"{name}.png")
                print(out / f"{name}.png")
        browser.close()
        explorer.close()


def _settle(page: Page) -> None:
    """Wait for the last frame, its neighbours and their images."""
    ready = "() => { const s = window.debug?.state(); return s?.k && s.neighbours !== null && !s.moving; }"
    page.wait_for_function(ready, timeout=60_000)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(800)  # fonts and the last thumbnails


def _open(page: Page, tab: str) -> None:
    """Open another tab and wait until it has drawn all it has."""
    open_tab(page, tab)
    page.wait_for_function(_READY[tab], timeout=180_000)
    page.wait_for_timeout(1500)


if __name__ == "__main__":
    main()
