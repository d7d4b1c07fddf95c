"""Maps by occlusion against an oracle that covers one patch at a time: rows, own images, and what is refused."""

from __future__ import annotations

import io
import json
import math
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from trainers.data.decode import decode_query
from trainers.errors import UserError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.object_removal.reliance.occlusion import covered, edges, occlude
from trainers.parameters import Choice
from trainers.retrieval.encoders import encoders_of_run
from trainers.retrieval.looked_at import FIRST, QueryMaps, look
from trainers.retrieval.results import Query, RunArm
from trainers.retrieval.retriever import Retriever
from trainers.runs import RunFolder
from trainers.training.embedding import ImageEncoder
from trainers.training.footprint import unloaded

PROBE = Choice(name="probe")


def looked(folder: RunFolder, query: Query, **changes: object) -> QueryMaps:
    arms = [RunArm(folder=folder, arm=arm) for arm in range(folder.config.arms)]
    return look(Retriever(), arms, query, PROBE, **{"grid": 5, **changes})  # type: ignore[arg-type]


def slow(
    folder: RunFolder, arm: int, pixels: np.ndarray, images: np.ndarray, rows: list[int], grid: int
) -> tuple[float, list[list[float]]]:
    """Similarity and falls: one patch, one image, one result at a time, in numbers of Python."""
    encoder = encoders_of_run(folder).read(arm)
    colour = [int(np.rint(images[:, channel].astype(float).mean())) for channel in range(pixels.shape[0])]

    def vector(one: np.ndarray) -> list[float]:
        return [float(x) for x in encoder.embed(torch.from_numpy(one[None].copy()))[0]]

    others = [vector(images[row]) for row in rows]

    def near(one: np.ndarray) -> float:
        values = vector(one)
        return math.fsum(math.fsum(a * b for a, b in zip(values, other, strict=True)) for other in others) / len(others)

    whole, side, falls = near(pixels), pixels.shape[1], []
    for down in range(grid):
        line = []
        for right in range(grid):
            one = pixels.copy()
            for y in range(side):
                for x in range(side):
                    if round(down * side / grid) <= y < round((down + 1) * side / grid) and round(
                        right * side / grid
                    ) <= x < round((right + 1) * side / grid):
                        one[:, y, x] = colour
            line.append(whole - near(one))
        falls.append(line)
    return whole, falls


def gallery(folder: RunFolder) -> tuple[np.ndarray, np.ndarray]:
    opened = Retriever().gallery(folder, PROBE)
    return opened.images()[0].numpy(), opened.labels


@pytest.mark.parametrize("kind", ["run", "contrastive_run"])
@pytest.mark.parametrize("result", [None, 4])
def test_a_map_is_that_of_one_patch_at_a_time(kind: str, result: int | None, request: pytest.FixtureRequest) -> None:
    folder: RunFolder = request.getfixturevalue(kind)
    images, labels = gallery(folder)
    same = [row for row in range(len(images)) if row != 1 and labels[row, 0] == labels[1, 0]]
    maps = looked(folder, Query(row=1), result=result)
    assert torch.equal(maps.image, torch.from_numpy(images[1]))
    for number, arm in enumerate(maps.arms):
        assert arm.rows == ([result] if result is not None else same) and arm.error is None
        similarity, falls = slow(folder, number, images[1], images, arm.rows, 5)
        assert arm.similarity == pytest.approx(similarity, abs=2e-6) and arm.falls is not None
        assert arm.falls == pytest.approx(np.array(falls), abs=2e-6) and np.abs(arm.falls).max() > 1e-4
    assert json.dumps(maps.as_json()) and maps.as_json()["grid"] == 5


def photograph() -> bytes:
    pixels = np.full((40, 60, 3), 90, np.uint8)
    pixels[10:30, 20:40] = (200, 30, 30)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def test_an_image_of_ones_own_is_looked_at_by_each_losss_first_results(run: RunFolder) -> None:
    images, _ = gallery(run)
    maps = looked(run, Query(image=photograph()), grid=4)
    for number, arm in enumerate(maps.arms):
        encoder = encoders_of_run(run).read(number)
        pixels = decode_query(photograph(), channels=encoder.channels, side=encoder.side)[0]
        near = encoder.embed(torch.from_numpy(images)).double() @ encoder.embed(pixels[None])[0].double()
        assert sorted(near[arm.rows].tolist()) == pytest.approx(sorted(near.sort().values[-FIRST:].tolist()), abs=1e-6)
        assert arm.falls is not None
        assert arm.falls == pytest.approx(np.array(slow(run, number, pixels.numpy(), images, arm.rows, 4)[1]), abs=2e-6)
    assert maps.of == f"the first {FIRST} results of each loss"
    assert [arm.rows for arm in looked(run, Query(image=photograph()), result=3).arms] == [[3], [3]]


def test_patches_cover_every_pixel_once() -> None:
    for side, grid in ((24, 5), (7, 7), (64, 10), (33, 28)):
        image = torch.arange(side * side, dtype=torch.int32).remainder(250).to(torch.uint8).reshape(1, side, side)
        changed = covered(image, torch.tensor([251], dtype=torch.uint8), grid) == 251
        assert torch.equal(changed.sum(0), torch.ones(1, side, side, dtype=torch.int64))
        assert set(np.diff(edges(side, grid))) <= {side // grid, side // grid + 1}


def test_what_cannot_be_looked_at_is_said(run: RunFolder, tmp_path: Path) -> None:
    for changes, words in (({"grid": 1}, "2 to 24 patches"), ({"grid": 25}, "got 25"), ({"result": 999}, "got 999")):
        with pytest.raises(UserError, match=words):
            looked(run, Query(row=1), **changes)
    shutil.copytree(run.path, tmp_path / run.id)
    shutil.rmtree(tmp_path / run.id / "ckpt")
    maps = looked(RunFolder.open(tmp_path, run.id), Query(row=1))
    assert all("checkpoint" in str(arm.error) and arm.falls is None for arm in maps.arms)


def test_the_default_encoder_takes_ten_seconds_of_a_processor_at_most() -> None:
    """For two losses."""
    usual = MetricLearningConfig()
    side = usual.data.image_size or 64
    network = unloaded(usual.encoder, channels=3, side=side, dim=usual.width).eval()
    about = {"run": "", "arm": 0, "step": 0, "digest": "", "channels": 3, "side": side}
    encoder = ImageEncoder(**about, network=network, device=torch.device("cpu"))  # type: ignore[arg-type]
    image = torch.randint(0, 256, (3, side, side), dtype=torch.uint8)
    begun = time.process_time()
    for _ in range(2):
        occlude(encoder, image, encoder.embed(image[None]), colour=torch.tensor([9, 9, 9], dtype=torch.uint8), grid=14)
    assert time.process_time() - begun < 10
