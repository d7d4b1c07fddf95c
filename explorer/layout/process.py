"""The layout process: ``python -m explorer.layout.process <runs folder>``.

It reads lines ``watch <run id>`` from standard input and ends when that is closed, so it never outlives its parent,
however that dies. Runs that train are found without being asked for.

``python -m explorer.layout.process <runs folder> --fill <run id>`` draws the missing maps of one run and ends.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from explorer.layout.environment import environment
from trainers.progress import interval
from trainers.registry import importing
from trainers.training import parent_watch

IDLE_SECONDS = interval(0.2)  # between two rounds when there was nothing to do
GRACE_SECONDS = 0.7  # for a frame that is being made when the process is told to end
KILL_SECONDS = 1.2  # then it is killed from outside: compiled code holds the interpreter for seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until standard input is closed."""
    parser = argparse.ArgumentParser(prog="python -m explorer.layout.process", description="Draws the maps of runs.")
    parser.add_argument("root", type=Path, help="folder of the runs")
    parser.add_argument("--fill", metavar="RUN", help="draw what this run lacks, then end")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="layout: %(message)s")
    logging.getLogger("faiss").setLevel(logging.WARNING)
    for key, value in environment().items():
        os.environ.setdefault(key, value)
    if given.fill is not None:
        return _fill(given.root, given.fill)
    parent_watch.hold(KILL_SECONDS)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(5)  # training comes first
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    early: list[str] = []
    reader = _Reader(early.append, stop)
    reader.start()
    _serve(given.root, reader, early, stop)
    return 0


def _serve(root: Path, reader: _Reader, early: list[str], stop: threading.Event) -> None:
    # numpy and torch read the environment when they are imported, so not before it is set
    with importing():
        import torch

        from explorer.layout.service import LayoutService
        from explorer.layout.warm import Warmth

    torch.set_num_threads(1)
    warmth = Warmth()
    service = LayoutService(root, warmth)
    reader.deliver = service.watch
    for run_id in early:
        service.watch(run_id)
    warmth.start()
    while not stop.is_set():
        if not service.tick():
            stop.wait(IDLE_SECONDS)


def _fill(root: Path, run_id: str) -> int:
    from explorer.layout.session import Session
    from explorer.layout.warm import Warmth
    from trainers.errors import UserError
    from trainers.runs import RunFolder

    warmth = Warmth()
    warmth.start()
    warmth.wait(600)
    try:
        session = Session(RunFolder.open(root, run_id))
        while session.advance(warmth) or session.refine(warmth):
            pass
    except UserError as error:
        logging.error("%s", error)
        return 1
    logging.info("run %s has %d frames", run_id, len(session.folder.frames()))
    return 0


class _Reader(threading.Thread):
    """Reads the ids of viewed runs from the pipe; ends the process when the other end is closed."""

    def __init__(self, deliver: Callable[[str], None], stop: threading.Event) -> None:
        super().__init__(name="stdin", daemon=True)
        self.deliver = deliver
        self._stop_event = stop

    def run(self) -> None:
        rest = b""
        # os.read, not sys.stdin: a buffered reader in a daemon thread can abort the interpreter at exit
        while chunk := os.read(0, 4096):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                words = line.decode(errors="replace").split()
                if len(words) == 2 and words[0] == "watch":
                    self.deliver(words[1])
            rest = rest[-4096:]
        self._stop_event.set()
        threading.Event().wait(GRACE_SECONDS)
        os._exit(0)


if __name__ == "__main__":
    # not sys.exit: a compiler may still be at work in the background, and nobody waits for it
    parent_watch.leave(main())
