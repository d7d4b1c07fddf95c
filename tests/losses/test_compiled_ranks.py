"""The compiled form of the rank losses against the walk in chunks, which is held against the slow formulas."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numba
import pytest
import torch
from torch import Tensor

from tests.losses.batches import CORNERS, draw, tree_labels
from trainers.losses import LOSSES, kernel
from trainers.losses._batch import Batch
from trainers.losses._compiled_ranks import _kernels, serves
from trainers.losses._numba import compiled
from trainers.losses._rank_loss import SmoothRank, SupRank

SUP = ("sup_ap", "sup_hap", "sup_hap_weighted_ap", "sup_ndcg", "sup_recall")
SMOOTH = ("smooth_ap", "smooth_hap", "smooth_ndcg", "smooth_recall", "recall_at_k_patel")
CHUNKED = 10_000
EPS = {torch.float64: 1e-10, torch.float32: 2e-3}  # the noise of a cosine of float32 is 6e-8 / tau in a sigmoid's slope

Ranker = SupRank | SmoothRank


def ranker(name: str, **parameters) -> Ranker:
    return LOSSES[name].build(num_classes=9, dim=8, **parameters).ranker


def pairs(similarity: Tensor, labels: Tensor, others: Tensor | None = None, itself: Tensor | None = None) -> Batch:
    own = torch.arange(len(labels)) if others is None else itself
    others = labels if others is None else others
    items = torch.eye(similarity.shape[1], dtype=similarity.dtype, device=similarity.device)
    return Batch(rows=similarity, others=items, labels=labels, other_labels=others, itself=own)


def solved(ranks: Ranker, batch: Batch) -> tuple[Tensor, Tensor]:
    similarity = batch.similarity.detach().requires_grad_()
    loss = ranks.loss(dataclasses.replace(batch, rows=similarity))
    loss.backward()
    return loss.detach(), similarity.grad


def agree(ranks: Ranker, batch: Batch, tolerance: float | None = None) -> None:
    assert serves(batch.similarity, ranks.surrogate)
    tolerance = tolerance or EPS[batch.similarity.dtype]
    loss, slope = solved(ranks, batch)
    slow, slow_slope = solved(dataclasses.replace(ranks, budget=CHUNKED), batch)
    assert loss.item() == pytest.approx(slow.item(), abs=tolerance, rel=tolerance)
    noise = 1e-12 if slope.dtype == torch.float64 else 1e-7  # the walk's own, of an item against itself
    assert (slope - slow_slope).abs().max() <= tolerance * slow_slope.abs().max() + noise


def cosines(batch, dtype: torch.dtype = torch.float64) -> Tensor:
    rows = torch.nn.functional.normalize(batch.embeddings.to(dtype), dim=1)
    others = rows if batch.gallery is None else torch.nn.functional.normalize(batch.gallery.to(dtype), dim=1)
    return rows @ others.T


def all_rankers() -> dict[str, Ranker]:
    found = {name: ranker(name) for name in SUP + SMOOTH}
    found["sup_hap, lifted"] = ranker("sup_hap", with_hrank=True)
    found["sup_ndcg, sop"] = ranker("sup_ndcg", preset="sop")
    found["recall_at_k_patel, as printed"] = ranker("recall_at_k_patel", form="paper")
    return found


RANKERS = all_rankers()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["double", "single"])
@pytest.mark.parametrize("name", RANKERS)
def test_equals_the_walk_in_chunks(name: str, dtype: torch.dtype) -> None:
    for corner, batch in CORNERS.items():
        if corner == "ties" and dtype == torch.float32:
            continue  # cosines of +-1 entries are exact in both; rounding decides them elsewhere
        agree(RANKERS[name], pairs(cosines(batch, dtype), batch.labels, batch.gallery_labels))


@pytest.mark.parametrize("tau", [0.001, 0.003, 0.02, 0.1, 1.0])
@pytest.mark.parametrize("name", ("sup_hap", "sup_ndcg", "smooth_hap"))
def test_every_width_of_the_sigmoid(name: str, tau: float) -> None:
    batch = draw([4, 7, 1, 9, 6, 12, 3], 3, 5, spread=0.4)
    for dtype in (torch.float64, torch.float32):
        agree(ranker(name, tau=tau), pairs(cosines(batch, dtype), batch.labels), {torch.float64: 1e-9}.get(dtype, 1e-2))


@pytest.mark.parametrize("more", [{"delta": 0.0}, {"delta": 1.0, "tau": 0.001}, {"rho": 0.0}, {"preset": "inat"}])
def test_every_shape_of_the_bound(more: dict) -> None:
    batch = draw([4, 7, 1, 9], 2, 6, spread=0.4)
    agree(ranker("sup_hap", **more), pairs(cosines(batch), batch.labels))


@pytest.mark.parametrize("name", RANKERS)
def test_collapsed_embeddings_and_a_single_query(name: str) -> None:
    labels = tree_labels([3, 2, 4], 2, torch.Generator().manual_seed(0))
    agree(RANKERS[name], pairs(torch.ones(9, 9, dtype=torch.float64), labels))
    one = torch.linspace(-1.0, 1.0, 9, dtype=torch.float64)[None]
    agree(RANKERS[name], pairs(one, labels[:1], labels, torch.tensor([-1])))


@pytest.mark.parametrize("name", ("sup_hap", "smooth_hap", "recall_at_k_patel"))
def test_a_gallery_with_some_queries_in_it_read_backwards_in_memory(name: str) -> None:
    generator = torch.Generator().manual_seed(2)
    labels, others = (tree_labels(sizes, 2, generator) for sizes in ([2, 3, 4], [9, 40, 31, 20]))
    itself = torch.where(torch.arange(9) % 2 == 0, torch.arange(9), -1)
    others[:9] = labels
    similarity = (2 * torch.rand(100, 9, generator=generator, dtype=torch.float64) - 1).T
    assert not similarity.is_contiguous()
    agree(RANKERS[name], pairs(similarity, labels, others, itself))


@pytest.mark.parametrize("name", RANKERS)
def test_without_positives_there_is_no_loss(name: str) -> None:
    loss, slope = solved(RANKERS[name], pairs(torch.rand(3, 4), torch.zeros(3, 1).long(), torch.ones(4, 1).long()))
    assert loss == 0 and not slope.any()


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("place", [(1, 0), (0, 7)], ids=["ranked", "below"])
def test_what_is_not_a_number_stays_none(name: str, place: tuple[int, int]) -> None:
    labels = torch.arange(9)[:, None] // 3
    similarity = torch.rand(9, 9, generator=torch.Generator().manual_seed(0))
    similarity[place] = torch.nan
    loss, slope = solved(RANKERS[name], pairs(similarity, labels))
    assert loss.isnan() and slope[place[0]].isnan().any()


@pytest.mark.parametrize("name", ("happier", "rod_ndcg", "smooth_hap"))
def test_single_precision_is_as_exact_as_the_walk(name: str) -> None:
    labels = torch.arange(192)
    labels = torch.stack([labels // 4, labels // 32], 1)
    embeddings = torch.randn(192, 16, generator=torch.Generator().manual_seed(0)) + labels[:, 1:] % 3
    similarity = cosines(dataclasses.replace(CORNERS["flat"], embeddings=embeddings), torch.float32)
    truth, true_slope = solved(ranker(name), pairs(similarity.double(), labels))
    off = []
    for budget in (None, CHUNKED):
        loss, slope = solved(dataclasses.replace(ranker(name), budget=budget), pairs(similarity, labels))
        off.append(((loss - truth).abs().item(), (slope - true_slope).abs().max().item()))
    assert off[0][0] <= 2 * off[1][0] + 1e-6
    assert off[0][1] <= 2 * off[1][1]


@pytest.mark.parametrize("name", ("sup_hap, lifted", "smooth_hap"))
def test_threads_change_no_bit(name: str) -> None:
    batch = draw([4, 7, 1, 9, 6, 12, 3] * 25, 3, 5, spread=0.4)  # pairs enough for several threads
    given = pairs(cosines(batch, torch.float32), batch.labels)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append(solved(RANKERS[name], given))
    finally:
        torch.set_num_threads(before)
    for loss, slope in found[1:]:
        assert torch.equal(loss, found[0][0]) and torch.equal(slope, found[0][1])


def test_the_measure_is_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = CORNERS["three levels, singletons"]
    monkeypatch.setattr("trainers.losses._compiled_ranks._MEASURED", 20)
    agree(RANKERS["sup_hap"], pairs(cosines(batch), batch.labels))


def two_levels() -> Batch:
    batch = CORNERS["two levels"]
    return pairs(cosines(batch), batch.labels)


WITHOUT = """
import sys
sys.modules["trainers.losses._rank_kernels"] = None
import torch
from tests.losses.test_compiled_ranks import RANKERS, kernel, solved, two_levels
torch.save(solved(RANKERS["sup_hap"], two_levels()), sys.argv[1])
print(kernel("cpu", {"sup"}), kernel(), sep="\\n")
"""
COMPILED = "Rank losses: compiled for this processor by numba."


def assert_close_to_compiled(name: str, found: tuple[Tensor, Tensor]) -> None:
    assert kernel() == COMPILED and kernel("cuda:1") == "Rank losses: PyTorch operations on cuda."
    (loss, slope), compiled_here = found, solved(RANKERS[name], two_levels())
    torch.testing.assert_close(loss, compiled_here[0], rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(slope, compiled_here[1], rtol=1e-9, atol=1e-12)


def test_without_numba_the_loss_is_the_same_and_the_log_says_so(tmp_path: Path) -> None:
    path = tmp_path / "solved.pt"
    command = [sys.executable, "-c", WITHOUT, str(path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert "cannot be used" in lines[0] and "numba cannot be used" in lines[1]
    assert_close_to_compiled("sup_hap", torch.load(path))


def test_where_one_form_cannot_be_compiled_the_loss_is_the_same_and_the_log_says_so() -> None:
    def broken(*_given: object) -> None:
        raise RuntimeError("no code for this processor")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainers.losses._rank_kernels.smooth", broken)
        _kernels.cache_clear()
        assert kernel("cpu", {"sup"}) == COMPILED and "no code for this" in kernel()
        found = solved(RANKERS["smooth_hap"], two_levels())
    _kernels.cache_clear()
    assert_close_to_compiled("smooth_hap", found)


def test_a_function_is_compiled_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = [], numba.njit

    def njit(**options):
        made.append(options.get("cache", False))
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiled()(lambda x: x + 1)(2) == 3
    assert made == [True, False]


def test_nothing_is_kept_in_a_folder_that_others_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def double(x):
        return 2 * x

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for mode, kept in ((0o777, 0), (0o700, 1)):
        tmp_path.chmod(mode)
        assert compiled()(double)(2) == 4
        assert len(list(tmp_path.rglob("*.nbc"))) == kept
