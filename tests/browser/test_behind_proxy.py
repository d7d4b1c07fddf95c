"""The page behind reverse proxies, as they are set up: it opens, draws its maps and trains by the browser's address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import sidebar
from tests.browser.conftest import FLAGS, Site, chromium, serve
from tests.browser.pages import READINGS, open_page, rest
from tests.browser.reverse_proxy import Way, proxied
from tests.synthetic import make_run

NAME = "demo.example.org"


@pytest.fixture(scope="module")
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that finds the proxies' name on this machine, and takes their certificates."""
    resolved = [*FLAGS, f"--host-resolver-rules=MAP {NAME} 127.0.0.1"]
    opened = browser.browser_type.launch(executable_path=chromium(), args=resolved)
    context = opened.new_context(ignore_https_errors=True)
    context.add_init_script(path=READINGS)
    yield context
    opened.close()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page that was told the proxy's name, and nothing of a path."""
    root = tmp_path_factory.mktemp("runs")
    with serve(root, make_run(root, points=60, frames=2), hosts=(NAME,)) as served:
        yield served


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page that was told that it is served below a path, too."""
    root = tmp_path_factory.mktemp("runs")
    with serve(root, make_run(root, points=60, frames=2), hosts=(NAME,), root_path="/lab/tools") as served:
        yield served


def works(visitor: BrowserContext, site: Site, address: str) -> None:
    """The page opens and shows a run, and a new one is put into the queue; it calls no other address."""
    behind = Site(url=address, root=site.root, finished=site.finished)
    with open_page(visitor, behind, behind.at(site.finished)) as page:
        rest(page)
        assert page.locator(".rs-card").count()
        sidebar.train(page)
        sidebar.leave_queue(page)


@pytest.mark.parametrize(
    "way",
    [
        Way(prefix="/lab/tools"),
        Way(tls=True),
        Way(tls=True, host="upstream"),
        Way(prefix="/lab/tools", tls=True, forwarded=True, host="without port"),
    ],
    ids=["prefix cut", "TLS ends", "another Host", "all at once"],
)
def test_the_page_works_by_the_browsers_address(visitor: BrowserContext, own: Site, tmp_path: Path, way: Way) -> None:
    with proxied(way, own.url, tmp_path) as address:
        works(visitor, own, address)


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "passed on"])
def test_the_page_works_below_the_path_that_it_was_told(
    visitor: BrowserContext, below: Site, tmp_path: Path, cut: bool
) -> None:
    with proxied(Way(prefix="/lab/tools", cut=cut), below.url, tmp_path) as address:
        works(visitor, below, address)


def test_a_header_that_is_missing_is_named(visitor: BrowserContext, own: Site, tmp_path: Path) -> None:
    with proxied(Way(host="upstream"), own.url, tmp_path) as address:
        said: list[str] = []
        page: Page = visitor.new_page()
        page.on("response", lambda reply: reply.status == 403 and said.append(reply.json()["error"]))
        page.goto(f"{address}/?run={own.finished.id}")
        button = page.locator(sidebar.FORM).get_by_role("button", name="Train", exact=True)
        with page.expect_response(lambda reply: reply.status == 403):
            button.click()
        expect(page.locator("body")).to_contain_text("proxy_set_header Host $http_host")
        assert all(f"--allow-host {address.removeprefix('http://')}." in each for each in said)
        page.close()
