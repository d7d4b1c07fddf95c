"""A COCO folder of real PNG files, small enough to fine-tune on in a second: coloured squares with names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from trainers.config import RunConfig, SceneChoice
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import Choice

SIDE = 64
COLOURS = {"dog": (150, 90, 40), "frisbee": (230, 40, 40), "cat": (90, 90, 90), "boat": (40, 80, 200)}
FRESH = {"fresh": True}


def write_coco(root: Path, *, train: int = 24, test: int = 10) -> Path:
    """``root/annotations/{captions,instances}_{train,test}.json`` and the photos; two objects in each."""
    draws = np.random.default_rng(0)
    names = list(COLOURS)
    (root / "annotations").mkdir(parents=True)
    for split, count in (("train", train), ("test", test)):
        (root / split).mkdir()
        images, captions, boxes = [], [], []
        for number in range(count):
            pixels = draws.integers(180, 220, (SIDE, SIDE, 3), np.uint8)
            pair = [names[number % 4], names[(number + 1 + number // 4 % 3) % 4]]
            for name, (x, y) in zip(pair, ((6, 8), (38, 30)), strict=True):
                size = 18 if name == pair[0] else 12
                pixels[y : y + size, x : x + size] = COLOURS[name]
                box = {"image_id": number, "category_id": names.index(name), "bbox": [x, y, size, size]}
                boxes.append(box)
            Image.fromarray(pixels).save(root / split / f"{number}.png")
            images.append({"id": number, "file_name": f"{number}.png", "width": SIDE, "height": SIDE})
            first, second = pair
            for text in (
                f"a {first} beside a {second}",
                f"one {first} near a {second} outside",
                f"a {first} number {number}",
            ):
                captions.append({"image_id": number, "caption": text})
        categories = [{"id": index, "name": name} for index, name in enumerate(names)]
        _write(root, f"captions_{split}", {"images": images, "annotations": captions})
        _write(root, f"instances_{split}", {"images": images, "annotations": boxes, "categories": categories})
    return root


def mend_config(folder: Path, *recipes: dict[str, object], **changes: object) -> RunConfig:
    """A mending run of a few steps on :func:`write_coco`, from random weights."""
    values: dict[str, object] = {
        "scenes": SceneChoice(source=str(folder)),
        "model": Choice(name="tiny_clip", parameters=FRESH),
        "recipes": recipes or ({},),
        "batch": 8,
        "learning_rate": 1e-3,
        "steps": 3,
        "minutes": None,
        "device": "cpu",
        "threads": 1,
    }
    return FinetuningConfig(**(values | changes))  # type: ignore[arg-type]


def _write(root: Path, name: str, content: dict[str, object]) -> None:
    (root / "annotations" / f"{name}.json").write_text(json.dumps(content))
