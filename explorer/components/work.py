"""Work that the server does in the background: what it does, how far it is, and a button to stop it."""

from __future__ import annotations

from typing import Any

import gradio as gr

_LOAD = """rankscopeMount(element, "components/work.js", "The progress", {
  props,
  watch,
  ended: (job) => trigger("ended", { job }),
})"""


class Work(gr.HTML):
    """Follows a job of :class:`explorer.server.jobs.Jobs` by its own address, which costs the queue of events nothing.

    Its value is the reply that a job has: ``{"job": id}``, None where nothing is under way. ``ended`` brings the id
    back as ``event._data["job"]`` when it is done, failed or was stopped; to a function it is the id, or empty.

    Args:
        path: below which every job has its address.
    """

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(
            None,
            html_template='<div class="rs-work"></div>',
            js_on_load=_LOAD,
            apply_default_css=False,
            path=path,
            **options,
        )

    def preprocess(self, payload: Any) -> str:
        """Return the id of the job; it is from a browser."""
        return str(payload.get("job") or "")[:80] if isinstance(payload, dict) else ""

    def postprocess(self, value: Any) -> Any:
        """See Gradio."""
        return value if isinstance(value, dict) and value.get("job") else None
