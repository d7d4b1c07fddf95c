"""SupCon, SimCLR and InfoNCE against their formulas written as loops."""

from __future__ import annotations

import pytest
import torch

from tests.losses.reference import asked, grad, rows_of, supcon
from trainers.errors import UserError
from trainers.losses import LOSSES


def world(seed: int, batch: int = 9, views: int = 2, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    emb = torch.randn(batch, views, 5, dtype=torch.float64) * 3
    return emb.requires_grad_(), torch.randint(0, classes, (batch,))


def build(name: str, **parameters):
    return LOSSES[name].build(num_classes=0, dim=5, **parameters)


@pytest.mark.parametrize("name", ["supcon", "supcon_in"])
@pytest.mark.parametrize("mode", ["all", "one"])
@pytest.mark.parametrize("views", [1, 2, 3])
def test_value_and_gradient(name, mode, views):
    emb, labels = world(views, views=views)
    given = {"temperature": 0.2, "base_temperature": 0.1}
    got = build(name, contrast_mode=mode, **given)(emb, labels)
    queries = asked(emb, labels)[: len(emb) if mode == "one" else None]
    want = supcon(queries, 0.2, name == "supcon_in") * 0.2 / 0.1
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(grad(got, emb), grad(want, emb), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["supcon", "supcon_in"])
def test_anchors_without_positives_add_nothing_but_are_counted(name):
    emb, _ = world(5, batch=4, views=1)
    alone = build(name)(emb, torch.arange(4))
    alone.backward()
    assert alone == 0
    assert (emb.grad == 0).all()
    assert build(name)(emb[:1], torch.zeros(1).long()) == 0  # nothing to compare with at all


def test_a_gallery_takes_the_place_of_the_batch():
    emb, labels = world(6, views=1)
    gallery, gallery_labels = torch.randn(7, 5, dtype=torch.float64), torch.tensor([0, 0, 1, 2, 3, 3, 9])
    got = build("supcon", temperature=0.1, base_temperature=0.1)(emb, labels, gallery, gallery_labels)
    torch.testing.assert_close(got, supcon(asked(emb, labels, gallery, gallery_labels), 0.1, False))
    with pytest.raises(UserError, match="labels"):
        build("supcon")(emb, labels, gallery)


@pytest.mark.parametrize("name", ["supcon", "supcon_in", "simclr"])
def test_one_base_temperature_for_all(name):
    emb, labels = world(7)
    bare = build(name, temperature=0.3, base_temperature=None)(emb, labels)
    torch.testing.assert_close(build(name, temperature=0.3, base_temperature=0.3)(emb, labels), bare)
    scaled = build(name, temperature=0.3, base_temperature=0.07)(emb, labels)
    torch.testing.assert_close(scaled, bare * 0.3 / 0.07, rtol=1e-12, atol=1e-12)
    if name == "simclr":
        want = supcon(asked(emb, torch.arange(len(emb))), 0.3, False) * 0.3 / 0.07
        torch.testing.assert_close(scaled, want, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(grad(scaled, emb), grad(want, emb), rtol=1e-9, atol=1e-12)
        assert build(name, temperature=0.3)(emb, labels) == bare  # the paper has no factor


@pytest.mark.parametrize("name", ["simclr", "infonce"])
def test_view_losses_say_that_they_need_views(name):
    with pytest.raises(UserError, match="views"):
        build(name)(torch.randn(4, 5), torch.arange(4))


def test_infonce_with_and_without_a_queue():
    emb, labels = world(8)
    queue = torch.randn(11, 5, dtype=torch.float64)
    query, key = rows_of(emb).unbind(1)
    loss = build("infonce", temperature=0.2)
    inside = torch.stack([-torch.log_softmax(query[i] @ key.T / 0.2, 0)[i] for i in range(len(emb))]).mean()
    torch.testing.assert_close(loss(emb, labels), inside)
    against = 0.0
    for i in range(len(emb)):
        logits = torch.cat([(query[i] @ key[i])[None], rows_of(queue) @ query[i]]) / 0.2
        against = against - torch.log_softmax(logits, 0)[0] / len(emb)
    torch.testing.assert_close(loss(emb, labels, queue, torch.zeros(11).long()), against)
