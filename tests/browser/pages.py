"""Opening and reading the page in tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, TimeoutError, expect

from tests.browser.conftest import PATIENCE, Site
from trainers.runs import RunFolder

WIDE = (1280, 900)
PHONE = (390, 844)
Look = dict[str, Any]
_SMALL: Look = {"size": PHONE, "scheme": "dark", "touch": True}
LOOKS = pytest.mark.parametrize(
    "look", [pytest.param({}, id="wide"), pytest.param(_SMALL, id="phone", marks=pytest.mark.long)]
)
"""A journey in a wide and light window, and with ``-m long`` on a phone: 390 px, dark, by touch; see :func:`visit`."""
READINGS = Path(__file__).with_name("readings.js")
_REFUSED = "Failed to load resource"
"""What the browser logs of each reply that is no success, and of each that does not come."""
_CUT_OFF = ("signal is aborted without reason", "Connection errored out")
"""What Gradio logs when a reload ends the stream of its events."""
_IDLE: WeakKeyDictionary[Browser, dict[bool, list[BrowserContext]]] = WeakKeyDictionary()
"""Profiles that nobody uses, without touch and with."""
_READY = "() => window.debug?.state().k !== null && window.debug?.state().k !== undefined"


@contextlib.contextmanager
def profile(browser: Browser, url: str, touch: bool = False) -> Iterator[BrowserContext]:
    """A profile for one visitor of the page at ``url``, in whose pages ``window.debug`` reads the Live view.

    Nothing of the page is stored in it. The files of the page that the browser has compiled for earlier visitors stay,
    which halves what opening the page costs.
    """
    idle = _IDLE.setdefault(browser, {}).setdefault(touch, [])
    if idle:
        context = idle.pop()
    else:
        context = browser.new_context(has_touch=touch, is_mobile=touch)
        context.add_init_script(path=READINGS)
    first = context.new_page()
    context.new_cdp_session(first).send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": "local_storage"})
    first.close()
    try:
        yield context
    finally:
        for page in context.pages:
            page.close()
        context.clear_cookies()
        context.clear_permissions()
        idle.append(context)


def new_page(
    context: BrowserContext,
    size: tuple[int, int] = WIDE,
    scheme: str = "light",
    motion: str = "reduce",
    hints: bool = False,
) -> Page:
    """An empty page of a profile.

    Args:
        motion: ``no-preference`` plays a finished run once, which keeps a processor busy.
        hints: the sentences for a first visitor stand over the first map.
    """
    page = context.new_page()
    if not hints:
        page.add_init_script("try { localStorage.setItem('rankscope-hints', 'seen'); } catch { }")
    page.set_default_timeout(PATIENCE)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme, reduced_motion=motion)  # type: ignore[arg-type]
    return page


@contextlib.contextmanager
def visit(browser: Browser, site: Site, url: str, *, touch: bool = False, **how: Any) -> Iterator[Page]:
    """A page in a profile of its own, see :func:`open_page` and :func:`new_page`."""
    with profile(browser, site.url, touch) as context, open_page(context, site, url, **how) as page:
        yield page


@contextlib.contextmanager
def open_page(
    context: BrowserContext, site: Site, url: str, ready: bool = True, refusals: bool = False, **how: Any
) -> Iterator[Page]:
    """A page, see :func:`new_page`; fails at the end if it logged an error or called another host.

    Args:
        ready: wait for the first map.
        refusals: the server will refuse something, or not answer.
    """
    page = new_page(context, **how)
    trouble: list[str] = []
    page.on("console", lambda message: message.type == "error" and trouble.append(_said(message)))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    loads: list[str] = []
    page.on("domcontentloaded", lambda loaded: loads.append(loaded.url))
    page.on("request", lambda request: _local(request.url, site) or trouble.append(f"called {request.url}"))
    page.goto(url)
    if ready:
        page.wait_for_function(_READY)
    yield page
    if refusals:
        trouble = [said for said in trouble if _REFUSED not in said]
    if len(loads) > 1:
        trouble = [said for said in trouble if not any(words in said for words in _CUT_OFF)]
    assert not trouble, trouble


def _said(message: ConsoleMessage) -> str:
    """What the console says, with the address that it speaks of: of a reply that is no success, the one asked for."""
    return f"{message.text} [{message.location['url']}]"


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


def polled(page: Page) -> None:
    """Wait until the server was asked once more what is new, and has answered."""
    with page.expect_response(lambda reply: "/poll" in reply.url):
        pass


def place(page: Page, arm: int, point: int) -> tuple[float, float]:
    """Where a point is on a map, in pixels of the window."""
    x, y = page.evaluate("([arm, i]) => window.debug.place(arm, i)", [arm, point])
    return x, y


def hover(page: Page, arm: int, point: int) -> None:
    """Move the pointer to a point of a map, again as long as the map itself moves."""
    for _ in range(120):
        page.mouse.move(*place(page, arm, point))
        with contextlib.suppress(TimeoutError):
            until(page, "s.hovered === a", point, timeout=PATIENCE / 120)
            return
    raise AssertionError(f"point {point} of map {arm} does not answer the pointer: {state(page)}")


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


def downloaded(press: Locator) -> bytes:
    """What a link or button saves."""
    with press.page.expect_download() as got:
        press.click()
    return Path(got.value.path()).read_bytes()


def open_tab(page: Page, name: str) -> None:
    """Open a tab of the page."""
    page.get_by_role("tab", name=name).first.click()


def show(page: Page, folder: RunFolder, at: str = "s.k !== null") -> None:
    """Open another run without loading the page anew."""
    page.evaluate("(id) => window.rankscope.open(id)", folder.id)
    until(page, f"s.run === a && {at}", folder.id)


# without its preloading: axe looks for imported style sheets at the wrong address
_RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}, "preload": False}


def findings(page: Page, within: str) -> list[str]:
    """Serious and critical findings against the rules of WCAG 2.1 A and AA that a machine can check, one line each."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page, context=within, options=_RULES)
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


def shrink(page: Page) -> None:
    """Make the window as small as a phone's, and close the sidebar, which would lie over all else."""
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    if page.locator("#rs-sidebar.open").count():
        page.locator("#rs-sidebar .toggle-button").click()


def fits(page: Page) -> None:
    """Nothing makes the page scroll sideways."""
    wide, room = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room, "the page scrolls sideways"


def sound(page: Page, within: str, view: str = "") -> None:
    """There are no findings, in the dark theme neither where a ``view`` is given, and the page fits its window."""
    fits(page)
    assert findings(page, within) == []
    if view:
        darken(page, view)
        assert findings(page, within) == []
