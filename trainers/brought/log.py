"""A training loop of one's own, shown and compared like a run that was trained here."""

from __future__ import annotations

import contextlib
import queue
import re
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from trainers.brought.writer import BroughtRun
from trainers.progress import interval

WRITE_SECONDS = interval(0.5)  # numbers of so long are written together
WAITING = 1024
"""Numbers that wait to be written; of more the newest are kept, and of frames one."""
T = TypeVar("T")
_KEY = re.compile(r"[A-Za-z0-9][\w ./@-]{0,60}")


def log_run(
    title: str,
    *,
    runs: Path | str = "runs",
    images: Sequence[Any] | None = None,
    labels: Mapping[str, Sequence[Any]] | Sequence[Any] | Tensor | np.ndarray | None = None,
    models: Sequence[str] = (),
    data: str = "",
) -> LoggedRun:
    """Begin a run that a training loop logs: the page shows it while it trains.

    Args:
        title: of the run, and of its model.
        runs: folder of the runs.
        images: the test images, for thumbnails: paths, bytes, PIL images, arrays or tensors.
        labels: of the test images, a level each, such as ``{"species": ..., "genus": ...}``, or one level's alone.
        models: names, where several models are logged at once.
        data: name of the images.

    Raises:
        UserError: at the beginning alone; later everything that goes wrong is a warning.
    """
    levels = _levels(labels)
    count = len(next(iter(levels.values()))) if levels else len(images) if images is not None else None
    named = list(models) or [title]

    def make(rows: int) -> BroughtRun:
        made = BroughtRun(Path(runs), data or "own images", named, levels, images, rows, logged=True)
        _name(made, title)
        return made

    return LoggedRun(make, len(named), count)


def _levels(labels: Any) -> dict[str, Sequence[Any]]:
    """Return labels by level; those without the name of one are ``label``."""
    if labels is None:
        return {}
    given = labels if isinstance(labels, Mapping) else {"label": labels}
    return {name: values.tolist() if hasattr(values, "tolist") else values for name, values in given.items()}


def _name(run: BroughtRun, title: str) -> None:
    from trainers.runs.label import NAME, Label, write_label

    write_label(run.folder.path, Label(name=" ".join(title.split())[:NAME]))


