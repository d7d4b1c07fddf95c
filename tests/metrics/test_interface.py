"""Names, errors, the decomposability gap, a single query."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from tests.metrics import slow
from tests.metrics.worlds import listed, tree
from tests.oracle_cases import cases, checker, load
from trainers.errors import UserError
from trainers.metrics import decomposability_gap, default_metrics, evaluate
from trainers.metrics.scores import score_query


@pytest.mark.parametrize("stem", cases("metrics_binary", "metrics_hier"))
def test_reference_cases(stem):
    with load(stem) as case:
        good, detail = checker().check_metrics(case, torch.float64)
    assert good, detail


@pytest.mark.parametrize("stem", cases("metrics_ranked"))
def test_reference_ranked_lists(stem):
    with load(stem) as case:
        depth = json.loads(str(case["hparams"]))["levels"]
        wanted = [name[9:] for name in case.files if name.startswith("expected_") and "reference" not in name]
        got = listed(case["ranked_levels"].tolist(), depth, wanted)
        for name in wanted:  # the reference scores a list without a positive as 0, here it has no score
            want = np.where(np.isnan(got[name]) & (case[f"expected_{name}"] == 0), np.nan, case[f"expected_{name}"])
            np.testing.assert_allclose(got[name], want, rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("stem", cases("decomposability_gap"))
def test_reference_decomposability_gap(stem):
    with load(stem) as case:
        arrays = (torch.tensor(case[name]) for name in ("emb", "labels", "batch_id"))
        got = decomposability_gap(*arrays, per_query=True)
        for name, value in got.items():
            np.testing.assert_allclose(value, case[f"expected_{name}"], rtol=0, atol=1e-9, err_msg=name)


def test_decomposability_gap_by_its_definition():
    emb, labels = tree(6, 40, 1, branch=6)
    batch = np.random.default_rng(0).integers(0, 4, 40)
    want = []
    for q in range(40):
        inside = []
        for b in range(4):
            member = [j for j in range(40) if batch[j] == b and j != q]
            levels = slow.ranked_levels(emb[q : q + 1], labels[q : q + 1], emb[member], labels[member])[0]
            if any(levels):
                inside.append(slow.ap([v == 1 for v in levels]))
        want.append(np.mean(inside) if inside else np.nan)
    got = decomposability_gap(emb, labels, torch.tensor(batch), per_query=True)
    np.testing.assert_allclose(got["mean_batch_AP"], want, atol=1e-12)
    means = decomposability_gap(emb, labels, torch.tensor(batch))
    assert means["gap"] == pytest.approx(means["mean_batch_AP"] - means["AP"])
    one = decomposability_gap(emb, labels, torch.zeros(40, dtype=torch.long))
    assert one["gap"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "name", ["", "MAP", "R_at_0", "R_at_R", "P", "AP_at_", "HAP_level0", "AP_level2", "R_at_1_level9", "AP_at_-1"]
)
def test_unknown_names_are_refused(name):
    with pytest.raises(UserError):
        evaluate(torch.eye(4), torch.zeros(4, 2, dtype=torch.long), metrics=[name])


def test_default_metrics():
    assert default_metrics(1) == ("R_at_1", "AP_at_R", "AP", "HAP", "NDCG", "ASI")
    assert default_metrics(3)[6:] == ("AP_level0", "AP_level1", "AP_level2")
    scores = evaluate(torch.eye(4), torch.tensor([0, 0, 1, 1]))
    assert list(scores) == [*default_metrics(1), "queries", "queries_without_positive"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((torch.eye(4), torch.zeros(3, dtype=torch.long)), "whole-number labels"),
        ((torch.eye(4), torch.zeros(4)), "whole-number labels"),
        ((torch.ones(4), torch.zeros(4, dtype=torch.long)), "table"),
        ((torch.eye(4), torch.zeros(4, dtype=torch.long), torch.eye(4)), "labels"),
        ((torch.eye(4), torch.zeros(4, dtype=torch.long), torch.eye(5), torch.zeros(5, dtype=torch.long)), "dimension"),
        ((torch.full((4, 2), torch.nan), torch.zeros(4, dtype=torch.long)), "finite"),
        ((torch.eye(4), torch.zeros(4, dtype=torch.long), None, None, "AP"), "list"),
    ],
)
def test_errors_say_what_was_needed(arguments, words):
    with pytest.raises(UserError, match=words):
        evaluate(*arguments)


def test_the_gap_needs_a_batch_number_per_embedding():
    with pytest.raises(UserError, match="one batch number"):
        decomposability_gap(torch.eye(4), torch.zeros(4, dtype=torch.long), torch.zeros(3))


# ----------------------------------------------------------------------- one query


def world(seed: int, *, tree: bool, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(seed)
    rows = draws.standard_normal((80, 6))
    if ties:
        rows = draws.integers(-1, 2, (80, 3)).astype(float) + 0.1
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    finest = draws.integers(12, size=80)
    other = finest % 4 if tree else draws.integers(4, size=80)
    return rows, np.stack([finest, other, other % 2], axis=1)


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_similarities_give_what_evaluate_gives(tree: bool, ties: bool, dtype: type) -> None:
    for seed in range(5):
        rows, labels = world(seed, tree=tree, ties=ties)
        names, others = default_metrics(3), np.arange(80) != 7
        tensors = [torch.from_numpy(part) for part in (rows[7:8], labels[7:8], rows[others], labels[others])]
        expected = evaluate(*tensors, metrics=names, per_query=True)
        similarity = (torch.from_numpy(rows) @ torch.from_numpy(rows[7])).numpy().astype(dtype)
        found = score_query((labels == labels[7])[others], names, similarity=similarity[others])
        assert found == pytest.approx({name: float(value[0]) for name, value in expected.items()}, abs=1e-12)


def test_a_given_order_is_taken_as_it_is() -> None:
    rows, labels = world(0, tree=True, ties=False)
    match, similarity = labels[1:] == labels[0], rows[1:] @ rows[0]
    order = np.argsort(-similarity, kind="stable")
    assert score_query(match, ("AP", "HAP"), order=order) == score_query(match, ("AP", "HAP"), similarity=similarity)
    best = np.argsort(-match.sum(1), kind="stable")
    perfect = score_query(match, ("AP", "HAP", "NDCG"), order=best)
    assert perfect == pytest.approx({"AP": 1.0, "HAP": 1.0, "NDCG": 1.0})


def test_what_is_not_defined_is_left_out() -> None:
    match = np.array([[False, True], [False, False]])
    assert set(score_query(match, ("AP", "HAP"), similarity=np.array([0.5, 0.7]))) == {"HAP"}
    assert score_query(match & False, ("AP", "HAP", "NDCG"), similarity=np.array([0.5, 0.7])) == {}
