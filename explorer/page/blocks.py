"""Gradio's Blocks with uniform errors: one sentence for the visitor, one line in the log."""

from __future__ import annotations

import logging
import re
import time
from typing import Annotated, Any, NotRequired

import gradio as gr
from annotated_types import Len
from gradio import queueing
from gradio.exceptions import InvalidPathError
from gradio.utils import get_type_hints
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from explorer.server import plain
from explorer.server.http import RequestError, in_a_line
from explorer.server.visitors import ADDRESS
from trainers.errors import UserError

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""Options of an event that shows no progress and is no public function."""
_FAILED = "The server could not do this; its log says why. Check what was sent, or reload the page."
_Place = int | Annotated[list[int], Len(2, 2)]  # row and column of a table


class _Select(TypedDict):
    index: _Place
    value: Any
    row_value: NotRequired[list[Any] | None]


class _KeyUp(TypedDict):
    key: str
    input_value: str


_TOLD: dict[Any, TypeAdapter[Any]] = {
    gr.EventData: TypeAdapter(dict[str, Any]),
    gr.SelectData: TypeAdapter(_Select),
    gr.KeyUpData: TypeAdapter(_KeyUp),
}
"""What an event tells of itself, by what a function takes of it."""
ANSWER_SECONDS = 600.0
"""How long an answer waits to be fetched."""
UNREAD = (64, 1000)
"""Most messages of one visit that wait to be fetched, and of all; an answer takes up to three."""
_SENT_HERE = "A file that was sent here is needed; got the address of another one."
_log = logging.getLogger(__name__)


class Page(gr.Blocks):
    """The page; every event and every public function passes through here, whichever of Gradio's addresses it used.

    Args:
        login: Gradio adds its addresses to sign in and out with an account of the Hub, and the cookie for it.
    """

    def __init__(self, *args: Any, login: bool = False, **kwargs: Any) -> None:
        self._login = login
        self._answered: dict[str, float] = {}  # visits and when (monotonic seconds), the last one at the end
        self._unread = 0  # messages of all visits that wait at most: those counted last, and all that were sent since
        super().__init__(*args, **kwargs)

    @property
    def expects_oauth(self) -> bool:
        """See Gradio, which looks for its own button."""
        return self._login

    def queue(self, *args: Any, **kwargs: Any) -> Page:
        """See Gradio, whose queue ends for everybody when an event waits whose visit it has forgotten."""
        super().queue(*args, **kwargs)
        queue, send = self._queue, self._queue.send_message

        def sent(event: queueing.Event, event_message: Any) -> None:
            messages = queue.pending_messages_per_session.get(event.session_hash)
            if messages is not None and messages.qsize() < UNREAD[0]:
                self._unread += 1
                send(event, event_message)

        queue.send_message = sent  # type: ignore[method-assign]
        return self

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

    async def process_api(self, block_fn: Any, inputs: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """See Gradio; errors become sentences.

        Raises:
            gr.Error: always that, with a sentence.
        """
        try:
            plain.check(inputs)
            told = kwargs.get("event_data")
            if told is not None:
                plain.check(told._data)
                _check_event(block_fn, told._data)
            return await super().process_api(block_fn, inputs, *args, **kwargs)
        except Exception as error:
            raise spoken(error) from None
        finally:
            self._forget(kwargs.get("session_hash"), kwargs.get("event_id"))

    def _forget(self, visit: str | None, event: str | None) -> None:
        """Forget the visit of a program's single call, which Gradio names after the call: nobody can come back to it,
        and each takes two thirds of a megabyte. Its answer follows when it was not fetched in time, as those of every
        visit do: Gradio keeps 2,000 of them, and the names of all for ever."""
        if visit is None:
            return
        if visit == event:
            with self.state_holder.lock:
                self.state_holder.session_data.pop(visit, None)
                self.state_holder.time_last_used.pop(visit, None)
        now, queue = time.monotonic(), self._queue
        self._answered.pop(visit, None)
        self._answered[visit] = now
        oldest = next(iter(self._answered.values()))
        if oldest >= now - ANSWER_SECONDS and self._unread <= UNREAD[1]:
            return
        unread = {name: kept.qsize() for name, kept in queue.pending_messages_per_session.items()}
        self._unread, busy = sum(unread.values()), {each.session_hash for each in queue.event_ids_to_events.values()}
        for old, when in list(self._answered.items()):
            if when >= now - ANSWER_SECONDS and self._unread <= UNREAD[1]:
                break
            if old not in busy:  # or else its next answer counts
                queue.pending_messages_per_session.pop(old, None)
                queue.pending_event_ids_session.pop(old, None)
                self._unread -= unread.get(old, 0)
                del self._answered[old]

    async def preprocess_data(self, block_fn: Any, inputs: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """See Gradio; a value that a component does not accept is an error of the sender, and no text an empty one."""
        try:
            _check_files(inputs)
            read = await super().preprocess_data(block_fn, inputs, *args, **kwargs)
            texts = [isinstance(block, gr.Textbox) for block in block_fn.inputs]
            return ["" if text and value is None else value for text, value in zip(texts, read, strict=True)]
        except (gr.Error, RequestError):
            raise
        except InvalidPathError as error:  # whose words name this machine's folders
            raise RequestError(_SENT_HERE) from error
        except Exception as error:
            raise RequestError(f"What was sent does not fit: {_brief(error)}") from error


def _check_event(block_fn: Any, data: Any) -> None:
    """Refuse what an event tells of itself unless the function that is told of it can read it.

    Raises:
        RequestError: it cannot.
    """
    hints = [hint for hint in get_type_hints(getattr(block_fn, "fn", None)).values() if hint in _TOLD]
    for hint in hints:
        try:
            _TOLD[hint].validate_python(data)
        except ValidationError:
            raise RequestError(f"What was pressed or done was needed; got {plain.seen(data)}.") from None


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
                raise RequestError(_SENT_HERE)
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
