"""Gradio's Blocks with uniform errors: one sentence for the visitor, one line in the log."""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from typing import Any

import gradio as gr

from explorer.server import plain
from explorer.server.http import RequestError, in_a_line
from explorer.server.visitors import ADDRESS
from trainers.errors import UserError

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""Options of an event that shows no progress and is no public function."""
_FAILED = "The server could not do this; its log says why. Check what was sent, or reload the page."
_UNREAD = ("preserved_by_key", "_api_info")
"""Properties that Gradio writes of components for itself, and does not read from the page."""
_FOR_PROGRAMS = ("api_info_as_input", "api_info_as_output")
"""What Gradio tells programs of a component as a parameter and as a result. Where one is missing it takes ``api_info``,
which nearly always says the same. These and the examples, which it does not take from here, are a tenth of the page."""
_FALSE = (
    *(
        "_retryable",
        "_selectable",
        "_undoable",
        "allow_custom_value",
        "autofocus",
        "autoscroll",
        "header_links",
        "likeable",
    ),
    *("line_breaks", "rtl", "show_progress", "stop_btn", "streamable", "submit_btn"),
)
"""Properties that its scripts take for false where they are missing. Together they are a twentieth of the page."""
_OF_EVENTS = (
    *("api_description", "collects_event_data", "component_prop_inputs", "event_specific_args", "js"),
    *("js_implementation", "render_id", "rendered_in", "scroll_to_output", "show_progress_on", "time_limit"),
    *("trigger_only_on_failure", "trigger_only_on_success"),
)
"""What an event may have; where it has none, its scripts need not read it. Together they are a sixth of the page."""
_OF_SERVER = ("batch", "max_batch_size", "types", "stream_every")
"""What Gradio reads of an event on the server alone."""
_OF_FUNCTIONS = ("api_name", "queue", "show_progress", "trigger_mode")
"""What matters of an event that asks the server; one of the page alone needs none of it."""
ANSWER_SECONDS = 600.0
"""How long the answer to a program's call waits to be fetched."""
_log = logging.getLogger(__name__)


class Page(gr.Blocks):
    """The page; every event and every public function passes through here, whichever of Gradio's addresses it used.

    Args:
        login: Gradio adds its addresses to sign in and out with an account of the Hub, and the cookie for it.
    """

    def __init__(self, *args: Any, login: bool = False, **kwargs: Any) -> None:
        self._login = login
        self._answered: deque[tuple[float, str]] = deque()  # when (monotonic seconds), and the call
        super().__init__(*args, **kwargs)

    @property
    def expects_oauth(self) -> bool:
        """See Gradio, which looks for its own button."""
        return self._login

    def pending(self, address: str) -> int:
        """Count the events of an address that wait or run."""
        events = list(self._queue.event_ids_to_events.values())
        return sum(1 for event in events if event.request.scope.get(ADDRESS) == address)

    def streams(self, name: str) -> bool:
        """Return whether there are, or will be, messages for a session, or for an event by its id."""
        queue = self._queue
        if name in queue.event_ids_to_events or name in queue.pending_messages_per_session:
            return True
        return any(name in ids for ids in list(queue.pending_event_ids_session.values()))

    def get_config_file(self) -> Any:
        """See Gradio; without what its pages do not need."""
        config = super().get_config_file()
        told: set[int] = set()
        for event in config["dependencies"]:
            for name in _OF_EVENTS:
                if not event.get(name):
                    event.pop(name, None)
            for name in _OF_SERVER:
                event.pop(name, None)
            if event["trigger_after"] is None:
                del event["trigger_after"]
            if event["connection"] != "stream":
                del event["connection"]
            for name in () if event["backend_fn"] else _OF_FUNCTIONS:
                event.pop(name, None)
            if event["api_visibility"] != "private":
                told.update(event["inputs"], event["outputs"])
        for component in config["components"]:
            component.pop("example_inputs", None)
            component.pop("component_class_id", None)  # by which components from elsewhere are found
            if component["id"] not in told:
                component.pop("api_info", None)
                component.pop("skip_api", None)
            for name in _FOR_PROGRAMS:
                if name in component and component[name] == component.get("api_info", component[name]):
                    del component[name]
            for name in ("key", "skip_api"):
                if not component.get(name):
                    component.pop(name, None)
            props = component["props"]
            unread = [name for name in _UNREAD if name in props] + [name for name in _FALSE if props.get(name) is False]
            unread += ["elem_classes"] if props.get("elem_classes") == [] else []
            unread += ["link_target"] if "link_target" in props and not props.get("link") else []
            for name in unread:
                del props[name]
        return config

    async def process_api(self, block_fn: Any, inputs: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """See Gradio; errors become sentences.

        Raises:
            gr.Error: always that, with a sentence.
        """
        try:
            plain.check(inputs)
            plain.check(getattr(kwargs.get("event_data"), "_data", None))
            return await super().process_api(block_fn, inputs, *args, **kwargs)
        except Exception as error:
            raise spoken(error) from None
        finally:
            self._forget(kwargs.get("session_hash"), kwargs.get("event_id"))

    def _forget(self, visit: str | None, event: str | None) -> None:
        """Forget the visit of a program's single call, which Gradio names after the call: nobody can come back to it,
        and each takes two thirds of a megabyte. Its answer follows when it was not fetched in time: Gradio keeps 2,000
        of them, and the names of all calls for ever."""
        if visit is None or visit != event:
            return
        with self.state_holder.lock:
            self.state_holder.session_data.pop(visit, None)
            self.state_holder.time_last_used.pop(visit, None)
        now = time.monotonic()
        self._answered.append((now, visit))
        while self._answered[0][0] < now - ANSWER_SECONDS:
            _, old = self._answered.popleft()
            self._queue.pending_messages_per_session.pop(old, None)
            self._queue.pending_event_ids_session.pop(old, None)

    async def preprocess_data(self, *args: Any, **kwargs: Any) -> list[Any]:
        """See Gradio; a value that a component does not accept is an error of the sender."""
        try:
            _check_files(args[1] if len(args) > 1 else kwargs.get("inputs"))
            return await super().preprocess_data(*args, **kwargs)
        except (gr.Error, RequestError):
            raise
        except Exception as error:
            raise RequestError(f"What was sent does not fit: {_brief(error)}") from error


def _check_files(values: Any) -> None:
    """Refuse files that Gradio would fetch from other servers.

    Raises:
        RequestError: one lies elsewhere.
    """
    pending = [values]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if re.match(r"\s*\w{2,}:/", str(item.get("path") or "")):
                raise RequestError("A file that was sent here is needed; got the address of another one.")
            pending += item.values()
        elif isinstance(item, (list, tuple)):
            pending += item


def spoken(error: Exception) -> gr.Error:
    """Turn an error into what Gradio hands to the caller, without traceback; an unexpected one is a line in the log."""
    if isinstance(error, gr.Error):
        sentence = str(error.message)
    elif isinstance(error, (UserError, OSError)):
        sentence = str(error)
    else:
        _log.error("an event failed: %s", in_a_line(error))
        _log.debug("in full", exc_info=error)
        sentence = _FAILED
    return gr.Error(sentence.encode("utf-8", "replace").decode(), print_exception=False)


def _brief(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]
