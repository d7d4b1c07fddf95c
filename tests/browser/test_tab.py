"""The files that ``docs/extending.md`` shows add a tab, and nothing else does: content, style, address, function."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import visit
from tests.browser.program import launched
from tests.examples import copied


@pytest.mark.long
def test_the_example_of_the_docs_is_a_tab(browser: Browser, tmp_path: Path) -> None:
    with launched(tmp_path, copied(tmp_path / "program")) as program:
        site = program.site
        with visit(browser, site, site.at(site.finished)) as page:
            names = page.locator("#rs-tabs [role=tab]").all_inner_texts()
            assert names.index("Totals") == names.index("Runs") + 1
            page.get_by_role("tab", name="Totals").click()
            total = page.locator(".rs-total")
            expect(total).to_have_text(re.compile(r"Runs: \d+"))
            expect(total).to_have_css("font-size", "32px")
            expect(page.locator("#rs-aside p:visible")).to_have_text("Nothing is started here.")
            shown = int(total.inner_text().removeprefix("Runs: "))
        assert shown >= 1 and called(f"{site.url}/gradio_api", "count_runs") == shown


def called(api: str, name: str) -> object:
    """What a function of the page's API returns."""
    request = urllib.request.Request(
        f"{api}/call/{name}", json.dumps({"data": []}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        event = json.load(reply)["event_id"]
    with urllib.request.urlopen(f"{api}/call/{name}/{event}", timeout=60) as reply:
        lines = reply.read().decode().splitlines()
    assert lines[0] == "event: complete", lines
    return json.loads(lines[1].removeprefix("data: "))[0]
