"""Momentum contrast against slow versions: the queue, its keys, and the cross-entropy that picks the first."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.oracle_cases import cases, checker, load
from trainers.errors import UserError
from trainers.kinds.contrastive.moco import NONE, KeyQueue, MoCo, first_cross_entropy


def _net(dim: int = 6) -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, dim)).double()


@pytest.mark.parametrize("case", cases("moco"))
def test_stored_reference(case: str) -> None:
    with load(case) as arrays:
        good, words = checker().check_moco({name: arrays[name] for name in arrays.files})
    assert good, words


def _slow(steps: int, batch: int, size: int, momentum: float, temperature: float, rate: float) -> dict[str, list]:
    """Algorithm 1 spelled out image by image, with lists; float64."""
    query_net, dim = _net(), 6
    key_net = copy.deepcopy(query_net)
    torch.manual_seed(9)
    columns = list(functional.normalize(torch.randn(dim, size, dtype=torch.float64), dim=0).T)
    place, losses, grads = 0, [], []
    for step in range(steps):
        images = _images(step, batch)
        queries = functional.normalize(query_net(images[0]), dim=1)
        with torch.no_grad():
            for key, query in zip(key_net.parameters(), query_net.parameters(), strict=True):
                key.copy_(momentum * key + (1 - momentum) * query)
            keys = functional.normalize(key_net(images[1]), dim=1)
        total = torch.zeros((), dtype=torch.float64)
        for query, key in zip(queries, keys, strict=True):
            scores = torch.stack([query @ key, *(query @ column for column in columns)]) / temperature
            total = total + scores.logsumexp(0) - scores[0]
        query_net.zero_grad()
        (total / batch).backward()
        losses.append(total.item() / batch)
        grads.append(torch.cat([weight.grad.flatten() for weight in query_net.parameters()]))
        for key in keys:
            columns[place] = key
            place = (place + 1) % size
        with torch.no_grad():
            for weight in query_net.parameters():
                weight -= rate * weight.grad
    return {"loss": losses, "grad": grads, "queue": torch.stack(columns, 1), "place": place}


def _images(step: int, batch: int) -> list[torch.Tensor]:
    draws = torch.Generator().manual_seed(step)
    return [torch.randn(batch, 5, generator=draws, dtype=torch.float64) for _ in range(2)]


@pytest.mark.parametrize(("batch", "size"), [(4, 8), (4, 10), (5, 7), (7, 5), (6, 6), (3, 1)])
@pytest.mark.parametrize("momentum", [0.0, 0.9, 1.0])
def test_equals_algorithm_1_for_any_queue_and_batch(batch: int, size: int, momentum: float) -> None:
    slow = _slow(5, batch, size, momentum, 0.2, 0.5)
    moco = MoCo(_net(), dim=6, queue_size=size, momentum=momentum, temperature=0.2).double()
    torch.manual_seed(9)
    moco.queue.copy_(functional.normalize(torch.randn(6, size, dtype=torch.float64), dim=0))
    for step in range(5):
        logits = moco(*_images(step, batch))
        loss = functional.cross_entropy(logits, torch.zeros(batch, dtype=torch.long))
        moco.zero_grad()
        loss.backward()
        assert loss.item() == pytest.approx(slow["loss"][step], abs=1e-12)
        grad = torch.cat([weight.grad.flatten() for weight in moco.encoder.parameters()])
        assert torch.allclose(grad, slow["grad"][step], atol=1e-12)
        with torch.no_grad():
            for weight in moco.encoder.parameters():
                weight -= 0.5 * weight.grad
    assert torch.allclose(moco.queue, slow["queue"], atol=1e-12)
    assert int(moco.pointer) == slow["place"]


def test_starts_equal_and_keys_get_no_gradient() -> None:
    moco = MoCo(_net(), dim=6, queue_size=16)
    for key, query in zip(moco.key_encoder.parameters(), moco.encoder.parameters(), strict=True):
        assert torch.equal(key, query) and not key.requires_grad
    assert torch.allclose(moco.queue.norm(dim=0), torch.ones(16))
    assert moco.filled == 0.0
    moco.double()(*_images(0, 4)).sum().backward()
    assert all(weight.grad is None for weight in moco.key_encoder.parameters())
    assert moco.filled == 0.25


def test_several_positives_are_one_after_the_other() -> None:
    moco = MoCo(_net(), dim=6, queue_size=9, temperature=1.0).double()
    query, first = _images(0, 4)
    second = _images(1, 4)[0]
    before = moco.queue.clone()
    logits = moco(query, [first, second])
    assert logits.shape == (8, 10)
    queries, keys = (functional.normalize(part, dim=1) for part in (moco.encoder(query), moco.key_encoder(second)))
    assert torch.allclose(logits[4:, 0], (queries * keys).sum(1))
    assert torch.allclose(logits[4:, 1:], queries @ before)
    assert int(moco.pointer) == 8


@pytest.mark.parametrize(("sharing", "own"), [("separate", 0), ("partly", 2), ("shared", 6)])
def test_sharing(sharing: str, own: int) -> None:
    moco = MoCo(_net(), dim=6, queue_size=8, momentum=0.5, sharing=sharing).double()
    mine = {id(weight) for weight in moco.encoder.parameters()}
    assert sum(id(weight) in mine for weight in moco.key_encoder.parameters()) == own
    moco(*_images(0, 4)).logsumexp(1).mean().backward()
    assert all(weight.grad is not None for weight in moco.encoder.parameters())


def test_what_is_no_dictionary_is_refused() -> None:
    with pytest.raises(UserError, match="separate, partly, shared"):
        MoCo(_net(), dim=6, queue_size=8, sharing="half")
    with pytest.raises(UserError, match="at least one key"):
        KeyQueue(4, 0)


def test_what_is_known_of_keys_travels_with_them() -> None:
    queue = KeyQueue(3, 5)
    keys = functional.normalize(torch.randn(4, 3), dim=1)
    queue.dequeue_and_enqueue(keys, torch.arange(4), torch.arange(10, 14))
    queue.dequeue_and_enqueue(keys[:3], torch.arange(4, 7), torch.arange(14, 17))
    assert queue.rows.tolist() == [5, 6, 2, 3, 4]
    assert queue.labels.tolist() == [15, 16, 12, 13, 14]
    assert queue.ages.tolist() == [0, 0, 1, 1, 0]
    assert queue.filled == 1.0
    sampled, rows, ages = queue.sample(3)
    assert ages.tolist() == sorted(ages.tolist()) and torch.equal(sampled, queue.keys.T[[0, 4, 3]])
    assert rows.tolist() == [5, 4, 3]
    queue.dequeue_and_enqueue(keys)
    assert (queue.rows == NONE).sum() == 4


def test_two_batches_before_the_gradient_are_refused() -> None:
    queue = KeyQueue(3, 5)
    queries = torch.randn(2, 3, requires_grad=True)
    similarities = queue.beside(queries.sum(1)[None], queries)
    for _ in range(2):
        queue.dequeue_and_enqueue(torch.randn(2, 3))
    with pytest.raises(RuntimeError, match="at most one batch"):
        similarities.sum().backward()


@pytest.mark.parametrize("positives", [1, 3])
def test_products_beside_own_numbers_and_their_gradient_after_a_batch_has_entered(positives: int) -> None:
    queue = KeyQueue(3, 5).double()
    queries = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    own = torch.randn(positives, 2, dtype=torch.float64, requires_grad=True)
    before, slopes = queue.keys.clone(), torch.randn(2 * positives, 6, dtype=torch.float64)
    logits = queue.beside(own, queries)
    plain = torch.cat([torch.cat([each[:, None], queries @ before], 1) for each in own])
    assert torch.allclose(logits, plain, atol=1e-14)
    expected = torch.autograd.grad(plain, (own, queries), slopes)
    queue.dequeue_and_enqueue(torch.randn(4, 3, dtype=torch.float64))
    assert all(
        torch.allclose(one, other, atol=1e-14)
        for one, other in zip(torch.autograd.grad(logits, (own, queries), slopes), expected, strict=True)
    )


# ------------------------------------------------------------------------- picking


@pytest.mark.parametrize("scale", [0.01, 1.0, 200.0, 1e4])
@pytest.mark.parametrize("shape", [(1, 2), (5, 2), (7, 301)])
def test_value_gradient_and_accuracy_are_torchs(shape: tuple[int, int], scale: float) -> None:
    torch.manual_seed(1)
    plain = (scale * torch.randn(shape, dtype=torch.float64)).requires_grad_()
    plain.data[0] = plain.data[0, 0]  # a tie
    same = plain.detach().clone().requires_grad_()
    expected = functional.cross_entropy(plain, torch.zeros(len(plain), dtype=torch.int64))
    (3 * expected).backward()
    loss, accuracy = first_cross_entropy(1 * same)
    (3 * loss).backward()
    assert torch.allclose(loss, expected, rtol=1e-12, atol=1e-12)
    assert torch.allclose(same.grad, plain.grad, rtol=1e-9, atol=1e-14)
    wins = [bool(row[0] > row[1:].max()) for row in plain]
    assert accuracy.item() == pytest.approx(sum(wins) / len(wins)) and not wins[0]
    assert not accuracy.requires_grad


def test_infinite_logits_give_a_loss_that_is_seen_to_be_wrong() -> None:
    loss, _ = first_cross_entropy(torch.tensor([[float("nan"), 1.0], [0.0, 1.0]]))
    assert loss.isnan()
