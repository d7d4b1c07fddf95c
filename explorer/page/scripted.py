"""Components that one of the page's own modules draws.

Their templates hold no value: Gradio compares rendered templates and would build the component anew at every change.
"""

from __future__ import annotations

import json
import re
from typing import Any

import gradio as gr

LOADER = """<script>
window.rankscopeMount = (element, module, what, given) => {
  import(new URL(`gradio_api/rankscope/assets/VERSION/${module}`, document.baseURI)).then(
    (loaded) => loaded.mount(element, given),
    (error) => {
      const host = element.querySelector(".rs-loading");
      if (host) host.textContent = `${what} could not be opened: ${error.message}. Reload the page.`;
    },
  );
};
window.rankscopeOpened = (detail) => {
  window.rankscopeTab = detail;
  window.dispatchEvent(new CustomEvent("rankscope:tab", { detail }));
  return [];
};
window.rankscopeAsMe = async (given) => {
  while (!window.rankscopeToken) await new Promise((resolve) => setTimeout(resolve, 50));
  return [...given.slice(0, -1), window.rankscopeToken()];
};
</script>"""
"""What the head of the page needs for :func:`scripted`, for tabs and for events that bring the visitor's token.
``VERSION`` stands for the folder of its modules.
"""


def mounted_at_once(page: gr.Blocks) -> tuple[str, ...]:
    """List the modules that draw what a visitor sees first: all outside tabs, and of the first tab."""
    tabs = [block for block in page.blocks.values() if isinstance(block, gr.Tab)]
    behind = {id(tab) for tab in tabs[1:]}
    found: list[str] = []
    for block in page.blocks.values():
        module = re.search(r'rankscopeMount\(element, "([^"]+)"', getattr(block, "js_on_load", None) or "")
        above: Any = block
        while above is not None and id(above) not in behind:
            above = above.parent
        if module and above is None:
            found.append(module[1])
    return tuple(found)


def scripted(
    module: str, host: str, what: str, given: str = "{}", *, loading: str = "", value: Any = None, **options: Any
) -> gr.HTML:
    """Make a component whose content ``mount(element, given)`` of a module in ``assets`` draws.

    Args:
        host: class of the element that the module draws into.
        what: the subject of the sentence that says that the module could not be loaded.
        given: JavaScript of the module's options. Gradio finds the names of the component's events in this text, so
            ``trigger("name")`` stands in it literally.
        loading: shown until the module is loaded.
        options: of the component.
    """
    return gr.HTML(
        value,
        html_template=f'<div class="{host}"><p class="rs-loading">{loading}</p></div>',
        js_on_load=f"rankscopeMount(element, {json.dumps(module)}, {json.dumps(what)}, {given})",
        apply_default_css=False,
        **options,
    )
