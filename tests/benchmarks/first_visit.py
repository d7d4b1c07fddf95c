"""A first visit to "Remove an object": from the click to the picture, to an answer, and to the whole of it.

Every visit starts the app anew with empty caches and opens it in Chromium; the reference is a second page of the same
app, for which everything is there already.

python -m tests.benchmarks.first_visit --visits 3
"""

from __future__ import annotations

import argparse
import os
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from tests.benchmarks._serving import APP, PATIENCE, memory, seconds, serving
from tests.browser.conftest import FLAGS, chromium

MARKS = ("picture", "filled", "answer", "whole")
"""The image is shown; so is the one without the object; both models' lists are there; they are of all captions."""
# looks at every frame, so that a mark is as true as the screen
WATCH = """() => {
  const marks = (window.firstVisit = {}), start = performance.now();
  const shown = (image) => image?.complete && image.naturalWidth > 0;
  const look = () => {
    const host = document.querySelector(".rs-object");
    const mark = (name, is) => is && (marks[name] ??= (performance.now() - start) / 1000);
    const cards = [...(host?.querySelectorAll(".rs-captioncard") ?? [])];
    const rows = ".rs-captionlist:not(.rs-before-removal) .rs-similarity";
    const lists = cards.map((card) => card.querySelectorAll(rows).length);
    const answered = lists.length === 2 && lists.every((count) => count === 5);
    const filled = host?.querySelector(".rs-comparing .rs-image:not(.rs-before)");
    mark("picture", shown(host?.querySelector(".rs-side .rs-image")));
    mark("filled", shown(filled) && filled.src.includes("/filled/"));
    mark("answer", answered);
    const ofAll = cards.every((card) => card.textContent.includes("for the filled image"));
    mark("whole", answered && ofAll && marks.filled !== undefined);
    if (Object.keys(marks).length < 4) requestAnimationFrame(look);
  };
  look();
  const tabs = [...document.querySelectorAll("button[role=tab]")];
  tabs.find((tab) => tab.textContent.trim() === "Remove an object").click();
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=int, default=3, help="starts of the app")
    given = parser.parse_args()
    rows: list[dict[str, float]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for _ in range(given.visits):
            rows.append(_start_and_visit(browser))
            print(", ".join(f"{name} {value:.2f}" for name, value in rows[-1].items()), flush=True)
        browser.close()
    print(f"\nseconds, median of {given.visits}; load now {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    middle = {name: median(row[name] for row in rows) for name in rows[0]}
    print(f"{'':<9}{'first visit':>13}{'second page':>13}{'ratio':>8}")
    for name in MARKS:
        first, second = middle[name], middle[f"again {name}"]
        print(f"{name:<9}{first:>13.2f}{second:>13.2f}{first / second:>8.1f}")
    print(f"start of the app {middle['start']:.1f} s, {middle['start cpu']:.1f} s of a processor")
    print(f"processor of the server from the click to the whole answer {middle['visit cpu']:.1f} s")
    print(f"memory of the server: started {middle['start MB']:.0f} MB, answered {middle['visit MB']:.0f} MB")


def _start_and_visit(browser: Browser) -> dict[str, float]:
    with serving(APP) as served:
        found = {"start": served.start, "start cpu": served.start_cpu, "start MB": memory(served.pid)}
        return found | _visits(browser, served.url, served.pid)


def _visits(browser: Browser, url: str, server: int) -> dict[str, float]:
    before = None
    found: dict[str, float] = {}
    for which in ("", "again "):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(url)
        page.get_by_role("tab", name="Remove an object").wait_for(timeout=1000 * PATIENCE)
        page.wait_for_timeout(3000)  # as somebody who looks at the first tab
        before = seconds(server)
        page.evaluate(WATCH)
        page.wait_for_function("Object.keys(window.firstVisit).length === 4", timeout=1000 * PATIENCE)
        marks = page.evaluate("window.firstVisit")
        found |= {f"{which}{name}": marks[name] for name in MARKS}
        if not which:
            found |= {"visit cpu": seconds(server) - before, "visit MB": memory(server)}
        context.close()
    return found


if __name__ == "__main__":
    main()
