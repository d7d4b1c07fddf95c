"""Every augmentation: a pure function of (seed, step, view), in range, for images of all sizes, whatever the RNG."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.fake_device import DEVICE, fake_device
from tests.tiny import tiny_config
from tests.training.batches import next_batch
from tests.training.conftest import SMALL
from trainers.cli.main import main
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.parameters import Choice
from trainers.runs import RunFolder, list_runs
from trainers.training.augmentations import AUGMENTATIONS
from trainers.training.augmentations.base import Draws
from trainers.training.augmentations.light import Limits, change

CHANGING = [name for name in AUGMENTATIONS if name != "none"]
EACH = ("randaugment", "autoaugment")
"""Those that go through torchvision image by image."""
DRAWN = {"seed": 3, "step": 7, "view": 0}
SHAPES = [(4, channels, side, side) for channels in (1, 3) for side in (8, 32, 37, 224)]
SHAPES += [(3, 3, 12, 24), (1, 3, 12, 24)]


def drawings(count: int = 6, channels: int = 3, side: int = 16, width: int | None = None) -> Tensor:
    """Smooth drawings in strong colours, no two alike."""
    draws = torch.Generator().manual_seed(1)
    coarse = torch.rand(count, channels, 4, 4, generator=draws)
    smooth = torch.nn.functional.interpolate(coarse, size=(side, width or side), mode="bicubic").clamp(0, 1)
    return (smooth * 255).round().to(torch.uint8)


def augmented(name: str, given: Tensor, parameters: dict[str, object] | None = None, **drawn: int) -> Tensor:
    return AUGMENTATIONS[name].build(parameters or {}, given.shape[1])(given, **(DRAWN | drawn))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_range_shape_and_type(name: str, shape: tuple[int, ...]) -> None:
    given = drawings(*shape)
    kept = given.clone()
    found = augmented(name, given)
    assert found.shape == given.shape and found.dtype == torch.float32 and torch.equal(given, kept)
    assert found.min() >= 0 and found.max() <= 1 and bool(torch.isfinite(found).all())


@pytest.mark.parametrize("name", CHANGING)
def test_it_is_a_function_of_seed_step_and_view_alone(name: str) -> None:
    torch.manual_seed(1)
    one = augmented(name, drawings())
    torch.manual_seed(2)
    state = torch.get_rng_state()
    assert torch.equal(one, augmented(name, drawings()))
    assert torch.equal(torch.get_rng_state(), state)
    for other in ({"seed": 4}, {"step": 8}, {"view": 1}):
        assert not torch.equal(one, augmented(name, drawings(), **other))


def test_none_is_the_image_to_the_bit() -> None:
    assert torch.equal(augmented("none", drawings()), drawings().float() / 255)


@pytest.mark.parametrize("name", CHANGING)
def test_every_image_has_numbers_of_its_own(name: str) -> None:
    found = augmented(name, drawings(1).expand(24, -1, -1, -1))
    assert len({tuple(one.flatten().tolist()) for one in found}) >= 20


@pytest.mark.parametrize("name", [name for name in CHANGING if name != "light"])
def test_an_image_does_not_depend_on_its_batch_or_its_piece(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = drawings(9)
    found = augmented(name, given)
    for count in (1, 4):
        torch.testing.assert_close(augmented(name, given[:count]), found[:count], rtol=0, atol=1e-6)
    monkeypatch.setattr("trainers.training.augmentations._operations.PIECE", 2 * 3 * 16 * 16)
    torch.testing.assert_close(augmented(name, given), found, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in AUGMENTATIONS if name not in EACH])
def test_a_device_is_never_waited_for(name: str) -> None:
    with fake_device():
        found = augmented(name, drawings().to(DEVICE, non_blocking=True))
    assert found.device == DEVICE and found.shape == (6, 3, 16, 16)


@pytest.mark.parametrize("name", [name for name in CHANGING if name != "autoaugment"])
def test_grey_images_are_not_mirrored(name: str) -> None:
    """A ramp from left to right stays one: crops, turns and blurs leave its direction, a mirror does not."""
    parameters = {"num_ops": 0} if name == "randaugment" else {}
    ramp = torch.linspace(90, 160, 32).round().to(torch.uint8).expand(40, 1, 32, 32)
    rises = [
        (found[..., -1].mean((1, 2)) > found[..., 0].mean((1, 2))).float().mean()
        for found in (augmented(name, ramp.expand(-1, channels, -1, -1), parameters) for channels in (1, 3))
    ]
    assert rises[0] == 1 and 0.25 < rises[1] < 0.75


@pytest.mark.parametrize("name", ["moco_v1", "moco_v2", "simclr"])
def test_grey_images_keep_their_levels(name: str) -> None:
    flat = torch.full((20, 1, 16, 16), 77, dtype=torch.uint8)
    torch.testing.assert_close(augmented(name, flat), flat.float() / 255, rtol=0, atol=1e-6)
    assert float(augmented(name, flat.expand(-1, 3, -1, -1)).std()) > 0.05


@pytest.mark.parametrize("name", ["moco_v1", "moco_v2", "simclr"])
def test_strength_probabilities_and_smallest_crop_are_obeyed(name: str) -> None:
    off = {"strength": 0.0, "grey": 0.0, "smallest": 1.0} | ({} if name == "moco_v1" else {"blur": 0.0})
    given = drawings(30)
    still = augmented(name, given, off)
    plain = given.float() / 255
    same = [torch.allclose(a, b, atol=1e-4) for a, b in zip(still, plain, strict=True)]
    mirrored = [torch.allclose(a, b.flip(-1), atol=1e-4) for a, b in zip(still, plain, strict=True)]
    assert all(a != b for a, b in zip(same, mirrored, strict=True)) and 5 < sum(mirrored) < 25
    grey = augmented(name, given, off | {"grey": 1.0})
    assert torch.equal(grey[:, 0], grey[:, 1]) and torch.equal(grey[:, 0], grey[:, 2])
    weak, strong = (augmented(name, given, off | {"strength": s}) for s in (0.1, 1.0))
    assert (weak - still).abs().mean() < 0.5 * (strong - still).abs().mean()


def test_without_operations_randaugment_is_the_crop_in_256_levels() -> None:
    found = augmented("randaugment", drawings(), {"num_ops": 0, "smallest": 1.0})
    levels = found * 255
    torch.testing.assert_close(levels, levels.round(), rtol=0, atol=1e-4)
    mild, wild = (augmented("randaugment", drawings(20), {"magnitude": m, "smallest": 1.0}) for m in (0, 30))
    plain = augmented("randaugment", drawings(20), {"num_ops": 0, "smallest": 1.0})
    assert (mild - plain).abs().mean() < (wild - plain).abs().mean()
    policies = [augmented("autoaugment", drawings(20), {"policy": p}) for p in ("imagenet", "cifar10", "svhn")]
    assert not torch.equal(policies[0], policies[1]) and not torch.equal(policies[1], policies[2])


def light(given: Tensor, limits: Limits) -> Tensor:
    return change(given, Draws(len(given), **DRAWN), limits)


def test_light_with_nothing_allowed_changes_nothing() -> None:
    still = Limits(flip=False).times(0)
    assert torch.allclose(light(drawings(), still), drawings().float() / 255, atol=1e-5)


def test_light_gives_what_it_always_gave() -> None:
    """Sums of what it gave when it was the only augmentation, with the same numbers for the same names."""
    for channels, total in ((3, 2000.00815), (1, 683.46926)):
        found = augmented("light", drawings(5, channels))
        assert float(found.double().sum()) == pytest.approx(total, abs=1e-3)


def begun(root: Path, images: Path, augmentation: Choice) -> MetricLearningLoop:
    return MetricLearningLoop(RunFolder.create(root, tiny_config(images, "supcon", augmentation=augmentation)))


def test_its_parameters_are_used(tmp_path: Path, images: Path) -> None:
    runs = [begun(tmp_path, images, Choice(name="simclr", parameters={"strength": s})) for s in (0.2, 1.0)]
    views = [next_batch(run).views[0] for run in runs]
    assert views[0].shape == views[1].shape and not torch.equal(views[0], views[1])


def test_it_is_asked_for_on_the_command_line(tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SMALL, "--data", str(images), "--losses", "supcon", "--runs", str(tmp_path)]
    words += ["--optimiser", "sgd", "--momentum", "0.8", "--schedule", "step", "--drops", "0.5", "0.75"]
    words += ["--warm-up", "0", "--clip-norm", "0.01"]
    assert main([*words, "--augmentation", "moco_v2:blur=0,strength=0.5"]) == 0
    config = list_runs(tmp_path)[0].config
    assert config.augmentation == Choice(name="moco_v2", parameters={"blur": 0, "strength": 0.5})
    assert (config.optimiser, config.momentum, config.schedule) == ("sgd", 0.8, "step")
    assert (config.drops, config.warm_up, config.clip_norm) == ((0.5, 0.75), 0, 0.01)
    assert "gradient clipped in 100.0% of steps" in capsys.readouterr().out
