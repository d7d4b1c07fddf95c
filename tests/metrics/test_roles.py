"""Queries against a gallery: every number equals that of a loop over the definitions, cameras and ties included."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.metrics import slow
from trainers.data.base import CAMERA, GALLERY, QUERY, ROLE
from trainers.data.roles import Roles
from trainers.metrics import evaluate
from trainers.metrics.neighbours import nearest_images
from trainers.metrics.scores import score, score_roles
from trainers.retrieval.mistakes import mistakes, severity_shares

NAMES = ("R_at_1", "R_at_5", "AP", "AP_at_R", "P_at_R", "HAP", "NDCG", "ASI", "AP_level0", "AP_level1")


def world(
    seed: int, count: int = 60, cameras: int | None = 3, tied: bool = False
) -> tuple[torch.Tensor, torch.Tensor, Roles]:
    """Embeddings, labels of two levels, and roles: about a third are queries, a few are neither."""
    draws = np.random.default_rng(seed)
    emb = draws.integers(-1, 2, (count, 3)).astype(float) if tied else draws.standard_normal((count, 8))
    emb[(emb == 0).all(1)] = 1.0
    finest = draws.integers(0, 9, count)
    role = draws.choice(3, count, p=(0.35, 0.6, 0.05)) if count > 3 else np.arange(count) % 2
    camera = None if cameras is None else draws.integers(-1, cameras, count)
    roles = Roles(query=role == 0, gallery=role == 1, camera=camera)
    return torch.from_numpy(emb), torch.from_numpy(np.stack([finest, finest // 3], axis=1)), roles


def allowed(q: int, labels: np.ndarray, roles: Roles) -> list[int]:
    """The images that ``q`` is searched among, one by one."""
    kept = []
    for j in range(len(labels)):
        own = roles.query[q] and labels[q, 0] == labels[j, 0]
        same = roles.camera is not None and roles.camera[q] >= 0 and roles.camera[q] == roles.camera[j]
        if roles.gallery[j] and j != q and not (own and same):
            kept.append(j)
    return kept


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("cameras", "tied"), [(None, False), (3, False), (1, True), (2, True), (None, True)])
def test_numbers_are_those_of_the_definitions(seed: int, cameras: int | None, tied: bool) -> None:
    emb, labels, roles = world(seed, cameras=cameras, tied=tied)
    scores = score_roles(emb, labels, roles, NAMES)
    depth, rows = labels.shape[1], labels.numpy()
    means: dict[str, list[float]] = {name: [] for name in NAMES}
    alone = 0
    for q in range(len(rows)):
        if not roles.query[q]:
            assert all(math.isnan(scores.values[name][q]) for name in NAMES) and scores.finest[q] == -1
            continue
        levels = [int((rows[q] == rows[j]).sum()) for j in slow.nearest(emb, rows, q, allowed(q, rows, roles))]
        alone += depth not in levels
        assert scores.finest[q] == levels.count(depth) and scores.related[q] == len(levels) - levels.count(0)
        for name in NAMES:
            expected = slow.score(name, levels, depth)
            assert scores.values[name][q] == pytest.approx(expected, abs=1e-12, nan_ok=True), (q, name)
            means[name] += [] if math.isnan(expected) else [expected]
    told = scores.means(depth)
    assert told["queries"] == roles.query.sum() and told["queries_without_positive"] == alone
    assert all(told[name] == pytest.approx(np.mean(values), abs=1e-12) for name, values in means.items())


def test_labels_without_a_tree_and_of_many_levels() -> None:
    emb, _, roles = world(1, cameras=2)
    for depth in (3, 8):  # of eight levels the related images are counted on the lists
        labels = torch.randint(0, 3, (len(emb), depth), generator=torch.Generator().manual_seed(depth))
        scores = score_roles(emb, labels, roles, ["R_at_1", f"AP_level{depth - 1}"])
        for q in roles.queries.tolist():
            order = slow.nearest(emb, labels.numpy(), q, allowed(q, labels.numpy(), roles))
            last = [bool(labels[q, -1] == labels[j, -1]) for j in order]
            shared = sum(bool((labels[q] == labels[j]).any()) for j in order)
            assert scores.values[f"AP_level{depth - 1}"][q] == pytest.approx(slow.ap(last), nan_ok=True)
            assert scores.related[q] == shared


def test_many_queries_are_ranked_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    emb, labels, roles = world(2, count=200)
    whole = score_roles(emb, labels, roles, NAMES)
    monkeypatch.setattr("trainers.metrics.blocks.BLOCK", 500)
    parts = score_roles(emb, labels, roles, NAMES)
    assert all(np.array_equal(whole.values[name], parts.values[name], equal_nan=True) for name in NAMES)
    said: list[int] = []
    score_roles(emb, labels, roles, NAMES, progress=said.append)
    assert said[-1] == roles.query.sum()


def test_without_roles_it_is_what_it_was() -> None:
    emb, labels, _ = world(3)
    first, second = score_roles(emb, labels, None, NAMES), score(emb, labels, metrics=NAMES)
    assert all(np.array_equal(first.values[name], second.values[name], equal_nan=True) for name in NAMES)
    assert first.means(2) == evaluate(emb, labels, metrics=NAMES)


def test_labels_of_one_level_and_sides_that_are_empty() -> None:
    emb, labels, roles = world(4)
    flat, table = (score_roles(emb, some, roles, ["AP"]).values["AP"] for some in (labels[:, 0], labels[:, :1]))
    assert np.array_equal(flat, table, equal_nan=True)
    none = np.zeros(len(emb), bool)
    for query, gallery in ((none, ~none), (~none, none)):
        told = score_roles(emb, labels, Roles(query=query, gallery=gallery, camera=roles.camera), ["AP"]).means(2)
        assert math.isnan(told["AP"]) and told["queries"] == told["queries_without_positive"] == query.sum()


def test_a_worked_example() -> None:
    """The query's twin by its own camera is no result, nor is the other query; the distractor in front counts."""
    emb = torch.tensor([[1.0, 0.0], [0.99, 0.01], [0.9, 0.2], [0.8, 0.4], [1.0, 0.01]])
    labels = torch.tensor([7, 7, 5, 7, 7])
    query = np.array([True, False, False, False, True])
    camera = np.array([0, 0, 0, 1, 0])
    values = score_roles(emb, labels, Roles(query=query, gallery=~query, camera=camera), ["R_at_1", "AP"]).values
    assert values["R_at_1"][[0, 4]].tolist() == [0, 0] and values["AP"][[0, 4]].tolist() == [0.5, 0.5]
    values = score_roles(emb, labels, Roles(query=query, gallery=~query), ["R_at_1"]).values
    assert values["R_at_1"][0] == 1


