"""What every loss of the catalogue promises, whoever wrote it."""

from __future__ import annotations

import dataclasses
import re

import pytest
import torch
from torch import Tensor

from tests.formulas import check_symbols
from trainers.losses import FAMILIES, LOSSES, LossDescriptor
from trainers.parameters import specs

DIM, CLASSES, PER_CLASS = 16, 6, 4
# Three levels, finest first: six classes, three pairs, two halves.
TREE = torch.tensor([[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 1], [4, 2, 1], [5, 2, 1]])


def build(loss: LossDescriptor) -> torch.nn.Module:
    torch.manual_seed(0)
    return loss.build(num_classes=CLASSES, dim=DIM, class_labels=TREE)


def batch(loss: LossDescriptor, sizes: list[int]) -> tuple[Tensor, Tensor]:
    """Raw float32 embeddings around their classes (with views where asked for) and ``[B, 3]`` labels, shuffled."""
    generator = torch.Generator().manual_seed(1)
    finest = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    finest = finest[torch.randperm(len(finest), generator=generator)]
    shape = (len(finest), loss.views, DIM) if loss.views > 1 else (len(finest), DIM)
    centres = torch.randn(len(sizes), DIM, generator=generator)[finest]
    noise = torch.randn(shape, generator=generator)
    return (centres[:, None] if loss.views > 1 else centres) + noise, TREE[finest]


def check(module: torch.nn.Module, embeddings: Tensor, labels: Tensor) -> None:
    embeddings.requires_grad_()
    loss = module(embeddings, labels)
    assert loss.shape == ()
    assert loss.dtype == torch.float32
    assert torch.isfinite(loss)
    loss.backward()
    assert torch.isfinite(embeddings.grad).all()
    for parameter in module.parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()


@pytest.mark.parametrize("name", LOSSES)
def test_defaults_build_and_train(name: str) -> None:
    loss = LOSSES[name]
    module = build(loss)
    embeddings, labels = batch(loss, [PER_CLASS] * CLASSES)
    check(module, embeddings, labels)
    assert embeddings.grad.abs().sum() > 0


@pytest.mark.parametrize("name", LOSSES)
def test_singletons_and_any_class_sizes_are_taken(name: str) -> None:
    check(build(LOSSES[name]), *batch(LOSSES[name], [1, 1, 3, 5, 2, 4]))


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_does_not_lower_the_precision(name: str) -> None:
    loss = LOSSES[name]
    module = build(loss)
    embeddings, labels = batch(loss, [PER_CLASS] * CLASSES)
    torch.manual_seed(1)
    expected = module(embeddings, labels)
    torch.manual_seed(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = module(embeddings, labels)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_half_precision_is_lifted_and_double_kept(name: str) -> None:
    rows, labels = batch(LOSSES[name], [PER_CLASS] * CLASSES)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        given = rows.to(dtype).requires_grad_()
        module, wide = build(LOSSES[name]), torch.float64 if dtype == torch.float64 else torch.float32
        torch.manual_seed(1)
        loss = module.to(wide)(given, labels)
        loss.backward()
        assert loss.dtype == wide and given.grad.dtype == dtype and torch.isfinite(given.grad).all()
        torch.manual_seed(1)
        torch.testing.assert_close(module(given.detach().to(wide), labels), loss)


@pytest.mark.parametrize("name", LOSSES)
def test_terms_sum_to_the_loss(name: str) -> None:
    module = build(LOSSES[name])
    embeddings, labels = batch(LOSSES[name], [PER_CLASS] * CLASSES)
    torch.manual_seed(0)  # some losses draw their pairs
    parts = module.terms(embeddings, labels)
    assert parts
    assert all(value.shape == () for value in parts.values())
    torch.manual_seed(0)
    torch.testing.assert_close(sum(parts.values()), module(embeddings, labels), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in LOSSES if LOSSES[name].gallery])
def test_a_separate_gallery_is_taken(name: str) -> None:
    loss = LOSSES[name]
    embeddings, labels = batch(loss, [PER_CLASS] * CLASSES)
    gallery = embeddings.reshape(-1, DIM).flip(0)[:17] + 0.1
    gallery_labels = labels.repeat_interleave(loss.views, dim=0).flip(0)[:17]
    embeddings.requires_grad_()
    value = build(loss)(embeddings, labels, gallery, gallery_labels)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(embeddings.grad).all()


