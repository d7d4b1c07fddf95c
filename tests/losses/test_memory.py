"""The cross-batch memory: its ring, a loss with it beside the batch, and a query that meets its own copy there.

It meets it as it meets itself in the batch: left out, or counted, by definition.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.equivalence import always
from tests.losses import reference as slow
from tests.losses.reference import SlowMemory, grad
from tests.oracle_cases import cases, load
from trainers.errors import UserError
from trainers.losses import LOSSES
from trainers.losses._memory import CrossBatchMemory, WithMemory, give_memory

CLASSES, DIM, BATCH = 4, 6, 8
LABELS = torch.tensor([2, 0, 1, 0, 2, 1, 0, 3])  # class 3 has no second image in a batch

# name -> registry name, parameters, the slow form
CASES = {
    "supcon": ("supcon", {"temperature": 0.2, "base_temperature": 0.2}, lambda q: slow.supcon(q, 0.2, False)),
    "supcon_in": ("supcon_in", {"temperature": 0.2, "base_temperature": 0.2}, lambda q: slow.supcon(q, 0.2, True)),
    "supcon, first views ask": (
        "supcon",
        {"temperature": 0.2, "base_temperature": 0.2, "contrast_mode": "one"},
        lambda q: slow.supcon(q[:BATCH], 0.2, False),
    ),
    "softbin_ap": ("softbin_ap", {"num_bins": 8}, lambda q: slow.softbin_ap(q, 8)),
    "triplet": ("triplet", {"margin": 1.5}, lambda q: slow.triplet(q, 1.5, "all")),
    "triplet_semihard": ("triplet_semihard", {"margin": 1.5}, lambda q: slow.triplet(q, 1.5, "semihard")),
    "triplet_hard": ("triplet_hard", {"margin": 1.5}, lambda q: slow.triplet(q, 1.5, "hard")),
    # an image's own copy is at distance zero but for rounding, and half of the time counted as a pair to be pulled
    "contrastive": ("contrastive", {"neg_margin": 1.2}, lambda q: slow.contrastive(q, 0.0, 1.2)),
    "multi_similarity": ("multi_similarity", {}, lambda q: slow.multi_similarity(q, 0.1)),
    "multi_similarity, unmined": ("multi_similarity", {"epsilon": None}, lambda q: slow.multi_similarity(q, None)),
    "calibration": ("calibration", {"pos_margin": 1.0}, lambda q: slow.calibration(q, 1.0, 0.6, False)),
    "calibration, all": ("calibration", {"mean_over": "all"}, lambda q: slow.calibration(q, 0.9, 0.6, True)),
    "xbm": ("xbm_contrastive", {"positive_cutoff": 1.0, "margin": 0.1}, lambda q: slow.xbm(q, 0.1)),
    "xbm, hinge": (
        "xbm_contrastive",
        {"positive_cutoff": 1.0, "margin": 0.1, "negatives": "hinge"},
        lambda q: slow.xbm(q, 0.1, hinge=True),
    ),
    "recall_at_k_patel": (
        "recall_at_k_patel",
        {"tau_rank": 0.05, "k": (1, 2, 4)},
        lambda q: slow.patel_of(q, (1, 2, 4), 0.05),
    ),
    "sup_ap": ("sup_ap", {}, slow.sup_ap),
    "roadmap": (
        "roadmap",
        {"terms": "neurips_2021_code_pairs", "mean_over": "all"},
        lambda q: slow.sup_ap(q) + slow.calibration(q, 0.9, 0.6, True),
    ),
}
# they tell a distance of zero from one of 1e-8, or have no slope there
ONE_PICTURE_ONCE = ("contrastive", "triplet", "triplet_semihard", "triplet_hard", "sup_ap", "roadmap")
ONE_VIEW_ALONE = ("recall_at_k_patel", "sup_ap", "roadmap", "calibration")


def world(views: int, seed: int, *, twins: bool = True) -> Tensor:
    torch.manual_seed(seed)
    emb = torch.randn(CLASSES, 1, DIM, dtype=torch.float64)[LABELS] + torch.randn(BATCH, views, DIM).double()
    if twins:
        emb[3] = emb[1]  # the same picture twice: one stays when the other asks
    return emb.requires_grad_()


def memory(name: str, size: int, **parameters) -> WithMemory:
    """The loss against the memory alone."""
    loss = LOSSES[name].build(num_classes=CLASSES, dim=DIM, **parameters)
    return WithMemory(loss, CrossBatchMemory(size=size, dim=DIM), batch_factor=0).double()


PAIRS = [(case, n) for case in CASES for n in (1, 2) if n == 1 or CASES[case][0] not in ONE_VIEW_ALONE]
ROOMY, WRAPPING, SMALL = 100, 19, 5


@always(
    "entry",
    [(*pair, size) for pair in PAIRS for size in (WRAPPING, SMALL)],
    [(*pair, ROOMY) for pair in PAIRS],
    lambda entry: "-".join(map(str, entry)),
)
def test_value_and_gradient_equal_the_slow_memory(entry: tuple[str, int, int]) -> None:
    case, views, size = entry
    name, parameters, slowly = CASES[case]
    loss, plain = memory(name, size, **parameters), SlowMemory(size)
    for step in range(4):
        emb, again = (world(views, step, twins=name not in ONE_PICTURE_ONCE) for _ in range(2))
        got = loss(emb if views > 1 else emb[:, 0], LABELS)
        want = slowly(plain.meet(again, LABELS))
        torch.testing.assert_close(got, want, rtol=1e-7, atol=1e-7)  # the library adds up to 1e-8 to a distance
        got.backward()
        if want.requires_grad:
            want.backward()
            torch.testing.assert_close(emb.grad, again.grad, rtol=1e-5, atol=1e-6)
    assert int(loss.memory.pushed) == 4 * BATCH * views > size or size == ROOMY


@pytest.mark.parametrize("size", [ROOMY, WRAPPING, SMALL])
def test_blackbox_ap_ranks_what_is_not_the_query(size: int) -> None:
    loss, plain = memory("blackbox_ap", size, margin=0.05), SlowMemory(size)
    for step in range(4):
        emb = world(1, step).detach()
        torch.testing.assert_close(loss(emb[:, 0], LABELS), slow.blackbox_ap(plain.meet(emb, LABELS), 0.05))


def test_distance_weighted_triplets_have_no_anchor_as_its_own_positive() -> None:
    # Every positive is as far away as every other, and so is every negative: the draws do not matter.
    axes = torch.eye(2 * CLASSES + 1, dtype=torch.float64)
    common, ahead, aside = axes[-1:] * 0.5**0.5, axes[:CLASSES] * 0.4**0.5, axes[CLASSES:-1] * 0.1**0.5
    emb, labels = torch.cat([common + ahead + aside, common + ahead - aside]), torch.arange(CLASSES).repeat(2)
    loss = LOSSES["triplet_distance_weighted"].build(num_classes=CLASSES, dim=len(axes), margin=2.0)
    ring = CrossBatchMemory(size=len(emb), dim=len(axes))
    got = WithMemory(loss, ring, batch_factor=0).double()(emb, labels)
    assert got.item() == pytest.approx(0.4**0.5 - 1.0 + 2.0, abs=1e-6)


def test_after_a_resume_the_copies_are_found_where_the_ring_goes_on() -> None:
    parameters = {"temperature": 0.2, "base_temperature": 0.2}
    whole, plain = memory("supcon", 19, **parameters), SlowMemory(19)
    for step in range(3):
        whole(world(2, step), LABELS)
        plain.meet(world(2, step), LABELS)
    resumed = memory("supcon", 19, **parameters)
    resumed.load_state_dict(whole.state_dict())
    want = slow.supcon(plain.meet(world(2, 3), LABELS), 0.2, False)
    torch.testing.assert_close(resumed(world(2, 3), LABELS), want)
    torch.testing.assert_close(whole(world(2, 3), LABELS), want)


def test_a_memory_without_room_for_the_batch_says_which_rows_it_kept() -> None:
    ring, emb = CrossBatchMemory(size=5, dim=DIM), world(2, 0).detach().float()
    for step in range(2):
        own = ring.push(emb, LABELS)
        assert own.shape == (BATCH, 2)
        assert (own.flatten()[:11] == -1).all() and sorted(own.flatten()[11:].tolist()) == list(range(5)), step
        rows = torch.nn.functional.normalize(emb, dim=-1).flatten(0, 1)[11:]
        torch.testing.assert_close(ring.contents()[0][own.flatten()[11:]], rows)


def build(name: str = "xbm_contrastive", **parameters):
    return LOSSES[name].build(num_classes=8, dim=5, **parameters)


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


def test_pairs_of_a_batch_and_of_a_gallery():
    torch.manual_seed(0)
    emb = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    gallery = torch.cat([torch.randn(9, 5, dtype=torch.float64), emb.detach()])
    labels = torch.tensor([0, 0, 1, 1, 2, 3])
    gallery_labels = torch.cat([torch.randint(0, 4, (9,)), labels])
    got = build(margin=0.2)(emb, labels, gallery, gallery_labels)
    want = slow.xbm(slow.asked(emb, labels, gallery, gallery_labels), 0.2, cutoff=0.99999)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(grad(got, emb), grad(want, emb))
    within = build(margin=0.2)(emb, labels)
    torch.testing.assert_close(within, slow.xbm(slow.asked(emb, labels, emb, labels), 0.2, cutoff=0.99999))


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
    rows, before = ring.contents()
    kept = rows.clone(), before.clone()
    ring.push(-views, labels + 1)  # what was read stays as it was read
    assert torch.equal(rows, kept[0]) and torch.equal(before, kept[1])


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


def test_what_does_not_fit_is_said():
    with pytest.raises(UserError, match="got 0"):
        CrossBatchMemory(size=0, dim=3)
    with pytest.raises(UserError, match="levels=2"):
        CrossBatchMemory(size=4, dim=3).push(torch.randn(2, 3), torch.zeros(2, 2))
    loss = WithMemory(build(), CrossBatchMemory(size=2, dim=5))
    with pytest.raises(UserError, match="gallery"):
        loss(torch.randn(2, 5), torch.arange(2), torch.randn(2, 5), torch.arange(2))
