"""``python -m tests.browser.screenshots``: the pictures of the README, taken from the recorded run."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from explorer import Settings, build
from explorer.settings import ASSETS
from tests.browser.conftest import FLAGS, chromium

SHOTS = {
    "live_light": ((1280, 1000), "light"),
    "live_dark": ((1280, 1000), "dark"),
    "live_phone": ((390, 844), "light"),
}


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ASSETS / "screens")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as runs, sync_playwright() as playwright:
        explorer = build(Settings(runs=Path(runs)))
        launched = explorer.blocks.queue().launch(prevent_thread_lock=True, quiet=True, **explorer.launch_options)
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for name, (size, scheme) in SHOTS.items():
            context = browser.new_context(
                viewport={"width": size[0], "height": size[1]},
                color_scheme=scheme,  # type: ignore[arg-type]
                reduced_motion="reduce",
            )
            page = context.new_page()
            page.goto(launched[1])
            _settle(page)
            page.screenshot(path=out / f"{name}.png")
            print(out / f"{name}.png")
            context.close()
        browser.close()
        explorer.close()


def _settle(page: Page) -> None:
    """Wait for the last frame, its neighbours and their images."""
    ready = "() => { const s = window.rankscope?.debug.state(); return s?.k && s.neighbours !== null && !s.moving; }"
    page.wait_for_function(ready, timeout=60_000)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(800)  # fonts and the last thumbnails


if __name__ == "__main__":
    main()
