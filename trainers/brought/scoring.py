"""Scores the frames of a training loop in a process of its own: in the loop's process the two would take turns.

``python -m trainers.brought.scoring`` reads labels, then embeddings, and answers each with a line of numbers.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from typing import Any, BinaryIO, cast

import numpy as np
import torch

from trainers.metrics.scores import score

_SHAPE = struct.Struct("<II")
_FIRST = 2
"""The frame with which the process is started: a loop that logs one alone needs none."""


def names(depth: int) -> list[str]:
    """Name what is measured on labels of so many levels."""
    return ["R_at_1", "AP_at_R", "HAP", "NDCG", "ASI", *(f"AP_level{level}" for level in range(depth))]


def scored(rows: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the numbers of embeddings ``[P, D]`` with labels ``[P, L]``, those that are defined."""
    measured = names(labels.shape[1])
    means = score(torch.from_numpy(rows), torch.from_numpy(labels).long(), metrics=measured).means(labels.shape[1])
    return {name: means[name] for name in measured if np.isfinite(means[name])}


class Scorer:
    """Scores frames with the same labels, in a process once that is there, before that and without one here.

    Args:
        labels: integers ``[P, L]``.
    """

    def __init__(self, labels: np.ndarray) -> None:
        self._labels = labels
        self._frames = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = threading.Event()

    def score(self, rows: np.ndarray) -> dict[str, float]:
        """Return what :func:`scored` does."""
        self._frames += 1
        if self._frames == _FIRST:
            with contextlib.suppress(OSError):
                self._start()
        if self._process is not None and self._ready.is_set():
            try:
                _send(cast(BinaryIO, self._process.stdin), rows.astype(np.float32))
                return dict(json.loads(cast(BinaryIO, self._process.stdout).readline()))
            except (OSError, ValueError):  # it is gone
                self.close()
        return scored(rows, self._labels)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    cast(BinaryIO, pipe).close()

    def _start(self) -> None:
        from trainers.training.executor import APART, program_environment

        environment = program_environment() | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            **APART,
        )
        threading.Thread(target=self._greet, args=(process,), daemon=True).start()

    def _greet(self, process: subprocess.Popen[bytes]) -> None:
        """Send the labels, and wait until they are taken."""
        with contextlib.suppress(OSError, ValueError):
            _send(cast(BinaryIO, process.stdin), self._labels.astype(np.int64))
            if cast(BinaryIO, process.stdout).readline():
                self._ready.set()


def _send(pipe: BinaryIO, array: np.ndarray) -> None:
    pipe.write(_SHAPE.pack(*array.shape) + array.tobytes())
    pipe.flush()


def _received(pipe: BinaryIO, kind: Any) -> np.ndarray | None:
    """Read an array; None: nothing comes any more."""
    head = pipe.read(_SHAPE.size)
    if len(head) < _SHAPE.size:
        return None
    rows, columns = _SHAPE.unpack(head)
    return np.frombuffer(pipe.read(rows * columns * np.dtype(kind).itemsize), kind).reshape(rows, columns).copy()


def main() -> None:
    """Answer until the pipe ends."""
    if hasattr(os, "nice"):
        os.nice(10)
    answers, sys.stdout = sys.stdout, sys.stderr
    labels = _received(sys.stdin.buffer, np.int64)
    print("ready", file=answers, flush=True)
    while labels is not None and (rows := _received(sys.stdin.buffer, np.float32)) is not None:
        print(json.dumps(scored(rows, labels)), file=answers, flush=True)


if __name__ == "__main__":
    main()
