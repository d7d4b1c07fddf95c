"""A training step and a look queue their work on a device, and the host waits for none of it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.contracts.test_encoders import OFFLINE
from tests.equivalence import loop_shape, of_each
from tests.fake_device import DEVICE, fake_device
from trainers.data.base import ImageSet
from trainers.devices.host import send
from trainers.devices.precision import computing_in
from trainers.encoders import ENCODERS, Encoder
from trainers.kinds.metric_learning.batches import ImageBatches
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.evaluation import ProbeEvaluator
from trainers.kinds.metric_learning.loop import LossArm
from trainers.losses import LOSSES
from trainers.losses.base import LossModule
from trainers.samplers import SAMPLERS
from trainers.training.stage import Stage

CLASSES, EACH, SIDE, DIM = 6, 4, 32, 8


class Planned(LossModule):
    """A loss as one should be written: what labels alone decide is made on the host and copied while it goes on."""

    def terms(self, embeddings: Tensor, labels: Tensor, *_: object) -> dict[str, Tensor]:
        first, second = (labels[:, None, 0] == labels[None, :, 0]).triu(1).nonzero().T
        rows = torch.nn.functional.normalize(embeddings, dim=1)
        pairs = rows[send(first, rows.device)] - rows[send(second, rows.device)]
        return {"pull": pairs.square().sum(1).mean(), "push": (rows @ rows.T).mean()}


def image_set() -> ImageSet:
    finest = torch.arange(CLASSES).repeat_interleave(EACH)
    images = torch.zeros(len(finest), 3, SIDE, SIDE, dtype=torch.uint8)
    return ImageSet(images=images, labels=torch.stack([finest, finest // 2], 1))


def there(name: str) -> Encoder:
    """An encoder on the device."""
    with torch.device(DEVICE):
        return ENCODERS[name].build(channels=3, side=SIDE, dim=DIM, parameters=OFFLINE.get(name, {}))


def step(
    name: str, encoder: str = "small_conv", loss: LossModule | None = None, precision: str = "auto"
) -> tuple[LossArm, dict[str, Tensor]]:
    """A batch is made, goes forward and backward, and the weights are updated; inside :func:`fake_device`."""
    descriptor, data = LOSSES[name], image_set()
    if loss is None:
        with torch.device(DEVICE):
            loss = descriptor.build(num_classes=CLASSES, dim=DIM, class_labels=data.labels[::EACH])
        for part in loss.modules():  # label tables come from the host's; ``Module.to`` takes them along elsewhere
            for table, values in list(part.named_buffers(recurse=False)):
                part.register_buffer(table, send(values, DEVICE))
    sampler = SAMPLERS["m_per_class"].build(data.labels, 3, 2, 0)
    net = there(encoder)
    features = torch.zeros(len(data), net.backbone.num_features) if net.frozen else None
    batches = ImageBatches(data, sampler, features=features, views=descriptor.views, seed=0, device=DEVICE)
    arm = LossArm(0, descriptor, loss, net, DEVICE)
    config = MetricLearningConfig(learning_rate=1e-3, weight_decay=1e-4, clip_norm=1.0, precision=precision)
    arm.begin(Stage.of(config))
    with computing_in(precision):
        return arm, arm.step(batches.batch(3), 0.5)


@of_each(LOSSES, loop_shape)
def test_a_step_waits_for_nothing(name: str) -> None:
    with fake_device():
        _, found = step(name)
    assert found["loss"].device == DEVICE and found["loss"].shape == ()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_nor_does_the_step_of_any_encoder(encoder: str) -> None:
    with fake_device():
        arm, found = step("contrastive", encoder, Planned())
    assert set(found) == {"loss", "examples", "term/pull", "term/push"}
    moved = [state["step"].device for state in arm.optimizer.optimiser.state.values()]
    assert moved and set(moved) == {DEVICE}


def test_nor_does_a_step_whose_loss_is_scaled() -> None:
    with fake_device():
        arm, _ = step("contrastive", loss=Planned(), precision="fp16")
        with pytest.raises(RuntimeError):
            arm.tensors()  # the scale is on the device


def test_the_loss_itself_may_not_be_read_before_the_next_step() -> None:
    with fake_device():
        arm, found = step("contrastive", loss=Planned())
        with pytest.raises(RuntimeError):
            found["loss"].item()
        with pytest.raises(RuntimeError):
            arm.settle()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_look_waits_for_nothing_until_it_is_ended(encoder: str) -> None:
    data = image_set()
    with fake_device():
        net = there(encoder)
        seen = torch.zeros(len(data), net.backbone.num_features) if net.frozen else data.images
        evaluator = ProbeEvaluator(
            train=seen,
            train_labels=data.labels,
            test=seen,
            test_labels=data.labels,
            probe=torch.arange(len(data)),
            device=DEVICE,
        )
        finish = evaluator.begin(net)
        with pytest.raises(RuntimeError):
            finish()
