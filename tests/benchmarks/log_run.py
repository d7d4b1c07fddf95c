"""What ``log_run`` costs a training loop: steps of 20 ms with and without it, in turn.

    python -m tests.benchmarks.log_run

A step waits for a device, as a loop on a GPU does, or with ``--processor`` makes products of matrices in one thread.
With ``log_run`` each step logs two numbers, and every fiftieth the embeddings of 2,000 test images, which a thread
has scored while the loop goes on, in a process that is awaited before the clock starts. Another program on the cores
disturbs products more than waiting.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable

import torch

from tests.programs import arguments
from trainers.brought.log import LoggedRun, log_run

STEP_SECONDS, FRAME_STEPS, IMAGES, DIM, SIDE = 0.020, 50, 2000, 128, 256


def _calibrated() -> Callable[[], object]:
    """Make a step: as many products as take 20 ms here."""
    matrix = torch.randn(SIDE, SIDE)

    def products(count: int) -> None:
        for _ in range(count):
            torch.mm(matrix, matrix)

    took = []
    for _ in range(20):
        began = time.perf_counter()
        products(20)
        took.append((time.perf_counter() - began) / 20)
    count = max(1, round(STEP_SECONDS / statistics.median(took)))
    return lambda: products(count)


def _steps(step: Callable[[], object], count: int, run: LoggedRun | None) -> list[float]:
    """Return the seconds of each of so many steps."""
    embeddings = torch.randn(IMAGES, DIM)
    spent = []
    for number in range(count):
        began = time.perf_counter()
        step()
        if run is not None:
            run.log(number, loss=1.0 / (1 + number), lr=0.1)
            if number % FRAME_STEPS == 0:
                run.frame(number, embeddings)
        spent.append(time.perf_counter() - began)
    return spent


def _awaited(run: LoggedRun) -> None:
    """Wait until frames are scored in a process of their own, which takes some seconds to start."""
    for frame in range(2):
        run.frame(frame, torch.randn(IMAGES, DIM))
        time.sleep(2.0)
    assert run._run is not None and run._run._scorer is not None
    assert run._run._scorer._ready.wait(120)


def _wait() -> None:
    time.sleep(STEP_SECONDS)


def measure(step: Callable[[], object], rounds: int, count: int) -> tuple[list[float], list[float]]:
    """Return the seconds of the steps without and with ``log_run``, which take turns."""
    labels = {"class": [number % 100 for number in range(IMAGES)]}
    plain: list[float] = []
    logged: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):  # the first is not counted
            bare = _steps(step, count, None)
            run = log_run("cost", runs=folder, labels=labels)
            _awaited(run)
            with_it = _steps(step, count, run)
            run.finish()
            if number:
                plain += bare
                logged += with_it
    return plain, logged


def main() -> None:
    """Print medians and means, and the share that ``log_run`` adds."""
    flags = arguments(
        __doc__,
        processor=(False, "steps that compute here"),
        rounds=(6, "that count"),
        steps=(200, "of each turn"),
    )
    torch.set_num_threads(1)
    plain, logged = measure(_calibrated() if flags.processor else _wait, flags.rounds, flags.steps)
    for name, of in (("median", statistics.median), ("mean", statistics.mean)):
        bare, with_it = of(plain), of(logged)
        print(f"{name}: {1e3 * bare:.2f} ms without, {1e3 * with_it:.2f} ms with log_run: {with_it / bare - 1:+.1%}")


if __name__ == "__main__":
    main()