class LoggedRun:
    """A run that a loop logs. Its methods return at once and never raise: a thread of its own writes.

    Args:
        make: begins the run of so many images.
        models: how many there are.
        count: of the images; None: as many as the first embeddings.
    """

    def __init__(self, make: Callable[[int], BroughtRun], models: int, count: int | None) -> None:
        self._make = make
        self._models = models
        self._run = None if count is None else make(count)
        self._numbers: queue.Queue[tuple[int, int, dict[str, float]]] = queue.Queue(WAITING)
        self._frames: queue.Queue[tuple[int, Sequence[Any]]] = queue.Queue(1)
        self._wake, self._ended = threading.Event(), False
        self._said: set[str] = set()
        self._steps = _Steps()
        self._lost = "" if count is None else "No embeddings were logged, so there is nothing to see: call frame()."
        self._thread = threading.Thread(target=self._work, name="rankscope log", daemon=True)
        self._thread.start()

    @property
    def id(self) -> str:
        """Of the run; empty before its first embeddings, where neither labels nor images said how many there are."""
        return "" if self._run is None else self._run.folder.id

    def log(self, step: int | Mapping[str, float] | None = None, /, *, model: int = 0, **numbers: float) -> None:
        """Keep numbers of a step, such as ``loss``; others than finite ones are left out.

        A step below one that had the same number counts on from there: epochs that begin at 0 again stand in a row.

        Args:
            step: None: the number that is named ``step``. A dictionary: the numbers.
            model: which of several, counted from 0.
        """
        try:
            if isinstance(step, Mapping):
                numbers, step = {**step, **numbers}, None
            at = numbers.pop("step", None) if step is None else step
            kept = {key: value for name, number in numbers.items() for key, value in self._number(name, number)}
            at = self._counted(_checked_step(at), [(self._checked_model(model), key) for key in kept])
            if not self._over():
                _put_newest(self._numbers, (model, at, kept))
        except Exception as error:  # of whatever was handed over
            self._warn(error)
        self._wake.set()

    def _number(self, name: str, number: Any) -> list[tuple[str, float]]:
        """Return a number with its key; none if it is not finite, or no number, which is said once of a name."""
        try:
            key, value = _stored(name), float(number)
        except Exception as error:  # of whatever was handed over
            self._warn(f"{name!r:.60} is left out ({error})", about=name)
            return []
        return [(key, value)] if np.isfinite(value) else []

    def _counted(self, step: int, keys: Sequence[Any]) -> int:
        at, told = self._steps.count(step, keys)
        if told:
            self._warn(told, about="again" if "again" in told else "counted on")
        return at

    def _over(self) -> bool:
        if self._ended:
            self._warn("log and frame were called after finish, and keep nothing", about="after finish")
        return self._ended

    def frame(self, step: int, embeddings: Any) -> None:
        """Keep the embeddings of all test images at a step, ``[N, D]``, of several models a list of such.

        They are copied now and scored later; of those that come faster than they are scored the newest is kept.
        """
        try:
            every = list(embeddings) if self._models > 1 else [embeddings]
            copied = [
                rows.detach().to("cpu", torch.float32, copy=True) if isinstance(rows, Tensor) else np.array(rows)
                for rows in every
            ]
            at = self._counted(_checked_step(step), ["frame"])
            if not self._over():
                _put_newest(self._frames, (at, copied))
        except Exception as error:
            self._warn(error)
        self._wake.set()

    def finish(self) -> None:
        """Write what waits and the numbers of all images; returns when they are written."""
        self._ended = True
        self._wake.set()
        self._thread.join()

    def __enter__(self) -> LoggedRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        self._error = f"The training loop ended with {kind.__name__}: {error}"[:500] if kind else ""
        self.finish()

    _error = ""

    def _work(self) -> None:
        while not self._ended:
            self._wake.wait()
            self._wake.clear()
            self._guarded(self._write)
            self._wake.wait(WRITE_SECONDS)
        self._guarded(self._write)
        if self._run is None and not self._numbers.empty():
            self._warn(ValueError("no embeddings were logged, and neither labels nor images say of how many images"))
        if self._run is not None:
            self._guarded(partial(self._run.finish, self._error or self._lost))

    def _write(self) -> None:
        while not self._frames.empty():
            self._guarded(partial(self._write_frame, *self._frames.get_nowait()))
        while self._run is not None and not self._numbers.empty():
            model, step, numbers = self._numbers.get_nowait()
            self._run.numbers(model, step, numbers)

    def _write_frame(self, step: int, embeddings: Sequence[Any]) -> None:
        if self._run is None:
            self._run = self._make(len(embeddings[0]))
        self._lost = f"The embeddings of step {step}, the last ones, could not be kept."
        self._run.snapshot(step, embeddings)
        self._lost = ""

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # never into the loop
            self._warn(error)

    def _warn(self, error: Exception | str, about: str = "") -> None:
        """Warn once of each thing, and once of all that has no name."""
        if about not in self._said:
            self._said.add(about)
            with contextlib.suppress(Warning):  # where warnings are errors
                warnings.warn(f"This run is not logged completely: {error}", RuntimeWarning, stacklevel=3)

    def _checked_model(self, model: int) -> int:
        if not 0 <= int(model) < self._models:
            raise ValueError(f"a model from 0 to {self._models - 1} was needed; got {model}")
        return int(model)


class _Steps:
    """Counts steps on where a loop begins again at a lower one."""

    def __init__(self) -> None:
        self._before = 0
        self._newest: dict[Any, int] = {}

    def count(self, step: int, keys: Sequence[Any]) -> tuple[int, str]:
        """Return the step at which things are kept, and what is to be said of it: that it had one of them already."""
        told, last = "", max((self._newest.get(key, -1) for key in keys), default=-1)
        if step < last:
            self._before += max(self._newest.values()) + 1
            told = f"step {step} came after step {last}, so steps are counted on from {self._before}"
            self._newest.clear()
        elif step == last:
            told = f"of step {step} the same was logged again, and the later is kept"
        self._newest |= dict.fromkeys(keys, step)
        return self._before + step, told


def _checked_step(step: float | None) -> int:
    if step is None or not 0 <= int(step) < 2**53:
        raise ValueError(f"a step of 0 or more was needed; got {step}")
    return int(step)


def _put_newest(waiting: queue.Queue[T], thing: T) -> None:
    """Add a thing; where there is no room the oldest goes."""
    while True:
        try:
            waiting.put_nowait(thing)
        except queue.Full:
            with contextlib.suppress(queue.Empty):  # it was taken meanwhile
                waiting.get_nowait()
        else:
            return


def _stored(key: str) -> str:
    """Return the key under which a number of a loop is stored."""
    if key == "loss":
        return key
    if not _KEY.fullmatch(key):
        raise ValueError(f"a number needs a name of letters and digits; got {key!r:.60}")
    return f"logged/{key}"
