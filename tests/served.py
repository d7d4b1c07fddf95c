"""The page in this process, launched once for many tests and left as it was by each."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tests.waiting import wait

if TYPE_CHECKING:
    from explorer.explorer import Explorer
    from explorer.settings import Settings
    from trainers.training.executor import ProcessExecutor

T = TypeVar("T")
_OPEN: list[Explorer] = []


@contextmanager
def launched(settings: Settings, executor: ProcessExecutor | None = None, trains: bool = False) -> Iterator[Explorer]:
    """The page on a free port, as ``app.py`` launches it.

    Args:
        trains: the queue starts runs; otherwise they wait.
    """
    from explorer.explorer import Explorer

    page = Explorer(settings, executor)
    try:
        if trains:
            page.scheduler.begin()
        page.blocks.queue(default_concurrency_limit=8, max_size=64)
        how = {"prevent_thread_lock": True, "quiet": True, "inbrowser": False, "server_name": "127.0.0.1"}
        # without asking the page first, for whose answer Gradio waits three seconds, on a busy machine too
        page.blocks.launch(_frontend=False, **how, **page.launch_options)
        _OPEN.append(page)
        yield page
    finally:
        if page in _OPEN:
            _OPEN.remove(page)
        page.close()  # a page for strangers changes what the whole process may open
        gc.collect()  # Gradio leaves event loops behind; collected here, where the tests expect the warning


@contextmanager
def strangers() -> Iterator[None]:
    """Let this process open what strangers may open alone.

    A page for strangers does so from its start to its end; one that is shared is started, used and closed within this.
    """
    from trainers.data import access

    undo = access.serve_strangers()
    try:
        yield
    finally:
        undo()


@contextmanager
def shared_by_strangers(page: AbstractContextManager[T]) -> Iterator[T]:
    """A page for strangers that is open while other pages are, see :func:`strangers`."""
    with ExitStack() as stack:
        with strangers():
            opened = stack.enter_context(page)
        yield opened
        with strangers():
            stack.close()


@contextmanager
def left_as_they_were() -> Iterator[None]:
    """Take away what a test adds to the pages that are open at its start: runs, training or not, labels, uploads, and
    what waits in the queues.
    """
    pages = list(_OPEN)
    before = _kept(pages)
    try:
        yield
    finally:
        pages = [page for page in pages if page in _OPEN]
        added = _kept(pages) - before
        for page in pages:
            _stop(page, added)
        for path in added:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _kept(pages: Sequence[Explorer]) -> set[Path]:
    """Every run of the pages, what was written on it, and every upload."""
    if not pages:
        return set()
    from trainers.data import sources

    roots = {root for page in pages for root in (page.library.root, page.library.recorded)}
    runs = {path for root in roots for names in ("*", "*/label.json") for path in root.glob(names)}
    dropped = sources.home()
    return runs | (set() if dropped is None else set(dropped.glob("*")))


def _stop(page: Explorer, added: Iterable[Path]) -> None:
    from trainers.runs import RunFolder

    queue, busy = page.scheduler, [path for path in added if page.scheduler.is_busy(path.name)]
    for path in busy:
        if not (queue.stop_plan(path.name) or queue.take_out(path.name)):
            folder = RunFolder(path)
            folder.send("stop")
            folder.db.close()
    wait(lambda: not any(queue.is_busy(path.name) for path in busy), words="the runs of the last test stop")
    wait(lambda: not page.blocks.pending("127.0.0.1"), words="what the last test asked is answered")
    page.training.look_again()
