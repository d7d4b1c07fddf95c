"""Opening and reading the page in tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, BrowserContext, Page, Request

from tests.browser.conftest import PATIENCE, Site

WIDE = (1280, 900)
PHONE = (390, 844)
READINGS = Path(__file__).with_name("readings.js")
_CUT_OFF = ("signal is aborted without reason", "Connection errored out")
"""What Gradio logs when a reload ends the stream of its events."""
_EVENTS: WeakKeyDictionary[Page, set[Request]] = WeakKeyDictionary()  # Gradio's, under way
_READY = "() => window.debug?.state().k !== null && window.debug?.state().k !== undefined"


_IDLE_LOOKS = 50  # of a tenth of a second


def profile(browser: Browser, **settings: Any) -> BrowserContext:
    """A fresh profile, in whose pages ``window.debug`` reads the Live view."""
    context = browser.new_context(**settings)
    context.add_init_script(path=READINGS)
    return context


@contextlib.contextmanager
def visit(
    browser: Browser,
    site: Site,
    url: str,
    size: tuple[int, int] = WIDE,
    scheme: str = "light",
    motion: str = "reduce",
    touch: bool = False,
    ready: bool = True,
) -> Iterator[Page]:
    """A page in a fresh profile; fails at the end if it logged an error or called another host.

    Args:
        motion: ``no-preference`` plays a finished run once, which keeps a processor busy.
    """
    context = profile(
        browser,
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        reduced_motion=motion,
        has_touch=touch,
        is_mobile=touch,
    )
    with open_page(context, site, url, ready=ready) as page:
        yield page
    context.close()


@contextlib.contextmanager
def open_page(context: BrowserContext, site: Site, url: str, ready: bool = True) -> Iterator[Page]:
    """A tab in a profile, with the same checks at its end."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    trouble: list[str] = []
    page.on("console", lambda message: message.type == "error" and trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    loads: list[str] = []
    page.on("domcontentloaded", lambda loaded: loads.append(loaded.url))
    _follow(page)
    page.on("request", lambda request: _local(request.url, site) or trouble.append(f"called {request.url}"))
    page.goto(url)
    if ready:
        page.wait_for_function(_READY)
    yield page
    if len(loads) > 1:
        trouble = [said for said in trouble if not any(words in said for words in _CUT_OFF)]
    assert not trouble, trouble


def settle_events(page: Page) -> None:
    """Wait until no event of Gradio's is under way, or until only their stream has stood open for a while.

    Gradio sometimes leaves the stream open after its last event.
    """
    idle, before = 0, set[Request]()
    for _ in range(PATIENCE // 100):
        page.wait_for_timeout(100)
        now = set(_EVENTS[page])
        idle = idle + 1 if now == before else 0
        streams = all("/queue/data" in request.url for request in now)
        if not now or (streams and idle >= _IDLE_LOOKS):
            return
        before = now
    raise TimeoutError(f"Still under way: {[request.url for request in _EVENTS[page]]}")


def _follow(page: Page) -> None:
    events: set[Request] = set()
    _EVENTS[page] = events
    page.on("request", lambda request: events.add(request) if "/queue/" in request.url else None)
    page.on("requestfinished", lambda request: events.discard(request))
    page.on("requestfailed", lambda request: events.discard(request))


def _local(url: str, site: Site) -> bool:
    return url.startswith((site.url, "data:", "blob:", site.url.replace("http", "ws", 1)))


def state(page: Page) -> dict[str, Any]:
    """What the Live view says about itself."""
    return page.evaluate("() => window.debug.state()")


def until(page: Page, condition: str, argument: object = None, timeout: float = PATIENCE) -> None:
    """Wait until ``condition``, an expression over ``s`` (the state) and ``a`` (the argument), holds."""
    script = f"(a) => {{ const s = window.debug?.state(); return s && ({condition}); }}"
    page.wait_for_function(script, arg=argument, timeout=timeout)


def seek(page: Page, place: int) -> None:
    """Move the scrubber to a frame and wait until the maps are there."""
    page.locator(".rs-scrubber input").evaluate(f"(e) => {{ e.value = {place}; e.dispatchEvent(new Event('input')); }}")
    until(page, "s.k === a && !s.moving", place)


def rest(page: Page) -> None:
    """Stop a replay and wait until nothing moves."""
    if state(page)["playing"]:
        page.locator(".rs-scrubber button").first.click()
    until(page, "!s.playing && !s.moving && s.neighbours !== null")


def place(page: Page, arm: int, point: int) -> tuple[float, float]:
    """Where a point is on a map, in pixels of the window."""
    x, y = page.evaluate("([arm, i]) => window.debug.place(arm, i)", [arm, point])
    return x, y


def lasso(page: Page) -> None:
    """Draw a lasso around the whole first map."""
    box = page.locator(".rs-plot").first.bounding_box()
    assert box
    left, top, right, bottom = box["x"] + 4, box["y"] + 4, box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    page.keyboard.down("Shift")
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((right, top), (right, bottom), (left, bottom)):
        page.mouse.move(*corner, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")


def open_tab(page: Page, name: str) -> None:
    """Open a tab of the page."""
    page.get_by_role("tab", name=name).first.click()
