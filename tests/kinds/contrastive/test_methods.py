"""Every method against an independent slow version, and what all methods promise."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.fake_device import DEVICE, fake_device
from tests.losses.reference import asked, supcon
from trainers.errors import UserError
from trainers.kinds.contrastive.arm import MethodArm
from trainers.kinds.contrastive.batches import ViewBatch
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.methods import METHODS, Parts, Views
from trainers.kinds.contrastive.networks import Projected, projector
from trainers.training.stage import Stage

IMAGES, CLASSES, FEATURES, DIM = 40, 4, 6, 5
CPU = torch.device("cpu")
SMALL = {"queue": 16, "negatives": 16}


class Flat(nn.Module):
    """Images to features by one linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3 * 8 * 8, FEATURES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layer(images.flatten(1))


def made(name: str, **parameters: object):
    torch.manual_seed(1)
    descriptor = METHODS[name]
    known = descriptor.parameters.__dataclass_fields__
    values = {key: value for key, value in SMALL.items() if key in known} | parameters
    net = Projected(Flat(), projector(FEATURES, DIM, mlp=descriptor.mlp))
    return descriptor.module(descriptor.checked(values), Parts(net=net, dim=DIM, images=IMAGES, classes=CLASSES))


def views(method: nn.Module, count: int = 8, first: int = 0) -> Views:
    draws = torch.Generator().manual_seed(first)
    images = tuple(torch.rand(count, 3, 8, 8, generator=draws) for _ in range(method.views))
    rows = torch.arange(first, first + count) % IMAGES
    return Views(images=images, labels=rows % CLASSES, rows=rows)


def unit(rows: torch.Tensor) -> torch.Tensor:
    return functional.normalize(rows.double(), dim=1)


def arm_of(name: str, stage: Stage | None = None, **parameters: object) -> MethodArm:
    """The arm of a small method, which begins a stage, the first one unless another is given."""
    arm = MethodArm(0, name, made(name, **parameters), nn.Linear(FEATURES, CLASSES), 7, CPU)
    arm.begin(stage or Stage.of(ContrastiveConfig()))
    return arm


@pytest.mark.parametrize("name", METHODS)
def test_gradients_stay_finite_where_all_images_are_equal(name: str) -> None:
    method = made(name)
    batch = views(method)
    same = Views(
        images=tuple(torch.full_like(part, 0.5) for part in batch.images), labels=batch.labels, rows=batch.rows
    )
    outcome = method(same)
    if outcome.terms:
        sum(outcome.terms.values()).backward()
        assert all(torch.isfinite(weight.grad).all() for weight in method.parameters() if weight.grad is not None)


def test_end_to_end_is_the_cross_entropy_over_the_batch() -> None:
    method = made("end_to_end", temperature=0.3)
    batch = views(method)
    queries, keys = (unit(method.net(part)).detach() for part in batch.images)
    slow = sum(
        torch.stack([queries[i] @ key / 0.3 for key in keys]).logsumexp(0) - queries[i] @ keys[i] / 0.3
        for i in range(len(keys))
    ) / len(keys)
    outcome = method(batch)
    assert outcome.terms["contrast"].item() == pytest.approx(slow.item(), rel=1e-5)
    nearest = [max(range(8), key=lambda j, i=i: float(queries[i] @ keys[j])) for i in range(8)]
    right = sum(near == i for i, near in enumerate(nearest)) / 8
    assert float(outcome.numbers["contrast_accuracy"]) == pytest.approx(right)


