"""Equal similarities: every list that is shown has the order of the metrics, which counts them as badly as it can."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from explorer.server.library import Library
from explorer.tabs.live.neighbours import neighbours
from tests.metrics import slow
from tests.synthetic import make_run
from trainers.metrics.neighbours import best
from trainers.metrics.scores import score_query
from trainers.parameters import Choice
from trainers.retrieval.probe_results import probe_of, probe_results
from trainers.retrieval.results import FoundImage, Query, Ranking, RunArm, largest_tie, with_equals
from trainers.retrieval.retriever import Retriever, whole_order
from trainers.runs import RunFolder
from trainers.runs.records import Snapshot

MATCH = np.array([[1, 1], [0, 1], [0, 0], [1, 1], [0, 0], [0, 1]], bool)
"""Agreement with the query, which is row 0."""


@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("similarity", "match", "expected"),
    [
        ([1, 0.5, 0.5, 0.5, 0.5, 0.5], MATCH, [2, 4, 1, 5, 3]),
        ([1, 1, 1, 1, 1, 1], MATCH, [2, 4, 1, 5, 3]),
        ([1, 0.5, 0.5, 0.5, 0.5, 0.5], None, [1, 2, 3, 4, 5]),
        ([1, 0.5, 0.4, 0.5, 0.3, 0.4], MATCH, [1, 3, 2, 5, 4]),
        ([1, 0, 0, 0, 0, 1], MATCH, [5, 2, 4, 1, 3]),
        ([1, 0.5 + 1e-16, 0.5, 0.5 + 1e-15, 0.5, 0.5], MATCH, [2, 4, 1, 5, 3]),  # rounding is no difference
        ([1, -1, -1, -1, -1, -1], MATCH, [2, 4, 1, 5, 3]),
        ([1, 0.9, 0.8, 0.7, 0.6, 0.5], MATCH, [1, 2, 3, 4, 5]),
    ],
)
def test_the_less_related_of_equal_results_stands_first(
    similarity: list[float], match: np.ndarray | None, expected: list[int], number: type
) -> None:
    values: np.ndarray = np.array(similarity, number)
    for k in range(8):
        rows, near = best(values, k, np.array([0]), match)
        assert rows.tolist() == expected[:k]
        np.testing.assert_array_equal(near, values[rows])
    others = [row for row in expected if row != 3]
    assert whole_order(values, np.array([3]), np.array([0]), match).tolist() == [3, *others, 0]


@pytest.mark.parametrize(
    ("found", "left_out", "expected"),
    [([1], [0], [1, 3]), ([2], [0], [2]), ([1, 2, 5], [0], [1, 2, 3, 4, 5]), ([1], [], [0, 1, 3]), ([], [0], [])],
)
def test_what_is_as_similar_as_what_was_found_is_found(
    found: list[int], left_out: list[int], expected: list[int]
) -> None:
    similarity = np.array([0.5, 0.5, 0.4, 0.5 + 1e-16, 0.3, 0.3])
    assert with_equals(np.array(found, int), similarity, np.array(left_out, int)).tolist() == expected


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_every_index_lists_equal_images_as_the_metrics_do(index: str, run: RunFolder, tmp_path: Path) -> None:
    images = tmp_path / "images"
    for number in range(24):
        at = images / f"c{number % 4}" / f"{number:02d}.png"
        at.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (24, 24), (90, 30, 200)).save(at)
    gallery = Choice(name="dataset", parameters={"source": str(images)})
    answer = Retriever().retrieve([RunArm(folder=run, arm=0)], Query(row=1), gallery, k=5, index=Choice(name=index))
    listed = answer.arms[0].ranking
    assert answer.arms[0].error is None and listed is not None
    assert [result.severity for result in listed.results] == [0] * 5
    assert listed.tied.startswith("All 5 results are equally similar to the query; the less related stand first")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tree", [True, False])
def test_the_list_has_the_scores_of_the_metrics(seed: int, tree: bool) -> None:
    rng = np.random.default_rng(seed)
    match = rng.random((60, 3)) < 0.4
    match = np.logical_or.accumulate(match, axis=1) if tree else match
    similarity = rng.integers(-3, 3, 60) / 4
    rows, _ = best(similarity, 60, np.array([], int), match)
    names = ("AP", "HAP", "NDCG", "P_at_10", "AP_level2")
    assert score_query(match, names, order=rows) == pytest.approx(score_query(match, names, similarity=similarity))


@pytest.mark.parametrize(
    ("similarity", "count", "sentence"),
    [
        ([], 0, ""),
        ([0.9, 0.8, 0.7], 1, ""),
        ([0.9, 0.8, 0.8], 2, "2 of these 3 results are equally similar to the query"),
        ([0.8, 0.8, 0.8], 3, "All 3 results are equally similar to the query"),
        ([0.8, 0.8 + 1e-9, 0.1, 0.1, 0.1], 3, "3 of these 5 results are equally similar to the query"),
    ],
)
def test_a_ranking_says_how_many_are_equal(similarity: list[float], count: int, sentence: str) -> None:
    results = tuple(
        FoundImage(row=row, similarity=value, severity=None, classes=(), ancestor=None)
        for row, value in enumerate(similarity)
    )
    assert largest_tie(np.array(similarity)) == count
    assert Ranking(results=results, scores={}).tied == (f"{sentence}." if sentence else "")


def _equal(kind: str, rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    if kind == "all":
        rows[:] = rows[0]
    elif kind == "zero":
        rows[:] = 0
    elif kind == "half":
        rows[: len(rows) // 2] = rows[0]
    elif kind == "scaled":  # the same direction
        rows[:] = rows[0] * 2.0 ** (np.arange(len(rows)) % 3)[:, None]
    elif kind == "pairs":
        rows[1::2] = rows[::2]
    elif kind == "two":
        rows[::2], rows[1::2] = rows[0], rows[1]
    return rows


KINDS = ("all", "zero", "half", "scaled", "pairs", "two", "none")


def _tied_run(root: Path, kind: str, points: int = 60) -> RunFolder:
    folder = make_run(root, points=points, frames=1)
    rows = tuple(_equal(kind, arm) for arm in folder.embeddings(0))
    folder.add_snapshot(Snapshot(k=0, step=0, seconds=0.0, embeddings=rows))
    stored = []
    for arm, vectors in zip(folder.frame(0).arms, rows, strict=True):  # equal ones by index, as the map has them
        unit = vectors.astype(np.float32)
        unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
        cosine = unit @ unit.T
        np.fill_diagonal(cosine, -2)
        stored.append(replace(arm, neighbours=np.argsort(-cosine.round(6), axis=1, kind="stable")[:, :20].astype(int)))
    folder.add_frame(replace(folder.frame(0), arms=tuple(stored)))
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_a_run_have_the_order_of_the_metrics(kind: str, tmp_path: Path) -> None:
    folder = _tied_run(tmp_path, kind)
    labels = probe_of(folder).labels
    embeddings = [arm.astype(np.float32) for arm in folder.embeddings(0)]
    library = Library(tmp_path, tmp_path / "recorded")
    run = library.get(folder.id)
    found = probe_results(folder, 0, 10)
    for query in range(0, 60, 7):
        live = neighbours(library, run, 0, query)["arms"]
        for arm, vectors in enumerate(embeddings):
            expected = slow.nearest(vectors, labels, query)[:10]
            assert live[arm]["ids"] == expected
            listed = found[arm]
            assert listed is not None and listed[query].tolist() == expected
