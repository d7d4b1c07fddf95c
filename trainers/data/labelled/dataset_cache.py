"""Decoded datasets: kept in the disk cache, so that a second start is instant, and divided anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.data import cache, settings
from trainers.data.base import ROLE, ImageSet, LoadedData
from trainers.data.labelled.splits import divide_images
from trainers.data.pixel_range import PixelRange
from trainers.hierarchy import Hierarchy

KIND = "images"
PARTS = ("train", "test")
_PLAIN = ("title", "licence", "fingerprint")  # fields that are text
_HASHED = 4096  # images; 600 MB of pixels at 224 x 224, read in about a second


def fingerprint(data: dict[str, ImageSet], hierarchy: Hierarchy) -> str:
    """Hash of names, labels and pixels in their order."""
    digest = hashlib.blake2b(json.dumps([hierarchy.levels, hierarchy.names]).encode(), digest_size=16)
    for part in data.values():
        digest.update(f"{tuple(part.images.shape)}{tuple(part.labels.shape)}".encode())
        digest.update(part.labels.contiguous().numpy().data)
        cache.update(digest, part.images.numpy())
    return digest.hexdigest()


def image_fingerprint(images: Tensor) -> str:
    """Hash of images in their order, without labels: of all pixels of at most 4,096 of them, evenly spaced.

    Args:
        images: ``[N, C, H, W]``, may be memory-mapped.
    """
    rows = np.unique(np.linspace(0, max(0, len(images) - 1), min(len(images), _HASHED)).astype(np.int64))
    digest = hashlib.blake2b(f"{tuple(images.shape)}".encode(), digest_size=16)
    cache.update(digest, images[torch.from_numpy(rows)].contiguous().numpy())
    return digest.hexdigest()


def read(key: str, name: str) -> LoadedData | None:
    """Read the dataset stored under a key, with ``name`` as its name; None if there is none."""
    entry = cache.read(KIND, key, map_above=settings.memory_bytes())
    if entry is None:
        return None
    about = entry.about
    parts = {
        part: ImageSet(
            images=entry.tensors[part],
            labels=entry.tensors[f"{part}_labels"],
            before_cap=before_cap,
            names=tuple(about.get("files", {}).get(part, ())),
            attributes=_attributes(entry.tensors, part, about),
        )
        for part, before_cap in about["before_cap"].items()
    }
    return LoadedData(
        name=name,
        hierarchy=Hierarchy(levels=tuple(about["levels"]), names=tuple(map(tuple, about["names"]))),
        notes=tuple(about["notes"]),
        labelled=about.get("labelled", True),
        pixel_range=PixelRange.from_list(about.get("pixel_range")),
        attributes={name: tuple(values) for name, values in about.get("attributes", {}).items()},
        **{field: about[field] for field in _PLAIN},
        train=parts["train"],
        test=parts["test"],
    )


def commit(draft: cache.Draft, key: str, data: LoadedData) -> None:
    """Complete the entry whose images are in ``draft`` as ``train`` and ``test``.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    for part in PARTS:
        values = {"labels": getattr(data, part).labels} | dict(getattr(data, part).attributes)
        for name, tensor in values.items():
            draft.allocate(f"{part}_{name}", tuple(tensor.shape), tensor.numpy().dtype)[...] = tensor.numpy()
    draft.commit(key, _about(data))


def write(key: str, data: LoadedData) -> None:
    """Store a dataset that is in memory; nothing happens where the cache is off or its disk is full."""
    labels = {f"{part}_labels": getattr(data, part).labels for part in PARTS}
    known = {f"{part}_{name}": ids for part in PARTS for name, ids in getattr(data, part).attributes.items()}
    cache.write(KIND, key, {"train": data.train.images, "test": data.test.images, **labels, **known}, _about(data))


def _attributes(tensors: Mapping[str, Tensor], part: str, about: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the attributes that a part has."""
    stored = {name: f"{part}_{name}" for name in about.get("attributes", ())}
    return {name: tensors[key] for name, key in stored.items() if key in tensors}


def _about(data: LoadedData) -> dict[str, Any]:
    return {
        **{field: getattr(data, field) for field in _PLAIN},
        "labelled": data.labelled,
        "pixel_range": None if data.pixel_range is None else data.pixel_range.as_list(),
        "attributes": dict(data.attributes),
        "levels": data.hierarchy.levels,
        "names": data.hierarchy.names,
        "notes": data.notes,
        "files": {part: getattr(data, part).names for part in PARTS},
        "before_cap": {part: getattr(data, part).before_cap for part in PARTS},
    }


def hold_out_images(data: LoadedData, seed: int) -> LoadedData:
    """Divide the images of both splits together: of every class four to train on for one to test on.

    Args:
        data: in memory.
        seed: of the division.
    """
    images, labels = (torch.cat([getattr(data.train, name), getattr(data.test, name)]) for name in ("images", "labels"))
    side = torch.from_numpy(divide_images(labels[:, 0].numpy(), seed))
    both = data.train.attributes, data.test.attributes
    known = {name: torch.cat([of[name] for of in both]) for name in data.attributes if all(name in of for of in both)}
    known.pop(ROLE, None)  # queries and gallery are of the division that is undone
    files = data.train.names + data.test.names
    several = len(files) == len(labels)
    parts = {
        name: ImageSet(
            images=images[rows],
            labels=labels[rows],
            before_cap=int(rows.sum()),
            attributes={name: values[rows] for name, values in known.items()},
            names=tuple(files[row] for row in rows.nonzero()[:, 0].tolist()) if several else (),
        )
        for name, rows in (("train", side), ("test", ~side))
    }
    note = f"Of every class, a fifth of the images is tested on, chosen by seed {seed}."
    mark = fingerprint(parts, data.hierarchy)
    notes = (*data.notes[1:], note)
    names = {name: data.attributes[name] for name in known}
    return replace(data, train=parts["train"], test=parts["test"], notes=notes, fingerprint=mark, attributes=names)