def test_memory_bank_refreshes_only_what_it_saw() -> None:
    method = made("memory_bank", momentum=0.5, temperature=0.4)
    bank = method.bank
    before, batch = bank.features.clone().double(), views(method, first=3)
    torch.manual_seed(5)
    drawn = torch.randint(IMAGES, (16,))
    torch.manual_seed(5)
    assert torch.isin(batch.rows, drawn).any()  # own features, which are no others
    loss = method(batch).terms["contrast"]
    queries = unit(method.net(batch.images[0]))
    slow = torch.zeros((), dtype=torch.float64)
    for query, row in zip(queries, batch.rows.tolist(), strict=True):
        others = [other for other in drawn.tolist() if other != row]
        scores = torch.stack([query @ before[row], *(query @ before[other] for other in others)]) / 0.4
        slow = slow + scores.logsumexp(0) - scores[0]
    assert loss.item() == pytest.approx(slow.item() / 8, rel=1e-5)
    new = unit(0.5 * before[batch.rows] + 0.5 * queries)
    assert torch.allclose(bank.features[batch.rows].double(), new, atol=1e-6)
    others = torch.ones(IMAGES, dtype=torch.bool)
    others[batch.rows] = False
    assert torch.equal(bank.features[others].double(), before[others])
    assert bank.filled == pytest.approx(8 / IMAGES)
    assert bank.sample(4)[1].tolist() == [3, 5, 8, 10]


@pytest.mark.parametrize("positives", ["out", "in"])
def test_supcon_is_the_loss_over_both_views(positives: str) -> None:
    method = made("supcon", positives=positives, temperature=0.2)
    batch = views(method)
    raw = torch.stack([method.net(part) for part in batch.images], 1)
    slow = supcon(asked(raw, batch.labels), 0.2, positives == "in") * 0.2 / 0.07
    assert method(batch).terms["contrast"].item() == pytest.approx(slow.item(), rel=1e-5)


@pytest.mark.parametrize("positives", ["out", "in"])
def test_supcon_with_a_queue_by_loops(positives: str) -> None:
    method = made("supcon_queue", positives=positives, temperature=0.2, momentum=0.9)
    for first in (0, 8, 16):
        batch = views(method, first=first)
        queue = method.moco.dictionary
        columns, labels = queue.keys.T.double().clone(), queue.labels.clone()
        loss = method(batch).terms["contrast"]
    queries, keys = unit(method.net(batch.images[0])), unit(method.moco.key_encoder(batch.images[1]))
    slow = torch.zeros((), dtype=torch.float64)
    for query, key, label in zip(queries, keys, batch.labels.tolist(), strict=True):
        weights = torch.stack([(query @ key / 0.2).exp(), *((query @ column / 0.2).exp() for column in columns)])
        shares = (weights / weights.sum())[[0, *(1 + i for i in range(len(columns)) if int(labels[i]) == label)]]
        slow = slow - (shares.mean().log() if positives == "in" else shares.log().mean())
    assert loss.item() == pytest.approx(slow.item() / 8 * 0.2 / 0.07, rel=1e-5)


class Stored(nn.Module):
    """Returns what it was given, whatever comes in."""

    def __init__(self, rows: torch.Tensor) -> None:
        super().__init__()
        object.__setattr__(self, "rows", rows)

    def forward(self, _images: torch.Tensor) -> torch.Tensor:
        return self.rows


@pytest.mark.parametrize("name", ["end_to_end", "simclr", "supcon"])
def test_a_batch_of_one_image_is_refused(name: str) -> None:
    method = made(name)
    with pytest.raises(UserError, match="two images or more"):
        method(views(method, count=1))


def test_the_second_stage_trains_the_classifier_alone_from_new_weights() -> None:
    method = made("supcon")
    arm = MethodArm(0, "SupCon", method, nn.Linear(FEATURES, CLASSES), 7, CPU)
    first = arm.classifier.weight.clone()
    with torch.no_grad():
        arm.classifier.weight.zero_()
    config = ContrastiveConfig()
    arm.begin(Stage.of(config, networks=("classifier",)))
    torch.manual_seed(7)
    assert torch.equal(arm.classifier.weight, nn.Linear(FEATURES, CLASSES).weight)
    before = copy.deepcopy(method.state_dict())
    images = torch.randint(0, 256, (8, 3, 8, 8), dtype=torch.uint8)
    batch = ViewBatch(
        view=lambda _number: images.float() / 255, labels=torch.arange(8) % CLASSES, rows=torch.arange(8), step=0
    )
    scalars = arm.step(batch, Stage.of(config).factor(0, 0.0, 1))
    assert set(scalars) == {"loss", "term/classifier", "examples", "batch_accuracy"}
    assert all(torch.equal(value, before[key]) for key, value in method.state_dict().items())
    assert not torch.equal(arm.classifier.weight, first)


