"""Every fill keeps what it should keep and paints what it should paint."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.data.captioned_images import CaptionedImage
from trainers.data.picture import read_picture
from trainers.data.synthetic.scenes import DrawnScenes, drawn_scenes
from trainers.errors import DataError, ParameterError, UserError
from trainers.object_removal.fills import FILLS, paint
from trainers.object_removal.pairs import scaled_mask

READY = [name for name, fill in FILLS.items() if name != "lama" and fill.redraw is None]


def scene() -> tuple[np.ndarray, np.ndarray]:
    """A smooth ramp with a red square on it, and the square's mask."""
    ramp = np.linspace(60, 120, 48).astype(np.uint8)
    picture = np.repeat(np.broadcast_to(ramp, (40, 48))[..., None], 3, axis=2).copy()
    mask = np.zeros((40, 48), bool)
    mask[12:25, 15:30] = True
    picture[mask] = (255, 0, 0)
    return picture, mask


class TinyLama(torch.nn.Module):
    def forward(self, image: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if image.shape[2] % 8 != 0 or image.shape[3] % 8 != 0:
            raise RuntimeError("sides must be multiples of 8")
        return image * (1.0 - mask) + 0.5 * mask


@pytest.fixture
def lama(tmp_path, monkeypatch):
    path = tmp_path / "lama.pt"
    with pytest.warns():
        torch.jit.script(TinyLama()).save(str(path))
    monkeypatch.setenv("RANKSCOPE_LAMA", str(path))
    return path


def drawn() -> tuple[CaptionedImage, np.ndarray]:
    """A drawn scene, of which every fill can take out a class, and its pixels."""
    found = drawn_scenes(DrawnScenes(train=1, val=1, test=1)).splits["test"][0]
    return found, read_picture(found.load()).pixels


@pytest.mark.parametrize("name", FILLS)
def test_the_region_changes_and_nothing_else(name):
    found, pixels = drawn()
    removed, before = found.classes[-1:], pixels.copy()
    mask = scaled_mask(read_picture(found.load()), found.boxes, found.classes, removed)
    of_scene = {"scene": found, "removed": removed}
    if FILLS[name].lacking() is not None:
        with pytest.raises(UserError):
            paint(FILLS[name], pixels, mask, **of_scene)
        return
    painted = paint(FILLS[name], pixels, mask, **of_scene)
    assert painted.dtype == np.uint8 and painted.shape == pixels.shape
    assert (painted == pixels)[~mask].all() and (painted != pixels)[mask].any()
    np.testing.assert_array_equal(pixels, before)
    np.testing.assert_array_equal(painted, paint(FILLS[name], pixels, mask, **of_scene))
    if name in READY:
        np.testing.assert_array_equal(paint(FILLS[name], pixels, np.zeros_like(mask)), pixels)


@pytest.mark.parametrize("name", ["telea", "navier_stokes"])
def test_inpainting_continues_the_surroundings(name):
    picture, mask = scene()
    painted = paint(FILLS[name], picture, mask).astype(int)
    ramp = np.linspace(60, 120, 48)[15:30]
    assert np.abs(painted[12:25, 15:30] - ramp[None, :, None]).mean() < 6
    assert np.ptp(painted[12:25, 15:30], axis=2).max() <= 1  # no red is left


def test_the_shift_map_moves_pixels_of_the_rest_also_of_large_images():
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 200, (90, 500, 3)).astype(np.uint8)
    mask = np.zeros((90, 500), bool)
    mask[20:60, 100:330] = True
    picture[mask] = (255, 0, 0)
    painted = paint(FILLS["shift_map"], picture, mask)
    assert painted.any(axis=2)[mask].all() and (painted[mask] != (255, 0, 0)).any(axis=1).all()
    elsewhere = {pixel.tobytes() for pixel in picture[~mask]}
    assert np.mean([pixel.tobytes() in elsewhere for pixel in painted[mask]]) > 0.99, "not one is mixed or enlarged"


def test_paddings():
    picture, mask = scene()
    picture[12:25, 15:22] = (5, 100, 0)
    assert (paint(FILLS["zero"], picture, mask)[mask] == 0).all()
    mean = np.rint(picture[mask].astype(float).mean(axis=0))
    assert (paint(FILLS["mean"], picture, mask)[mask] == mean).all()
    little, much = (paint(FILLS["blur"], picture, mask, {"width": width})[mask].std() for width in (0.01, 0.3))
    assert much < little


@pytest.mark.parametrize("name", READY)
def test_odd_shapes(name):
    for height, width in ((16, 640), (33, 17)):
        picture = np.full((height, width, 3), 90, np.uint8)
        mask = np.zeros((height, width), bool)
        mask[:, : width - 1] = True
        assert paint(FILLS[name], picture, mask).shape == picture.shape


def test_lama_from_a_local_file(lama):
    picture, mask = scene()
    painted = paint(FILLS["lama"], picture[:37, :45], mask[:37, :45])
    assert (painted[mask[:37, :45]] == 128).all() and painted.shape == (37, 45, 3)


def test_lama_says_what_it_needs(monkeypatch, tmp_path):
    picture, mask = scene()
    monkeypatch.delenv("RANKSCOPE_LAMA", raising=False)
    assert "RANKSCOPE_LAMA" in FILLS["lama"].lacking()
    monkeypatch.setenv("RANKSCOPE_LAMA", str(tmp_path / "none.pt"))
    with pytest.raises(UserError, match="no such file"):
        paint(FILLS["lama"], picture, mask)
    wrong = tmp_path / "wrong.pt"
    wrong.write_bytes(b"no network")
    monkeypatch.setenv("RANKSCOPE_LAMA", str(wrong))
    with pytest.raises(UserError, match="not a TorchScript file"):
        paint(FILLS["lama"], picture, mask)


def test_without_opencv_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr("trainers.object_removal.fills.opencv.find_spec", lambda _: None)
    assert "pip install" in FILLS["telea"].lacking()
    with pytest.raises(UserError, match="opencv-contrib-python-headless"):
        paint(FILLS["telea"], *scene())


def test_refusals():
    picture, mask = scene()
    with pytest.raises(UserError, match="uint8"):
        paint(FILLS["zero"], picture.astype(float), mask)
    with pytest.raises(UserError, match="A mask bool"):
        paint(FILLS["zero"], picture, mask[1:])
    with pytest.raises(UserError, match="whole image"):
        paint(FILLS["telea"], picture, np.ones_like(mask))
    with pytest.raises(ParameterError):
        paint(FILLS["telea"], picture, mask, {"radius": 99})


@pytest.mark.parametrize("name", [name for name, fill in FILLS.items() if fill.redraw is not None])
def test_a_fill_that_needs_the_scene_says_so(name):
    scene, pixels = drawn()
    mask = np.zeros((scene.height, scene.width), dtype=bool)
    assert FILLS[name].unfit(scene) is None and FILLS[name].unfit(None) is not None
    with pytest.raises(DataError, match="Only the drawn scenes"):
        paint(FILLS[name], pixels, mask, removed=scene.classes[:1])
    with pytest.raises(DataError, match="whole objects"):
        paint(FILLS[name], pixels, mask, scene=scene)
