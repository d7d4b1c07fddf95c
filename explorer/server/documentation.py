"""The pages of ``docs/`` as web pages, so that they can be read where the program runs, without a network."""

from __future__ import annotations

import html
import re
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import GoneError
from explorer.server.routes import reads
from explorer.settings import ASSETS
from trainers.devices.space import repository

DOCS = ASSETS.parent / "docs"
_NAME = re.compile(r"[A-Za-z-]{1,40}")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="../assets/common/tokens.css"><link rel="stylesheet" href="../assets/docs/page.css"></head>
<body><nav><a href="{home}">Rankscope</a> <a href="README.md">Documentation</a>{more}</nav>
<main>{body}</main></body></html>"""
_HOME = "../../../"  # from a page to the program


def page(name: str, docs: Path = DOCS) -> str:
    """Write a page of the documentation as HTML.

    Args:
        name: of its file without ``.md``; ``README`` lists the others.

    Raises:
        GoneError: there is no such page.
    """
    path = docs / f"{name}.md"
    if not _NAME.fullmatch(name) or not path.is_file():
        raise GoneError(f"There is no page {name[:40]!r} in the documentation.")
    tokens = _MARKDOWN.parse(_COMMENT.sub("", path.read_text(encoding="utf-8")))
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(inside.content))
    title = next((token.content for token in tokens if token.type == "inline"), name)
    known = repository()
    more = f' <a href="{html.escape(known)}">Repository</a>' if known else ""
    body = _MARKDOWN.renderer.render([_linked(token) for token in tokens], _MARKDOWN.options, {})
    return _PAGE.format(title=html.escape(f"{title} · Rankscope"), home=_HOME, more=more, body=body)


_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def _linked(token: Token) -> Token:
    """Let links to files outside the documentation lead nowhere, and pictures to where they are served."""
    for child in token.children or ():
        target = str(child.attrGet("href") or "")
        if target.startswith("../"):
            child.attrSet("href", "README.md")
    return token


def _anchor(heading: str) -> str:
    """Return the name of a heading in links, as repositories make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def documentation_routes() -> list[Route]:
    """Return the addresses of the pages."""

    def shown(request: Request) -> Response:
        name = request.path_params["name"]
        return Response(page(name.removesuffix(".md")), media_type="text/html; charset=utf-8")

    return reads({"/docs/{name}": shown})
