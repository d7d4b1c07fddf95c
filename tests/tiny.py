"""A folder of real PNG files, small enough to train on in a second: coloured discs, one hue a class."""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
from PIL import Image

from trainers.config import DataChoice, RunConfig
from trainers.kinds import check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.training.loop import Loop

SIDE = 24


def write_images(root: Path, *, train: int = 8, test: int = 6, each: int = 6, seed: int = 0, groups: int = 0) -> Path:
    """``root/{train,test}/<class>/<n>.png``; train and test share no class. With groups ``<group>/<class>``."""
    draws = np.random.default_rng(seed)
    for number in range(train + test):
        split = "train" if number < train else "test"
        group = root / split / f"group{number % groups}" if groups else root / split
        folder = group / f"colour{number:02d}"
        folder.mkdir(parents=True)
        colour = np.array(colorsys.hsv_to_rgb(number / (train + test), 0.8, 0.8)) * 255
        for index in range(each):
            Image.fromarray(_disc(colour, draws)).save(folder / f"{index}.png")
    return root


def tiny_config(folder: Path, *losses: str, **changes: object) -> RunConfig:
    """A run of a few steps on :func:`write_images`."""
    values: dict[str, object] = {
        "data": DataChoice(source=str(folder), image_size=24),
        "losses": tuple(Choice(name=name) for name in losses or ("smooth_ap", "supcon_out")),
        "encoder_parameters": {"width": 8},
        "dim": 16,
        "classes_per_batch": 4,
        "images_per_class": 3,
        "steps": 6,
        "minutes": None,
        "probe_size": 30,
        "device": "cpu",
        "threads": 1,
    }
    values |= changes
    encoder, parameters = values.pop("encoder", MetricLearningConfig().encoder.name), values.pop("encoder_parameters")
    values["encoder"] = Choice(name=encoder, parameters=parameters)  # type: ignore[arg-type]
    return MetricLearningConfig(**values)  # type: ignore[arg-type]


def tiny_contrastive(folder: Path, *methods: Choice, **changes: object) -> ContrastiveConfig:
    """A contrastive run of a few steps on the images of a folder, with a second stage of two."""
    values: dict[str, object] = {
        "data": DataChoice(source=str(folder), image_size=16, held_out="images"),
        "methods": methods or (Choice(name="moco_v2", parameters={"queue": 12}),),
        "encoder": Choice(name="conv4", parameters={"width": 8}),
        "dim": 8,
        "batch": 8,
        "splits": 2,
        "steps": 2,
        "minutes": None,
        "head_steps": 2,
        "probe_size": 20,
        "device": "cpu",
        "threads": 1,
    }
    return ContrastiveConfig(**(values | changes))  # type: ignore[arg-type]


def _disc(colour: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    rows, columns = np.mgrid[:SIDE, :SIDE]
    centre, radius = draws.uniform(8, 16, 2), draws.uniform(5, 9)
    inside = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < radius**2
    image = draws.integers(90, 166, (SIDE, SIDE, 3)).astype(float)
    image[inside] = colour + draws.normal(0, 12, (int(inside.sum()), 3))
    return image.clip(0, 255).astype(np.uint8)


def trained(root: Path, config: RunConfig) -> RunFolder:
    """A run of ``config`` below ``root``, trained to the end of its budget, with a checkpoint."""
    return to_end(kind_of(config).loop()(RunFolder.create(root, config))).folder


def opened(root: Path, config: RunConfig) -> Loop:
    """A new run of ``config`` below ``root``, checked and not trained."""
    check(config)
    return kind_of(config).loop()(RunFolder.create(root, config))


def to_end(loop: Loop) -> Loop:
    """Train what is left of its budget, and write a checkpoint."""
    while loop.advance(60):
        pass
    loop.checkpoint()
    return loop
