"""The XBM contrastive loss, the memory's ring, and a loss with a memory beside the batch."""

from __future__ import annotations

import pytest
import torch

from tests.losses.slow_contrastive import grad, xbm_contrastive
from tests.oracle_cases import assert_loss, cases, load
from trainers.errors import UserError
from trainers.losses import LOSSES
from trainers.losses._memory import CrossBatchMemory, WithMemory, give_memory


def build(name: str = "xbm_contrastive", **parameters):
    return LOSSES[name].build(num_classes=8, dim=5, **parameters)


@pytest.mark.parametrize("stem", cases("xbm_contrastive"))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_reference_cases(stem, dtype):
    assert_loss(stem, dtype)


@pytest.mark.parametrize("stem", cases("xbm_sup_ap"))
def test_reference_loss_with_memory(stem):
    with load(stem) as case:
        emb = torch.tensor(case["emb"]).double().requires_grad_()
        memory, labels = torch.tensor(case["memory_emb"]).double(), torch.tensor(case["memory_labels"])
        ring = CrossBatchMemory(size=len(memory), dim=emb.shape[1]).double()
        ring.push(memory, labels)
        loss = WithMemory(LOSSES["sup_ap"].build(num_classes=8, dim=emb.shape[1]), ring).eval()
        loss.batches += 1
        got = loss(emb, torch.tensor(case["labels"]))
        assert got.item() == pytest.approx(float(case["loss"]), abs=1e-9)
        torch.testing.assert_close(grad(got, emb), torch.tensor(case["grad_emb"]), rtol=0, atol=1e-7)


def test_value_and_gradient():
    torch.manual_seed(0)
    emb = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    gallery = torch.cat([torch.randn(9, 5, dtype=torch.float64), emb.detach()])
    labels = torch.tensor([0, 0, 1, 1, 2, 3])
    gallery_labels = torch.cat([torch.randint(0, 4, (9,)), labels])
    got = build(margin=0.2)(emb, labels, gallery, gallery_labels)
    want = xbm_contrastive(emb, labels, gallery, gallery_labels, 0.2, 0.99999)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(grad(got, emb), grad(want, emb))
    within = build(margin=0.2)(emb, labels)
    torch.testing.assert_close(within, xbm_contrastive(emb, labels, emb, labels, 0.2, 0.99999))


def test_the_ring_is_first_in_first_out():
    ring, rows = CrossBatchMemory(size=5, dim=3), torch.randn(17, 3)
    labels = torch.arange(17)
    first = 0
    for batch in (2, 2, 3, 1, 4, 5):
        ring.push(rows[first : first + batch], labels[first : first + batch])
        first += batch
        held, names = ring.contents()
        want = labels[max(0, first - 5) : first]
        assert sorted(names[:, 0].tolist()) == want.tolist()
        torch.testing.assert_close(held, torch.nn.functional.normalize(rows[names[:, 0]]))
    ring.push(rows, labels)  # more than it holds: the last ones stay
    assert sorted(ring.contents()[1][:, 0].tolist()) == [12, 13, 14, 15, 16]


def test_the_ring_keeps_levels_views_and_its_state():
    ring = CrossBatchMemory(size=8, dim=3, levels=2)
    views, labels = torch.randn(3, 2, 3), torch.tensor([[4, 1], [5, 1], [6, 2]])
    ring.push(views, labels)
    held, names = ring.contents()
    assert names.tolist() == [[4, 1], [4, 1], [5, 1], [5, 1], [6, 2], [6, 2]]
    torch.testing.assert_close(held, torch.nn.functional.normalize(views, dim=2).flatten(0, 1))
    other = CrossBatchMemory(size=8, dim=3, levels=2)
    other.load_state_dict(ring.state_dict())
    torch.testing.assert_close(other.contents()[0], held)
    ring.push(views, labels)
    assert len(names) == 6  # what was read stays as it was read


def test_a_loss_with_a_memory():
    torch.manual_seed(1)
    loss = WithMemory(build("supcon"), CrossBatchMemory(size=12, dim=5), batch_factor=3, after=1)
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    first, second = torch.randn(6, 5), torch.randn(6, 5, requires_grad=True)
    torch.testing.assert_close(loss(first, labels), build("supcon")(first, labels))
    terms = loss.terms(second, labels)
    both = torch.cat([first, second.detach()])
    outer = build("supcon")(second, labels, both, labels.repeat(2), self_index=torch.arange(6, 12))
    torch.testing.assert_close(terms["contrast"], build("supcon")(second, labels) * 3 / 4)
    torch.testing.assert_close(terms["memory_contrast"], outer / 4)
    loss.eval()
    before = loss.memory.contents()[0]
    loss(second, labels)
    torch.testing.assert_close(loss.memory.contents()[0], before)


def test_a_queue_holds_the_keys_of_earlier_batches_alone():
    torch.manual_seed(2)
    loss = WithMemory(build("infonce"), CrossBatchMemory(size=8, dim=5), batch_factor=0, after=1)
    labels = torch.arange(6)
    first, second = torch.randn(6, 2, 5), torch.randn(6, 2, 5, requires_grad=True)
    torch.testing.assert_close(loss(first, labels), build("infonce")(first, labels))
    keys = torch.nn.functional.normalize(first[:, 1])
    torch.testing.assert_close(loss.memory.contents()[0], keys)
    terms = loss.terms(second, labels)
    assert list(terms) == ["memory_contrast"]
    torch.testing.assert_close(terms["memory_contrast"], build("infonce")(second, labels, keys, labels))
    assert loss.memory.pushed == 12 and len(loss.memory.contents()[0]) == 8


def test_a_run_gives_memory_to_those_that_take_one():
    def give(name, size):
        return give_memory(build(name), LOSSES[name], size=size, after=5, dim=5, levels=1)

    loss, said = give("supcon", 0)
    assert said == "" and not isinstance(loss, WithMemory)
    loss, said = give("supcon", 9)
    assert loss.memory.rows.shape == (9, 5) and loss.batch_factor == 1 and "last 9 embeddings" in said
    loss, said = give("infonce", 0)
    assert loss.batch_factor == 0 and f"last {LOSSES['infonce'].memory} embeddings" in said
    loss, said = give("simclr", 9)
    assert said == "memory: SimCLR takes no gallery, so it trains without" and not isinstance(loss, WithMemory)


def test_errors():
    with pytest.raises(UserError, match="got 0"):
        CrossBatchMemory(size=0, dim=3)
    with pytest.raises(UserError, match="levels=2"):
        CrossBatchMemory(size=4, dim=3).push(torch.randn(2, 3), torch.zeros(2, 2))
    loss = WithMemory(build(), CrossBatchMemory(size=2, dim=5))
    with pytest.raises(UserError, match="gallery"):
        loss(torch.randn(2, 5), torch.arange(2), torch.randn(2, 5), torch.arange(2))
