"""Datasets with captions and boxes: an image's class is that of its largest object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.config import SceneChoice
from trainers.data.captioned.loader import load_chosen
from trainers.data.captioned_images import CaptionedImage
from trainers.data.decode import square
from trainers.data.image_file import UndecodableError
from trainers.data.query_image import with_channels
from trainers.data.synthetic.scenes import drawing_of
from trainers.errors import DataError
from trainers.hierarchy import Hierarchy
from trainers.object_removal.reliance.objects import EMPTY, ObjectImages, class_masks, fingerprint
from trainers.object_removal.reliance.sources.base import ObjectRequest, ObjectSource
from trainers.object_removal.square_images import check_memory


@dataclass(frozen=True, kw_only=True)
class _Main:
    """An image with its largest object: its class, the pixels of that class bool ``[S, S]``, uint8 ``[C, S, S]``."""

    index: int
    scene: CaptionedImage
    name: str
    mask: np.ndarray
    pixels: Tensor


def _load(request: ObjectRequest) -> ObjectImages | None:
    data = request.data
    choice = data if isinstance(data, SceneChoice) else SceneChoice(source=data.source)
    dataset = load_chosen(choice, request.progress)
    names = [dataset.test_split] if request.test_set else list(dataset.splits)
    scenes = [scene for name in names for scene in dataset.splits[name]]
    if not any(scene.boxes for scene in scenes):
        return None
    check_memory(min(request.limit, len(scenes)), [request.side])
    mains, unread = _read(scenes, request)
    if not mains:
        raise DataError(f"{dataset.title} has no image with an object that can be read.")
    images = torch.stack([main.pixels for main in mains])
    masks = np.stack([main.mask for main in mains])
    labels, hierarchy = _labels([main.name for main in mains], dataset.broader)
    notes = [f"An image's class is that of its largest object, of {len(hierarchy.names[0])} classes."]
    if unread:
        notes.append(f"{unread} images could not be read, or show no object in their centre square.")

    def empty(indices: np.ndarray) -> Tensor:
        return with_channels(_without([mains[at] for at in indices.tolist()], request.side), request.channels)

    drawn = all(drawing_of(main.scene) is not None for main in mains)
    return ObjectImages(
        title=dataset.title,
        images=images,
        labels=labels,
        hierarchy=hierarchy,
        rows=np.array([main.index for main in mains]),
        ids=tuple(main.scene.image_id for main in mains),
        masks=lambda indices: masks[indices],
        classes=lambda index: class_masks(mains[index].scene, request.side),
        redrawn={EMPTY: empty} if drawn else {},
        test_set=request.test_set,
        notes=tuple(notes),
        key=fingerprint(images, labels, masks.tobytes()),
    )


def _read(scenes: Sequence[CaptionedImage], request: ObjectRequest) -> tuple[list[_Main], int]:
    """Read the images with an object in their centre square; also return how many have none or cannot be read."""
    mains: list[_Main] = []
    unread = 0
    for index, scene in enumerate(scenes):
        if len(mains) >= request.limit:
            break
        if index % 16 == 0:
            request.progress(f"reading images: {index:,} of {len(scenes):,}", index / len(scenes))
        main = _main(index, scene, request)
        if main is None:
            unread += 1
        else:
            mains.append(main)
    return mains, unread


def _main(index: int, scene: CaptionedImage, request: ObjectRequest) -> _Main | None:
    if not scene.boxes:
        return None
    try:
        of_class = class_masks(scene, request.side)
        pixels = torch.from_numpy(np.array(square(scene.load() or b"", request.side)))[None]
        pixels = with_channels(pixels, request.channels)[0]
    except (UndecodableError, DataError, OSError):
        return None
    largest = max(of_class, key=lambda name: int(of_class[name].sum()))
    if not of_class[largest].any():
        return None
    return _Main(index=index, scene=scene, name=largest, mask=of_class[largest], pixels=pixels)


def _labels(names: Sequence[str], broader: Mapping[str, str]) -> tuple[np.ndarray, Hierarchy]:
    """Label by class and, where it is known, the broader one, int64 ``[N, L]``; a class without one is its own."""
    columns = [list(names)]
    levels = ["class"]
    if any(name in broader for name in names):
        columns.append([broader.get(name, name) for name in names])
        levels.append("supercategory")
    listed = [tuple(sorted(set(column))) for column in columns]
    number_of = [{name: at for at, name in enumerate(names_of)} for names_of in listed]
    labels = np.array(
        [[at[name] for at, name in zip(number_of, row, strict=True)] for row in zip(*columns, strict=True)]
    )
    return labels, Hierarchy(levels=tuple(levels), names=tuple(listed))


def _without(mains: Sequence[_Main], side: int) -> Tensor:
    """Draw scenes without the class of their largest object, uint8 ``[n, 3, S, S]``."""
    images = []
    for main in mains:
        assert main.scene.without is not None
        images.append(torch.from_numpy(np.array(square(main.scene.without((main.name,)), side))))
    return torch.stack(images) if images else torch.zeros(0, 3, side, side, dtype=torch.uint8)


DESCRIPTOR = ObjectSource(
    name="captioned",
    title="Captions and boxes",
    sentence="The class of the largest object is the class of the image.",
    load=_load,
    order=20,
)
