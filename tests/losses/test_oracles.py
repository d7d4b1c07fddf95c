"""Losses against published reference values, in double and single precision."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from tests.oracle_cases import cases, checker, load
from trainers.losses import LOSSES

FAMILIES = (
    "smooth_ap",
    "sup_ap",
    "calibration",
    "roadmap",
    "proxy_nsm",
    "sup_hap",
    "smooth_hap",
    "sup_hap_weighted_ap",
    "happier",
    "smooth_recall",
    "sup_recall",
    "rod_recall",
    "recall_at_k_patel",
    "sup_ndcg",
    "smooth_ndcg",
    "rod_ndcg",
)
"""The rank losses, which further tests go through."""
OTHERS = ("supcon_out", "supcon_in", "simclr", "csl", "xbm_contrastive", "contextual")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["double", "single"])
@pytest.mark.parametrize("stem", cases(*FAMILIES, *OTHERS))
def test_equals_the_published_value_and_gradient(stem: str, dtype: torch.dtype) -> None:
    with load(stem) as case:
        good, detail = checker().check_loss(case, stem.split("__")[0], dtype)
    assert good, detail


@pytest.mark.parametrize("stem", cases("calibration"))
def test_calibration_over_all_pairs_equals_the_printed_formula(stem: str) -> None:
    file = load(stem)
    margins = {key: value for key, value in json.loads(str(file["hparams"])).items() if key.endswith("_margin")}
    module = LOSSES["calibration"].build(num_classes=99, dim=8, mean_over="all", **margins)
    embeddings = torch.tensor(file["emb"], dtype=torch.float64, requires_grad=True)
    loss = module(embeddings, torch.tensor(file["labels"]))
    loss.backward()
    assert loss.item() == pytest.approx(float(file["loss_paper"]), rel=1e-10)
    assert np.abs(embeddings.grad.numpy() - file["grad_emb_paper"]).max() < 1e-10