# A queue holds other keys than the batch's; distance-weighted triplets are drawn.
@pytest.mark.parametrize(
    "name", [name for name in LOSSES if LOSSES[name].gallery and name not in ("infonce", "triplet_distance_weighted")]
)
def test_the_batch_as_a_gallery_is_the_batch_where_the_copies_are_known(name: str) -> None:
    """What a definition leaves out of a query's candidates, positives or pairs, it leaves out of a memory too."""
    loss, found = LOSSES[name], []
    module = build(loss).double()
    embeddings, labels = batch(loss, [PER_CLASS] * CLASSES)
    rows = embeddings.shape[:-1]
    own = torch.arange(rows.numel()).reshape(rows)
    for alone in (True, False):
        given = embeddings.double().requires_grad_()
        others = (given.reshape(-1, DIM), labels.repeat_interleave(loss.views, 0))
        value = module(given, labels) if alone else module(given, labels, *others, self_index=own)
        value.backward()
        found.append((value.detach(), given.grad))
    torch.testing.assert_close(found[1][0], found[0][0], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found[1][1], found[0][1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", LOSSES)
def test_proxies_are_named_and_shaped_as_promised(name: str) -> None:
    loss, module = LOSSES[name], build(LOSSES[name])
    if loss.proxies:
        assert module.proxies.ndim == 2
        assert len(module.proxies) % CLASSES == 0
        assert module.proxies.shape[1] == DIM
        assert loss.proxy_learning_rate is None or loss.proxy_learning_rate > 0


@pytest.mark.parametrize("name", LOSSES)
def test_the_descriptor_is_complete(name: str) -> None:
    loss = LOSSES[name]
    assert loss.name == name
    for text in (loss.title, loss.family, loss.paper, loss.equation, loss.sentence):
        assert text.strip() == text != ""
    assert loss.sentence.endswith(".")
    others = [other.title for other in LOSSES.values() if other.title != loss.title]
    assert any(loss.unlike.startswith(f"Unlike {title}, it") for title in others), loss.unlike
    assert loss.unlike.endswith(".") and ". " not in loss.unlike
    assert loss.url.startswith("https://")
    assert 1990 <= loss.year <= 2030
    assert "$" not in loss.equation
    assert loss.equation.count("{") == loss.equation.count("}")
    check_symbols(loss.equation, loss.symbols)
    assert dataclasses.is_dataclass(loss.parameters)
    assert loss.differs == "" or loss.differs.endswith(".")
    assert loss.differs or not loss.follows_code, f"{name} follows its code: say in what"
    for option in re.findall(r"`([a-z_]+)", " ".join((loss.differs, *loss.symbols.values()))):
        assert hasattr(loss.parameters, option), f"{name} has no parameter {option!r}"
    for spec in specs(loss.parameters):
        assert spec.rule.help.strip(), f"{name}.{spec.name} has no help"
        if spec.type in (int, float):
            assert spec.rule.low is not None, f"{name}.{spec.name} has no lower bound"
            assert spec.rule.high is not None, f"{name}.{spec.name} has no upper bound"
            assert spec.default is None or spec.rule.low <= spec.default <= spec.rule.high


def test_the_menu_has_every_loss_once_by_family() -> None:
    shown = [loss for losses in FAMILIES.values() for loss in losses]
    assert {loss.name for loss in shown} == {name for name, loss in LOSSES.items() if loss.alias_of is None}
    for family, losses in FAMILIES.items():
        assert losses == [loss for loss in LOSSES.values() if loss.family == family and loss.alias_of is None]
    titles = [loss.title for loss in shown]
    assert len(set(titles)) == len(titles)
    assert max(map(len, titles)) <= 20, "a title has to fit a map's card"


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.alias_of])
def test_an_alias_is_the_same_loss(name: str) -> None:
    alias, loss = LOSSES[name], LOSSES[LOSSES[name].alias_of]
    assert dataclasses.replace(alias, name=loss.name, alias_of=None, order=loss.order) == loss
    embeddings, labels = batch(loss, [PER_CLASS] * CLASSES)
    assert torch.equal(build(alias)(embeddings, labels), build(loss)(embeddings, labels))
