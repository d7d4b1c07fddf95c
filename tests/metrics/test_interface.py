"""Names, errors, the decomposability gap."""

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
    found = evaluate(torch.eye(4), torch.tensor([0, 0, 1, 1]))
    assert list(found) == [*default_metrics(1), "queries", "queries_without_positive"]


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
