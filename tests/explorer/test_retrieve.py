"""Neighbours of a query against a slow, independent reading of the embeddings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from explorer.server.library import Library
from explorer.tabs.live.neighbours import neighbours
from tests.synthetic import make_run
from trainers.errors import RunError
from trainers.runs.records import Snapshot


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path, tmp_path / "recorded")


def test_results_are_the_nearest_with_their_shared_levels(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, points=200, frames=3)
    labels = folder.probe().labels
    found = neighbours(library, library.get(folder.id), 2, 17)
    assert found["k"] == 2 and found["index"] == 17
    for arm, vectors in zip(found["arms"], folder.embeddings(2), strict=True):
        cosine = vectors.astype(np.float64) @ vectors[17].astype(np.float64)
        cosine[17] = -2
        nearest = np.sort(cosine)[::-1][:10]
        assert arm["similarity"] == pytest.approx(nearest.tolist(), abs=2e-3)
        assert 17 not in arm["ids"] and len(arm["ids"]) == 10
        for result, shared in zip(arm["ids"], arm["shared"], strict=True):
            assert shared == sum(int(a == b) for a, b in zip(labels[17], labels[result], strict=True))


def test_scores_of_a_query_match_a_slow_reading(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, points=200, frames=3)
    labels = folder.probe().labels
    for k in (0, 2):
        arms = neighbours(library, library.get(folder.id), k, 17)["arms"]
        for arm, vectors in zip(arms, folder.embeddings(k), strict=True):
            cosine = vectors.astype(np.float64) @ vectors[17].astype(np.float64)
            order = [i for i in np.argsort(-cosine) if i != 17]
            same = np.array([labels[i, 0] == labels[17, 0] for i in order])
            precision = np.cumsum(same) / np.arange(1, len(order) + 1)
            ap, hap = arm["scores"]
            assert (ap["title"], hap["title"]) == ("AP", "H-AP")
            assert ap["value"] == pytest.approx(float(precision[same].mean()), abs=2e-3)
            assert hap["value"] == pytest.approx(_hierarchical_ap(labels[order], labels[17]), abs=2e-3)


def _hierarchical_ap(ranked: np.ndarray, query: np.ndarray) -> float:
    """H-AP as written in the paper, with relevance shared equally among the items of each level."""
    depth = ranked.shape[1]
    level = (ranked == query).sum(axis=1)
    relevance = np.array([(n / depth) / (level == n).sum() if n else 0.0 for n in level])
    total = 0.0
    for i in range(len(ranked)):
        if relevance[i] > 0:
            total += np.minimum(relevance[: i + 1], relevance[i]).sum() / (i + 1)
    return total / relevance.sum()


def test_a_query_alone_in_its_class_has_no_ap(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, points=24, frames=2)
    arm = neighbours(library, library.get(folder.id), 1, 3)["arms"][0]
    (only,) = arm["scores"]
    assert only["key"] == "HAP" and 0 < only["value"] <= 1


def test_embeddings_that_blew_up_have_no_scores(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, points=24, frames=1)
    broken = np.full((24, 4), np.nan, dtype=np.float16)
    folder.add_snapshot(Snapshot(k=0, step=0, seconds=0.0, embeddings=(broken, broken)))
    arm = neighbours(library, library.get(folder.id), 0, 3)["arms"][0]
    assert arm["similarity"] == [None] * 10 and arm["scores"] == []


def test_without_embeddings_only_the_ids_remain(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, points=60, frames=2)
    folder.embeddings_path(0).unlink()
    for arm in neighbours(library, library.get(folder.id), 0, 3)["arms"]:
        assert len(arm["ids"]) == 10
        assert arm["similarity"] == [None] * 10 and arm["scores"] == []


def test_few_points_have_few_results(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, points=6, frames=1)
    assert len(neighbours(library, library.get(folder.id), 0, 3)["arms"][0]["ids"]) == 5


def test_before_the_data_is_read_there_are_no_points(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, phase="queued")
    with pytest.raises(RunError, match="0 points"):
        neighbours(library, library.get(folder.id), 0, 0)
