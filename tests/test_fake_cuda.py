"""Nothing waits for a GPU: losses, metrics, an embedding and a step run on CUDA tensors that hold no numbers.

Under ``FakeTensorMode`` a CUDA tensor has a shape and no values, on any machine. Whatever needs a value on the host (a
number that is read, a shape that values decide) raises there. Labels, which the host knows, are real and on the CPU.
Backward passes need a device; they run on ``meta`` tensors, which have no values either.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

from tests.equivalence import of_each
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.evaluation import embed
from trainers.losses import LOSSES, LossDescriptor, LossModule
from trainers.losses._memory import give_memory
from trainers.metrics import METRICS, blocks, checks, evaluate
from trainers.metrics.counterfactual import counterfactual
from trainers.metrics.gap import decomposability_gap
from trainers.metrics.image_text import recall_both_ways

DIM, CLASSES = 16, 6
TREE = torch.tensor([[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 1], [4, 2, 1], [5, 2, 1]])
ANY_SIZES = torch.tensor([4, 2, 3, 5, 2, 3, 3, 1, 5, 0, 2, 3, 2, 4, 5, 4])
LABELS = {"three levels": TREE[ANY_SIZES], "one level, many of a class": torch.arange(60) // 20}


@pytest.fixture(autouse=True)
def _nothing_is_pinned(monkeypatch) -> None:
    """Where there is a GPU the host's labels would be pinned, which torch has no fake form of."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def built(loss: LossDescriptor, **parameters) -> LossModule:
    return loss.build(num_classes=CLASSES, dim=DIM, class_labels=TREE, **parameters)


def shape(loss: LossDescriptor, labels: Tensor) -> tuple[int, ...]:
    return (len(labels), loss.views, DIM) if loss.views > 1 else (len(labels), DIM)


VARIANTS = {
    **{name: (name, {}) for name in LOSSES},
    "recall_at_k_patel, mixed": ("recall_at_k_patel", {"simix": True}),
    "multi_similarity, all": ("multi_similarity", {"epsilon": None}),
    "triplet, swapped": ("triplet", {"swap": True}),
    "triplet_hard, swapped": ("triplet_hard", {"swap": True}),
    "calibration, all": ("calibration", {"mean_over": "all"}),
    "roadmap, pairs": ("roadmap", {"terms": "table_ii_pairs"}),
    "sup_hap, lifted": ("sup_hap", {"with_hrank": True}),
    "recall_at_k_patel, as printed": ("recall_at_k_patel", {"form": "paper"}),
    "proxy_nsm, centres": ("proxy_nsm", {"num_centers": 3}),
}


