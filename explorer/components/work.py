"""Work that the server does in the background: what it does, how far it is, and a button to stop it."""

from __future__ import annotations

import json
from typing import Any

from explorer.components.drawn import Drawn


class Work(Drawn):
    """Follows a job of :class:`explorer.server.jobs.Jobs` by its own address, which costs the queue of events nothing.

    Its value is the reply that a job has: ``{"job": id}``, None where nothing is under way. ``ended`` brings the id
    back as ``event._data["job"]`` when it is done, failed or was stopped; to a function it is the id, or empty.

    Args:
        path: below which every job has its address.
    """

    def __init__(self, path: str, **options: Any) -> None:
        events = f'path: {json.dumps(path)}, ended: (job) => trigger("ended", {{ job }})'
        super().__init__("work", "rs-work", "The progress", events, **options)

    def preprocess(self, payload: Any) -> str:  # type: ignore[override]
        """Return the id of the job; it is from a browser."""
        return str(payload.get("job") or "")[:80] if isinstance(payload, dict) else ""

    def postprocess(self, value: Any) -> Any:
        """See Gradio."""
        return value if isinstance(value, dict) and value.get("job") else None
