"""Losses against published values, and every rank loss against its slow formula: value and gradient, in the corners."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.losses import reference
from tests.losses.batches import CORNERS, Batch
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
AT_K, TAU = (1, 2, 5), 0.04


def finest(batch: Batch) -> tuple:
    columns = None if batch.gallery_labels is None else batch.gallery_labels[:, :1]
    return batch.embeddings, batch.labels[:, :1], batch.gallery, columns


def whole(batch: Batch) -> tuple:
    return batch.embeddings, batch.labels, batch.gallery, batch.gallery_labels


def graded(batch: Batch, alpha: float):
    return lambda levels: reference.relevances(levels, batch.labels.shape[1], alpha)


def binary(levels: list[int]) -> list[float]:
    return [float(v) for v in levels]


SOP = {"tau": 0.01, "rho": 100.0, "delta": 0.05, "start": 0.5, "offset": 1.44}
INAT = {"tau": 0.01, "rho": 100.0, "delta": 0.05, "start": 0.0, "offset": 1.0}
WIDE = {"tau": 0.1, "rho": 7.0, "delta": 0.2, "start": 0.3, "offset": None}
LIFT = {"beta": 25.0, "leak": 10.0, "gamma": 0.5}


def over(batch: Batch, score, labels=whole) -> Tensor:
    return reference.over_queries(*labels(batch), score)


def calibrated(batch: Batch, every: bool = False, a: float = 0.9, b: float = 0.6) -> Tensor:
    return reference.calibration(reference.asked(*finest(batch)), a, b, every)


def proxied(batch: Batch, module, temperature: float = 0.05) -> Tensor:
    return reference.proxy_softmax(batch.embeddings, batch.labels, module.proxies, temperature)


def sup_ap(batch: Batch) -> Tensor:
    return over(batch, reference.hap(binary, reference.BOUND), finest)


def sup_recall(batch: Batch) -> Tensor:
    return over(batch, reference.recall(AT_K, 1.0, reference.BOUND), finest)


# name -> (registry name, parameters, reference of (batch, module))
CASES = {
    "smooth_ap": ("smooth_ap", {"tau": TAU}, lambda b, m: over(b, reference.hap(binary, tau=TAU), finest)),
    "sup_ap": ("sup_ap", {}, lambda b, m: over(b, reference.hap(binary, reference.BOUND), finest)),
    "sup_ap sop": ("sup_ap", {"preset": "sop"}, lambda b, m: over(b, reference.hap(binary, SOP), finest)),
    "sup_ap, delta after tau": (
        "sup_ap",
        {"tau": 0.04, "rho": 10.0},
        lambda b, m: over(
            b, reference.hap(binary, {**reference.BOUND, "tau": 0.04, "rho": 10.0, "delta": 0.2}), finest
        ),
    ),
    "sup_ap, delta set": (
        "sup_ap",
        {"tau": 0.04, "delta": 0.05},
        lambda b, m: over(b, reference.hap(binary, {**reference.BOUND, "tau": 0.04}), finest),
    ),
    "sup_ap wide": ("sup_ap", WIDE, lambda b, m: over(b, reference.hap(binary, WIDE), finest)),
    "calibration": ("calibration", {}, lambda b, m: calibrated(b)),
    "calibration all": (
        "calibration",
        {"mean_over": "all", "pos_margin": 0.5, "neg_margin": 0.1},
        lambda b, m: calibrated(b, True, 0.5, 0.1),
    ),
    "roadmap": ("roadmap", {}, lambda b, m: 0.9 * sup_ap(b) + 0.1 * proxied(b, m)),
    "roadmap pairs": ("roadmap", {"terms": "table_ii_pairs"}, lambda b, m: 0.9 * sup_ap(b) + 0.1 * calibrated(b)),
    "roadmap pairs, Eq. 7": (
        "roadmap",
        {"terms": "table_ii_pairs", "mean_over": "all"},
        lambda b, m: 0.9 * sup_ap(b) + 0.1 * calibrated(b, True),
    ),
    "roadmap 2021": (
        "roadmap",
        {"terms": "neurips_2021_pairs"},
        lambda b, m: 0.5 * sup_ap(b) + 0.5 * calibrated(b),
    ),
    "roadmap 2021, code": (
        "roadmap",
        {"terms": "neurips_2021_code_pairs"},
        lambda b, m: sup_ap(b) + calibrated(b),
    ),
    "roadmap, pairs named": (
        "roadmap",
        {"weight_ap": 1.0, "weight_calibration": 0.3},
        lambda b, m: sup_ap(b) + 0.3 * calibrated(b),
    ),
    "roadmap, proxies named": (
        "roadmap",
        {"terms": "table_ii_pairs", "weight_proxy": 0.2},
        lambda b, m: 0.9 * sup_ap(b) + 0.2 * proxied(b, m),
    ),
    "roadmap, both named": (
        "roadmap",
        {"weight_proxy": 0.2, "weight_calibration": 0.3},
        lambda b, m: 0.9 * sup_ap(b) + 0.3 * calibrated(b) + 0.2 * proxied(b, m),
    ),
    "proxy_nsm": ("proxy_nsm", {}, proxied),
    "sup_hap": ("sup_hap", {}, lambda b, m: over(b, reference.hap(graded(b, 1.0), reference.BOUND))),
    "sup_hap inat": (
        "sup_hap",
        {"preset": "inat", "alpha": 3.0},
        lambda b, m: over(b, reference.hap(graded(b, 3.0), INAT)),
    ),
    "sup_hap lifted": (
        "sup_hap",
        {"with_hrank": True},
        lambda b, m: over(b, reference.hap(graded(b, 1.0), reference.BOUND, smooth=LIFT)),
    ),
    "smooth_hap": ("smooth_hap", {"tau": TAU}, lambda b, m: over(b, reference.hap(graded(b, 1.0), tau=TAU))),
    "sup_hap_weighted_ap": (
        "sup_hap_weighted_ap",
        {},
        lambda b, m: over(
            b,
            reference.hap(
                lambda levels: reference.weighted_relevances(levels, [1.0 / b.labels.shape[1]] * b.labels.shape[1]),
                reference.BOUND,
            ),
        ),
    ),
    "happier": (
        "happier",
        {},
        lambda b, m: 0.9 * over(b, reference.hap(graded(b, 1.0), reference.BOUND)) + 0.1 * proxied(b, m),
    ),
    "happier_f": (
        "happier_f",
        {},
        lambda b, m: 0.9 * over(b, reference.hap(graded(b, 5.0), reference.BOUND)) + 0.1 * proxied(b, m),
    ),
    "smooth_recall": (
        "smooth_recall",
        {"tau": TAU, "at_k": AT_K, "temp": 2.0},
        lambda b, m: over(b, reference.recall(AT_K, 2.0, tau=TAU), finest),
    ),
    "sup_recall": (
        "sup_recall",
        {"at_k": AT_K},
        lambda b, m: over(b, reference.recall(AT_K, 1.0, reference.BOUND), finest),
    ),
    "rod_recall": ("rod_recall", {"at_k": AT_K}, lambda b, m: 0.9 * sup_recall(b) + 0.1 * proxied(b, m)),
    "rod_recall pairs": (
        "rod_recall",
        {"at_k": AT_K, "terms": "table_ii_pairs"},
        lambda b, m: 0.9 * sup_recall(b) + 0.1 * calibrated(b),
    ),
    "rod_recall pairs, Eq. 7": (
        "rod_recall",
        {"at_k": AT_K, "weight_calibration": 0.3, "mean_over": "all"},
        lambda b, m: 0.9 * sup_recall(b) + 0.3 * calibrated(b, True),
    ),
    "rod_recall, code": (
        "rod_recall",
        {"at_k": AT_K, "terms": "code_proxies"},
        lambda b, m: 0.5 * sup_recall(b) + 0.5 * proxied(b, m),
    ),
    "rod_recall, code, pairs": (
        "rod_recall",
        {"at_k": AT_K, "terms": "code_pairs"},
        lambda b, m: 0.5 * sup_recall(b) + 0.5 * calibrated(b),
    ),
    "rod_recall, both named": (
        "rod_recall",
        {"at_k": AT_K, "weight_recall": 1.0, "weight_proxy": 0.2, "weight_calibration": 0.3},
        lambda b, m: sup_recall(b) + 0.3 * calibrated(b) + 0.2 * proxied(b, m),
    ),
    "recall_at_k_patel": (
        "recall_at_k_patel",
        {"tau_rank": TAU, "k": AT_K, "tau_k": (1.0, 2.0, 0.5)},
        lambda b, m: over(b, reference.patel(AT_K, (1.0, 2.0, 0.5), TAU, b.gallery is None), finest),
    ),
    "recall_at_k_patel as printed": (
        "recall_at_k_patel",
        {"tau_rank": TAU, "k": (1, 2, 40), "form": "paper"},
        lambda b, m: over(b, reference.patel_as_printed((1, 2, 40), TAU, b.gallery is None), finest),
    ),
    "sup_ndcg": ("sup_ndcg", {}, lambda b, m: over(b, reference.ndcg(reference.BOUND))),
    "smooth_ndcg": ("smooth_ndcg", {"tau": TAU}, lambda b, m: over(b, reference.ndcg(tau=TAU))),
    "rod_ndcg": (
        "rod_ndcg",
        {},
        lambda b, m: 0.9 * over(b, reference.ndcg(reference.BOUND)) + 0.1 * proxied(b, m),
    ),
}


# Sums of two terms that are held against every corner one by one need fewer of them, as do other settings of a loss.
SUMS = {"roadmap", "happier", "happier_f", "rod_recall", "rod_ndcg"}
FEW_CORNERS = ("three levels, singletons", "gallery, three levels")
FIRST = {name: case for case, (name, _, _) in reversed(CASES.items()) if name not in SUMS}


@pytest.mark.parametrize(
    ("case", "corner"),
    [(case, corner) for case in CASES for corner in (CORNERS if case in FIRST.values() else FEW_CORNERS)],
)
def test_value_and_gradient_equal_the_slow_formula(case: str, corner: str) -> None:
    name, parameters, slow = CASES[case]
    batch = CORNERS[corner]
    torch.manual_seed(0)
    module = LOSSES[name].build(num_classes=batch.classes, dim=batch.embeddings.shape[1], **parameters).double()
    embeddings = batch.embeddings.clone().requires_grad_()
    loss = module(embeddings, batch.labels, batch.gallery, batch.gallery_labels)
    loss.backward()

    again = batch.embeddings.clone().requires_grad_()
    batch = Batch(**{**vars(batch), "embeddings": again})
    expected = slow(batch, module)
    (gradient,) = torch.autograd.grad(expected, again)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-11, rel=1e-11)
    scale = max(1e-6, gradient.abs().max().item())
    assert (embeddings.grad - gradient).abs().max().item() <= 1e-9 * scale + 1e-12


def test_every_rank_loss_is_held_against_a_reference() -> None:
    assert set(FAMILIES) <= {name for name, _, _ in CASES.values()}


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