@pytest.mark.parametrize("levels", LABELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_loss_asks_for_no_number(variant, levels):
    name, parameters = VARIANTS[variant]
    loss, labels = LOSSES[name], LABELS[levels]
    if name == "csl" or loss.level_proxies:  # made for the levels of the tree
        labels = labels if labels.ndim == 2 else TREE[labels]
    module = built(loss, **parameters)
    with FakeTensorMode(allow_non_fake_inputs=True):
        found = module.to("cuda")(torch.empty(shape(loss, labels), device="cuda"), labels)
    assert found.device.type == "cuda" and found.shape == ()


def memory_shape(name: str) -> tuple[str, int]:
    return LOSSES[name].family, LOSSES[name].views


@of_each([name for name, loss in LOSSES.items() if loss.gallery], memory_shape)
def test_a_loss_with_a_memory_asks_for_none(name):
    """Five batches: the memory fills and turns round."""
    loss, labels = LOSSES[name], LABELS["three levels"]
    module, said = give_memory(built(loss), loss, size=40, after=1, dim=DIM, levels=3)
    assert said
    with FakeTensorMode(allow_non_fake_inputs=True):
        module.to("cuda")
        for _ in range(5):
            found = module(torch.empty(shape(loss, labels), device="cuda"), labels)
    assert found.device.type == "cuda" and module.memory.rows.device.type == "cuda"
    assert module.memory.labels.device.type == "cpu" and int(module.memory.pushed) >= 5 * len(labels)


@pytest.mark.parametrize("variant", VARIANTS)
def test_its_gradient_asks_for_none(variant):
    name, parameters = VARIANTS[variant]
    loss, labels = LOSSES[name], LABELS["three levels"]
    module = built(loss, **parameters).to("meta")
    given = torch.empty(shape(loss, labels), device="meta", requires_grad=True)
    torch.stack(list(module.terms(given, labels).values())).sum().backward()
    assert given.grad.shape == given.shape
    assert all(parameter.grad is not None for parameter in module.parameters())


@pytest.fixture
def reads(monkeypatch) -> list[tuple[int, ...]]:
    """Shapes of what was read; everything read is 0."""
    found: list[tuple[int, ...]] = []

    def read(numbers: Tensor) -> np.ndarray:
        assert numbers.device.type == "cuda"
        found.append(tuple(numbers.shape))
        return np.zeros(numbers.shape, np.int64 if numbers.dtype == torch.int64 else np.float64)

    monkeypatch.setattr(checks, "read", read)
    return found


def asked(depth: int) -> list[str]:
    """Every metric of the catalogue by a name that :func:`evaluate` knows, at every level."""
    plain = [metric.name.replace("_at_k", "_at_2").replace("_level_l", "_level0") for metric in METRICS.values()]
    leveled = [name for name, metric in zip(plain, METRICS.values(), strict=True) if metric.each_level]
    return plain + [f"{name}_level{level}" for name in leveled for level in range(depth)]


CROSSED = torch.stack([torch.arange(16) % 4, torch.arange(16) // 4], 1)  # no tree


@pytest.mark.parametrize("labels", [TREE[ANY_SIZES], CROSSED, ANY_SIZES], ids=["tree", "no tree", "one level"])
@pytest.mark.parametrize("gallery", [False, True])
def test_metrics_are_read_once(labels, gallery, reads, monkeypatch):
    names = asked(labels.shape[1] if labels.ndim == 2 else 1)
    assert len(names) >= 9
    monkeypatch.setattr(blocks, "BLOCK", 5 * 16)  # several blocks of queries
    with FakeTensorMode(allow_non_fake_inputs=True):
        given = torch.empty(16, DIM, device="cuda")
        other = (torch.empty(16, DIM, device="cuda"), labels) if gallery else ()
        scores = evaluate(given, labels, *other, metrics=names, per_query=True)
    assert len(reads) == 1 and set(scores) == set(names)


def test_the_gap_is_read_once_a_set(reads):
    batches = torch.arange(16) % 3
    with FakeTensorMode(allow_non_fake_inputs=True):
        decomposability_gap(torch.empty(16, DIM, device="cuda"), ANY_SIZES, batches)
    assert len(reads) == 4


def test_photos_and_sentences_are_read_once_a_direction(reads):
    tables = torch.eye(5, dtype=torch.bool)
    gone, owner, texts = tables.flip(0) & ~tables, torch.arange(5), torch.tensor([0, 1, 1, 2, 3])
    with FakeTensorMode(allow_non_fake_inputs=True):
        photos, sentences = torch.empty(5, DIM, device="cuda"), torch.empty(5, DIM, device="cuda")
        counterfactual(photos, sentences, tables, tables, gone, ks=(1, 3))
        assert len(reads) == 1
        recall_both_ways(photos, sentences, owner, ks=(1, 3), texts=texts)
    assert len(reads) == 3


@pytest.mark.filterwarnings("ignore:CUDA is not available")
def test_an_embedding_comes_to_the_host_without_its_numbers_being_asked_for():
    encoder = ENCODERS["small_conv"].build(channels=3, side=16, dim=DIM, parameters={})
    images = torch.zeros(9, 3, 16, 16, dtype=torch.uint8)
    with FakeTensorMode(allow_non_fake_inputs=True):
        embeddings = embed(encoder.to("cuda"), images, torch.device("cuda"))
    assert embeddings.shape == (9, DIM) and embeddings.device.type == "cpu"


def test_such_tensors_do_notice_a_question():
    with FakeTensorMode(allow_non_fake_inputs=True):
        given = torch.empty(3, device="cuda")
        with pytest.raises(DataDependentOutputException):
            given.sum().item()
        with pytest.raises(DynamicOutputShapeException):
            given[given > 0]