def terms_of(arm: MethodArm) -> dict[str, torch.Tensor]:
    """The terms of the loss in a step on eight images."""
    images, rows = views(arm.method).images, torch.arange(8)
    batch = ViewBatch(view=images.__getitem__, labels=rows % CLASSES, rows=rows, step=0)
    numbers = arm.step(batch, 1.0)
    return {name.removeprefix("term/"): numbers[name] for name in numbers if name.startswith("term/")}


@pytest.mark.parametrize("name", METHODS)
def test_half_precision_ends_at_the_encoder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a method makes of the same projections is the same to the bit where a GPU would use bfloat16."""
    made_of = []
    real = torch.autocast

    def as_on_a_gpu(device: str, dtype: torch.dtype | None = None, enabled: bool = True) -> torch.autocast:
        return real("cpu", torch.bfloat16) if device == "cuda" else real(device, dtype, enabled)

    for half in (False, True):
        arm = arm_of(name)
        given = torch.randn(8 * arm.method.views, DIM, generator=torch.Generator().manual_seed(3)).requires_grad_()
        arm.method.net.projector = Stored(given[:8] if name in ONE_BY_ONE else given)
        for net in (module for module in arm.method.modules() if isinstance(module, Projected)):
            net.projector = arm.method.net.projector
        arm.method.net.backbone = Stored(torch.ones(8, FEATURES).cumsum(0) / 7)
        if half:
            monkeypatch.setattr(torch, "autocast", as_on_a_gpu)
        torch.manual_seed(0)
        made_of.append(terms_of(arm))
    assert made_of[0].keys() == made_of[1].keys()
    for term, exact in made_of[0].items():
        assert exact.dtype == made_of[1][term].dtype == torch.float32
        assert made_of[1][term].item() == exact.item(), term


ONE_BY_ONE = ("moco_v1", "moco_v2", "end_to_end", "memory_bank", "supcon_queue", "cross_entropy", "max_margin")
"""Methods that encode the views one after another."""


@pytest.mark.parametrize("name", [name for name in METHODS if name != "max_margin"])  # torch has no fake form of it
@pytest.mark.parametrize("size", [None, 3])
def test_a_step_does_not_wait_for_a_gpu(name: str, size: int | None) -> None:
    with fake_device():
        with torch.device(DEVICE):
            arm = MethodArm(0, name, made(name, batch=size), nn.Linear(FEATURES, CLASSES), 0, DEVICE)
        config = ContrastiveConfig(optimiser="adamw")  # of which torch's fake tensors know the fused form
        for stage in (Stage.of(config), Stage.of(config, networks=("classifier",))):
            with torch.device(DEVICE):
                arm.begin(stage)
            if arm.waits:
                continue
            arm.optimizer.late.depth = 3  # earlier steps are read late, and a fake device has no values to give
            images, rows = torch.empty(8, 3, 8, 8, device=DEVICE), torch.arange(8)
            batch = ViewBatch(view=lambda _number, made=images: made, labels=rows % CLASSES, rows=rows, step=0)
            assert arm.step(batch, 1.0)["loss"].device == DEVICE


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *((name, {}) for name in METHODS),
        ("moco_v2", {"positives": 3}),
        ("moco_v1", {"sharing": "shared"}),
        ("end_to_end", {"sharing": "separate"}),
    ],
)
def test_what_a_method_says_it_needs_is_what_it_holds(name: str, parameters: dict[str, object]) -> None:
    """Counted in the method as built: encoders by their weights, keys by the longest side of its buffers."""
    method = made(name, **parameters)
    needs = METHODS[name].needs(method.settings, IMAGES)
    own = sum(weight.numel() for weight in method.net.parameters())
    trained = sum(weight.numel() for weight in method.parameters() if weight.requires_grad)
    following = sum(weight.numel() for weight in method.parameters() if not weight.requires_grad)
    assert (needs.views, needs.trained * own, needs.following * own) == (method.views, trained, following)
    assert needs.stored == max((max(one.shape, default=0) for one in method.buffers()), default=0)
    assert (needs.compared > 0) == (method.dictionary is not None)
    if needs.compared:
        assert METHODS[name].candidates(method.settings, 8) == 1 + needs.compared
