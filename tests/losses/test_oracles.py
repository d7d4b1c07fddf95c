"""The rank losses against published reference values, in double and single precision."""

from __future__ import annotations

import json
from types import ModuleType

import numpy as np
import pytest
import torch

from tests import oracle_cases
from tests.shared import SHARED, needs
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
CASES = sorted(path.stem for path in (SHARED / "oracles").glob("*.npz") if path.name.split("__")[0] in FAMILIES)


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    return oracle_cases.checker()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["double", "single"])
@pytest.mark.parametrize("case", CASES or ["absent"])
def test_equals_the_published_value_and_gradient(checker: ModuleType, case: str, dtype: torch.dtype) -> None:
    path = needs(f"oracles/{case}.npz")
    good, detail = checker.check_loss(np.load(path), case.split("__")[0], dtype)
    assert good, detail


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("calibration")] or ["absent"])
def test_calibration_over_all_pairs_equals_the_printed_formula(case: str) -> None:
    file = np.load(needs(f"oracles/{case}.npz"))
    margins = {key: value for key, value in json.loads(str(file["hparams"])).items() if key.endswith("_margin")}
    module = LOSSES["calibration"].build(num_classes=99, dim=8, mean_over="all", **margins)
    embeddings = torch.tensor(file["emb"], dtype=torch.float64, requires_grad=True)
    loss = module(embeddings, torch.tensor(file["labels"]))
    loss.backward()
    assert loss.item() == pytest.approx(float(file["loss_paper"]), rel=1e-10)
    assert np.abs(embeddings.grad.numpy() - file["grad_emb_paper"]).max() < 1e-10
