"""Stands in for the package ``spaces`` on ZeroGPU.

As there, a call is forked from the page into a daemonic process, gets pickled arguments, returns a pickled result, is
killed when its seconds are over, and counts towards the quota of the visitor whose Gradio event it belongs to. What is
trained is trained on the CPU. ``RANKSCOPE_TEST_QUOTA`` in the environment is each visitor's quota in seconds of a card,
times :data:`FACTOR`.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.context import LocalContext

FACTOR = 1.5
"""What a second of a card counts towards a quota."""
WORKER = "ZeroGPU worker error"
used: Counter[str] = Counter()


def GPU(task: Callable[..., Any], *, duration: Callable[..., float]) -> Callable[..., Any]:  # noqa: N802
    """Return ``task`` as it runs on ZeroGPU."""

    def lent(*args: Any) -> Any:
        visitor, seconds = _visitor(), duration(*args)
        left = float(os.environ.get("RANKSCOPE_TEST_QUOTA", "inf")) - used[visitor]
        if left < FACTOR * seconds:
            raise _error(
                f"You have exceeded your free ZeroGPU quota ({round(FACTOR * seconds)}s requested vs. {round(left)}s "
                "left). Try again in 3:21:05. "
            )
        started = time.monotonic()
        try:
            return _forked(task, args, seconds)
        finally:
            used[visitor] += FACTOR * (time.monotonic() - started)

    return lent


def _visitor() -> str:
    request: Any = LocalContext.request.get(None)
    name = None if request is None else request.headers.get("x-ip-token")
    if name is None:
        raise _error("Space app has reached its GPU limit. Try re-running outside of examples.")
    return str(name)


def _forked(task: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> Any:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(task, there), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, as ZeroGPU does
        process.start()
    there.close()
    try:
        here.send(args)
        if not here.poll(seconds):
            raise _error("GPU task aborted", WORKER)
        good, result = here.recv()
    except EOFError:
        raise _error("GPU task aborted", WORKER) from None
    finally:
        process.kill()
        process.join()
        here.close()
    if not good:
        raise _error(result, WORKER)
    return result


def _run(task: Callable[..., Any], there: Any) -> None:
    try:
        there.send((True, task(*there.recv())))
    except Exception as error:
        there.send((False, type(error).__name__))


def _error(message: str, title: str = "ZeroGPU quota exceeded") -> gr.Error:
    return gr.Error(message, title=title, print_exception=False)
