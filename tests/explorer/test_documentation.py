"""The documentation as the page serves it: every page, every link between them, and nothing else."""

from __future__ import annotations

import re

import pytest

from explorer.server.documentation import DOCS, documentation_routes, page
from explorer.server.http import GoneError
from explorer.server.routes import mounted
from tests.explorer.page import Client

NAMES = sorted(path.stem for path in DOCS.glob("*.md"))
LINK = re.compile(r'href="([^"#]*)(?:#([^"]*))?"')


@pytest.mark.parametrize("name", NAMES)
def test_links_and_pictures_lead_somewhere(name: str) -> None:
    client = Client(mounted(documentation_routes()))
    text = page(name)
    assert "<!--" not in text and "<h1" in text
    own = set(re.findall(r'id="([^"]*)"', text))
    body = text.split("<main>")[1]
    for target, anchor in LINK.findall(body):
        if "://" in target:
            continue
        there = own if not target else set(re.findall(r'id="([^"]*)"', page(target.removesuffix(".md"))))
        assert not anchor or anchor in there, f"{target}#{anchor}"
    for source in re.findall(r'<img src="\.\./([^"]*)"', body):
        assert client.get(source).headers["content-type"] == "image/png"


@pytest.mark.parametrize("name", ["none", "../README", "losses.md/..", "", "a" * 50, "%2e%2e"])
def test_nothing_but_pages_is_served(name: str) -> None:
    with pytest.raises(GoneError, match="no page"):
        page(name)


def test_html_in_a_page_is_text(tmp_path) -> None:
    (tmp_path / "x.md").write_text("# A <b>title</b>\n\n<script>alert(1)</script> [go](javascript:alert(1))\n")
    text = page("x", tmp_path)
    assert "<script>" not in text and "<b>" not in text and 'href="javascript' not in text
