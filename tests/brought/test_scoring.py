"""Frames of a loop are scored in a process of its own as they are here, and here once it is gone."""

from __future__ import annotations

import numpy as np

from trainers.brought.scoring import Scorer, scored


def test_a_process_scores_as_this_one_does_and_may_die() -> None:
    draws = np.random.default_rng(0)
    labels = np.stack([np.arange(60) % 8, np.arange(60) % 4], 1)
    rows = draws.normal(size=(60, 5)).astype(np.float32)
    scorer = Scorer(labels)
    assert scorer.score(rows) == scored(rows, labels) and scorer._process is None, "one frame needs none"
    assert scorer.score(rows) == scored(rows, labels), "nor is it waited for"
    process = scorer._process
    assert process is not None and scorer._ready.wait(120)
    assert scorer.score(rows) == scored(rows, labels) and process.poll() is None
    process.kill()
    process.wait()
    assert scorer.score(rows) == scored(rows, labels) and scorer._process is None
    scorer.close()
