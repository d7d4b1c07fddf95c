"""The page in Chromium against a bare Gradio page that imports torch: start, first map, a change of kind, size,
memory.

python -m tests.benchmarks.page --times 3
"""

from __future__ import annotations

import os
import time
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from explorer.tabs import TABS
from tests.browser.conftest import FLAGS, chromium
from tests.campaigns._page import LivePage, descendants, empty_page, memory
from tests.programs import arguments

BARE = (
    "-c",
    "import sys, torch, gradio as gr\n"
    "with gr.Blocks() as page: gr.Markdown('A page')\n"
    "page.launch(server_port=int(sys.argv[-1]), quiet=True)",
)
PATIENCE = 180.0  # seconds that a page may take
WANTED = {"change of kind, ms": 300.0, "first map, s": 5.0, "elements": 6000.0, "heap, MB": 200.0}
_MAP = """() => {
  const { live } = window.rankscope ?? {};
  return live?.run && live.player.k !== null && live.player.k !== undefined;
}"""
# from the event to the next frame that is drawn
_CHANGE = """async (name) => {
  const menu = document.querySelector(".rs-setup select");
  const begun = performance.now();
  menu.value = name;
  menu.dispatchEvent(new Event("change"));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begun;
}"""
_SIZE = (
    "() => { window.gc?.(); return [document.querySelectorAll('*').length, performance.memory.usedJSHeapSize / 1e6]; }"
)


def main() -> None:
    """Start both programs some times, with empty caches, and print medians."""
    given = arguments(__doc__, times=(3, "starts of both programs"))
    rows: list[dict[str, float]] = []
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for _ in range(given.times):
            with empty_page(program=BARE, answers="/") as (bare, _client):
                row = {"bare start, s": bare.seconds, "bare memory, MB": _memory(bare)}
            with empty_page(answers="/") as (page, _client):
                row |= {"start, s": page.seconds} | _read(browser, page.url) | {"memory, MB": _memory(page)}
            rows.append(row)
            print(", ".join(f"{name} {value:.2f}" for name, value in row.items()), flush=True)
        browser.close()
    middle = {name: median(row[name] for row in rows) for name in rows[0]}
    print(f"\nmedian of {given.times}; load now {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"start against the bare page  {middle['start, s'] / middle['bare start, s']:.2f} (wanted: 1.2 at most)")
    print(f"memory of all processes, MB  {middle['memory, MB']:.0f} (bare page: {middle['bare memory, MB']:.0f})")
    for name, most in WANTED.items():
        print(f"{name:<28} {middle[name]:.1f} (wanted: {most:g} at most)")


def _memory(page: LivePage) -> float:
    """Resident MB of a page and of the processes that it started; what they share counts in each."""
    return sum(memory(pid) for pid in (page.pid, *descendants(page.pid))) / 1e6


def _opened(browser: Browser, url: str, condition: str) -> tuple[float, Page]:
    """Open the page in a new profile; seconds until the condition holds."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce").new_page()
    begun = time.perf_counter()
    page.goto(url)
    page.wait_for_function(condition, timeout=1000 * PATIENCE)
    return time.perf_counter() - begun, page


def _read(browser: Browser, url: str) -> dict[str, float]:
    first, page = _opened(browser, url, _MAP)
    page.locator(".rs-setup select").first.wait_for()
    page.evaluate("() => document.querySelectorAll('.rs-setup details').forEach((fold) => { fold.open = true; })")
    changes = [page.evaluate(_CHANGE, name) for name in ("contrastive", "metric_learning") * 2]
    fresh = median(changes)
    for tab in [*TABS.values(), *TABS.values()]:
        page.get_by_role("tab", name=tab.title).first.click()
        page.wait_for_timeout(2500)  # as somebody who looks at it
    page.get_by_role("tab", name="Live").first.click()
    page.wait_for_timeout(1000)
    after = median(page.evaluate(_CHANGE, name) for name in ("contrastive", "metric_learning") * 2)
    elements, heap = page.evaluate(_SIZE)
    page.context.close()
    return {
        "first map, s": first,
        "fresh change of kind, ms": fresh,
        "change of kind, ms": after,
        "elements": elements,
        "heap, MB": heap,
    }


if __name__ == "__main__":
    main()
