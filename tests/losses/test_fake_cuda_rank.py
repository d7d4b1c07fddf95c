"""On a GPU a rank loss waits for nothing: stand-ins for CUDA tensors have no numbers that could be asked for."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from tests.losses.batches import CORNERS, Batch
from trainers.losses import LOSSES
from trainers.losses._batch import PairBatch
from trainers.losses._smooth_rank import SmoothRank
from trainers.losses._sup_rank import SupRank


def rankers() -> dict[str, SupRank | SmoothRank]:
    tree = torch.tensor([[0, 0], [1, 0], [2, 1], [3, 1]])
    built = {name: loss.build(num_classes=4, dim=8, class_labels=tree) for name, loss in LOSSES.items()}
    built["sup_hap, lifted"] = LOSSES["sup_hap"].build(num_classes=4, dim=8, with_hrank=True)
    built["recall_at_k_patel, as printed"] = LOSSES["recall_at_k_patel"].build(num_classes=4, dim=8, form="paper")
    return {name: module.ranker for name, module in built.items() if hasattr(module, "ranker")}


RANKERS = rankers()


def test_all_rank_losses_are_here() -> None:
    assert {"sup_ap", "happier", "rod_ndcg", "sup_hap_weighted_ap", "rod_recall", "smooth_hap"} < set(RANKERS)


def numberless(ranker: SupRank | SmoothRank, batch: Batch, device: str) -> torch.Tensor:
    """The loss on a device without numbers, from labels that are on the host."""
    others = batch.labels if batch.gallery_labels is None else batch.gallery_labels
    itself = torch.arange(len(batch.labels)) if batch.gallery is None else torch.full((len(batch.labels),), -1)
    with FakeTensorMode(allow_non_fake_inputs=True):
        queries = torch.empty(len(batch.labels), 6, device=device, requires_grad=True)
        gallery = queries if batch.gallery is None else torch.empty(len(others), 6, device=device)
        pairs = PairBatch(
            queries=queries,
            similarity=queries @ gallery.T,
            labels=batch.labels,
            gallery_labels=others,
            itself=itself,
        )
        loss = ranker.loss(pairs)
        if device == "cpu":  # torch's backward pass needs the device itself, if not its numbers
            loss.backward()
            assert queries.grad.shape == queries.shape
    assert loss.device.type == device and loss.shape == ()


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize("name", RANKERS)
def test_no_number_is_asked_of_the_device(name: str, device: str) -> None:
    for corner in ("imbalanced", "three levels, singletons", "gallery, three levels", "all singletons"):
        numberless(RANKERS[name], CORNERS[corner], device)


@pytest.mark.parametrize("name", ("sup_hap", "sup_hap, lifted", "smooth_ndcg"))
def test_many_ranked_items_ask_for_none_either(name: str) -> None:
    labels = torch.arange(60) // 20
    batch = Batch(embeddings=torch.zeros(60, 6), labels=torch.stack([labels, labels // 2], 1), classes=3)
    numberless(RANKERS[name], batch, "cuda")


def test_the_stand_ins_do_notice_a_question() -> None:
    with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises(DataDependentOutputException):
        torch.empty(3, device="cuda").sum().item()
