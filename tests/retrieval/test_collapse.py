"""Embeddings that have collapsed are said to have, beside the numbers of the run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from explorer.server.library import Library
from explorer.tabs.live.view import frame_info, poll
from tests.synthetic import make_run
from trainers.cli.main import main
from trainers.cli.work import described, result
from trainers.retrieval.probe_results import diagnosed, equal_by_arm, equal_images
from trainers.runs import RunFolder
from trainers.runs.records import Snapshot

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((40, 8)).astype(np.float32)
SIZES = RNG.uniform(0.1, 9, (40, 1)).astype(np.float32)
NARROW = ROWS[:1] * 100 + ROWS  # cosines of 0.99 and more, and no two are equal
COLLAPSED = "The embeddings have collapsed: all 40 images on the map have the same one."


@pytest.mark.parametrize(
    ("rows", "equal"),
    [
        (ROWS, 0),
        (NARROW, 0),
        (np.repeat(ROWS[:1], 40, axis=0), 40),
        ((ROWS[:1] * SIZES).astype(np.float16), 40),
        (np.zeros((40, 8)), 40),
        (ROWS[:1] + 1e-5 * ROWS, 40),
        (np.repeat(ROWS[:20], 2, axis=0), 40),
        (np.concatenate([ROWS[:30], ROWS[:1] * SIZES[:10]]), 11),
        (np.concatenate([ROWS[:20], np.zeros((20, 8))]), 20),
        (np.full((40, 8), np.nan), 0),
        (np.where(np.arange(40)[:, None] == 3, np.inf, 1.0), 0),
        (ROWS[:0], 0),
        (np.ones((2, 1)), 2),
    ],
)
def test_images_that_share_an_embedding_are_counted(rows: np.ndarray, equal: int) -> None:
    assert equal_images(rows) == equal


def _collapsed(root: Path) -> RunFolder:
    """The first arm of its second frame has collapsed."""
    folder = make_run(root, points=40, frames=2)
    arms = [arm.copy() for arm in folder.embeddings(1)]
    arms[0][:] = arms[0][0]
    folder.add_snapshot(Snapshot(k=1, step=folder.snapshots()[1][1], seconds=1.0, embeddings=tuple(arms)))
    return folder


def test_it_stands_where_the_numbers_of_the_run_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _collapsed(tmp_path)
    assert [bool(count) for count in equal_by_arm(folder, 0)] == [False, False]
    first, *others = diagnosed(folder.config, folder)
    assert first[0].startswith(COLLAPSED) and not any(COLLAPSED in said for arm in others for said in arm)
    assert result(folder).count(COLLAPSED) == 1
    assert COLLAPSED in described(folder)["arms"][0]["diagnosis"][0]
    library = Library(tmp_path, tmp_path / "recorded")
    run = library.get(folder.id)
    assert poll(run, None, -1, 0)["diagnosis"][0][0].startswith(COLLAPSED)  # type: ignore[arg-type]
    assert [bool(arm["equal"]) for arm in frame_info(run, 1)["arms"]] == [True, False]
    assert [bool(arm["equal"]) for arm in frame_info(run, 0)["arms"]] == [False, False]
    assert main(["mistakes", folder.id, "--json", "--runs", str(tmp_path)]) == 0
    assert sum(COLLAPSED in said for said in json.loads(capsys.readouterr().out)["said"]) == 1