@pytest.mark.parametrize("cameras", [None, 2])
def test_lists_of_results_are_those_that_are_scored(cameras: int | None) -> None:
    emb, labels, roles = world(5, cameras=cameras, tied=True)
    rows = labels.numpy()
    ids = nearest_images(emb, rows, 99, roles)
    assert ids.shape[1] == roles.least(rows[:, 0]) == min(len(allowed(q, rows, roles)) for q in range(len(rows)))
    for q in range(len(rows)):
        assert ids[q].tolist() == slow.nearest(emb, rows, q, allowed(q, rows, roles))[: ids.shape[1]]
    few = nearest_images(emb, rows, 2, roles)
    result = mistakes(few, rows, roles=roles)
    finding = [q for q in roles.queries if any(rows[j, 0] == rows[q, 0] for j in allowed(q, rows, roles))]
    assert (result.queries, result.left_out) == (len(finding), roles.query.sum() - len(finding))
    right = np.mean([rows[few[q, 0], 0] == rows[q, 0] for q in finding])
    assert result.top1[2] == pytest.approx(right) and severity_shares(few, rows, roles)[0][2] == pytest.approx(right)
    assert {confusion.query for confusion in result.confusions} <= set(finding)
    wanted = roles.to_find(rows)
    for q in finding:
        counted = [sum(rows[j, level] == rows[q, level] for j in allowed(q, rows, roles)) for level in (0, 1)]
        assert wanted[q].tolist() == counted


@pytest.mark.parametrize(
    ("values", "names", "expected"),
    [
        ({ROLE: [0, 1, -1]}, {ROLE: (QUERY, GALLERY)}, ([True, False, False], [False, True, False], None)),
        (
            {ROLE: [0, 1, 1], CAMERA: [1, 0, -1]},
            {ROLE: (QUERY, GALLERY), CAMERA: ("", "c1")},
            ([True, False, False], [False, True, True], [1, -1, -1]),
        ),
        ({ROLE: [0, 0]}, {ROLE: (QUERY, GALLERY)}, None),
        ({ROLE: [0, 1]}, {ROLE: ("forest", "shed")}, None),
        ({CAMERA: [0, 1]}, {CAMERA: ("c1", "c2")}, None),
        ({}, {}, None),
    ],
)
def test_roles_are_read_from_attributes(values, names, expected) -> None:
    roles = Roles.of({name: torch.tensor(column) for name, column in values.items()}, names)
    if expected is None:
        assert roles is None
        return
    assert roles is not None
    assert (roles.query.tolist(), roles.gallery.tolist()) == expected[:2]
    assert (None if roles.camera is None else roles.camera.tolist()) == expected[2]
