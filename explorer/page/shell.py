"""The page: sidebar on the left, tabs on the right; nothing holds a connection open."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import gradio as gr

from explorer.page.api import add_api
from explorer.page.blocks import Page
from explorer.page.scripted import LOADER, scripted
from explorer.page.sidebar import masthead, opened, sidebar
from explorer.page.slices import asking
from explorer.page.tab import Tab
from explorer.server.assets import SHEET, Assets
from explorer.server.plain import typed
from explorer.server.routes import PREFIX
from explorer.server.runs import Runs
from explorer.server.slices import Slices

# Whether the settings would cover the page is known only in the browser.
_NARROW = """() => {
  if (window.innerWidth < 769) document.querySelector("#rs-sidebar.open .toggle-button")?.click();
  return [];
}"""


def head(assets: Assets, modules: tuple[str, ...]) -> str:
    """Write what the head of the page has to have now: its styles and, before they are asked for, its modules.

    Args:
        modules: that draw what is seen first.
    """
    version = assets.version()
    folder = f"{PREFIX[1:]}/assets/{version}"
    early = "".join(
        f'<link rel="modulepreload" fetchpriority="low" href="{folder}/{name}">' for name in assets.imported(modules)
    )
    return f"""<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="{folder}/{SHEET}">
{early}
{LOADER.replace("VERSION", version)}
"""


def page(
    runs: Runs,
    tabs: Collection[Tab[Any]],
    services: Mapping[str, Any],
    login: bool = False,
    slices: Slices | None = None,
) -> Page:
    """Build the page.

    Args:
        services: of each tab, by its name.
        login: visitors can sign in.
        slices: runs train in slices that the page asks for; None: they do not.
    """
    options: dict[str, Any] = {"analytics_enabled": False, "delete_cache": (3600, 3600)}
    with Page(title="Rankscope", login=login, fill_width=True, **options) as blocks:
        sidebar(tabs, login, lent=slices is not None)
        if slices is not None:
            asking(slices)
        masthead()
        scripted("page/training.js", "rs-training", "What trains", elem_id="rs-training")
        scripted("page/link.js", "rs-link", "The link", elem_id="rs-link")
        with gr.Tabs(elem_id="rs-tabs", overflow_behavior="wrap"):
            for descriptor in tabs:
                with gr.Tab(descriptor.title, id=descriptor.name) as tab:
                    descriptor.build(services[descriptor.name])
                tab.select(fn=None, js=opened(descriptor))
        add_api(runs)
        for descriptor in tabs:
            for function in descriptor.functions(services[descriptor.name]):
                gr.api(typed(function), api_name=function.__name__, concurrency_limit=descriptor.at_once)
        blocks.load(fn=None, js=_NARROW)
    return blocks
