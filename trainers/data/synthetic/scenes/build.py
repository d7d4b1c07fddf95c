"""Drawn scenes as a dataset like any other: lazy images, captions, boxes, and each scene again without some objects."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
from PIL import Image

from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.data.synthetic.engine import digest
from trainers.data.synthetic.scenes.captions import captions_of
from trainers.data.synthetic.scenes.draw import pixel_box, render
from trainers.data.synthetic.scenes.scene import CLASSES, DrawnScenes, Layout, make_layout
from trainers.errors import DataError
from trainers.progress import Progress, silent

TITLE, LICENCE = "Drawn scenes", "CC0-1.0"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Draws one scene whenever it is asked to: ``load`` and ``without`` of its :class:`CaptionedImage`."""

    layout: Layout
    size: int

    def load(self) -> bytes:
        """Draw the scene as PNG."""
        return self.without(())

    def without(self, removed: Sequence[str]) -> bytes:
        """Draw the scene without some classes, as PNG: exactly what a fill tries to reconstruct."""
        data = io.BytesIO()
        Image.fromarray(self.pixels(self.size, removed)).save(data, "PNG", compress_level=1)
        return data.getvalue()

    def pixels(self, size: int, removed: Collection[str] = ()) -> np.ndarray:
        """Draw it as uint8 ``[size, size, 3]``; a scene is drawn, so it has any size."""
        return render(self.layout, size, removed)


class Split(Sequence[CaptionedImage]):
    """The scenes of one split, each made when it is first asked for and then kept: all of them take a second, and a
    page shows a few. Safe between threads.

    Args:
        first: number of its first scene.
        count: scenes.
    """

    def __init__(self, settings: DrawnScenes, name: str, first: int, count: int) -> None:
        self._settings = settings
        self._name = name
        self._first = first
        self._rows = range(count)
        self._known: dict[int, CaptionedImage] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> CaptionedImage: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[CaptionedImage, ...]: ...

    def __getitem__(self, index: int | slice) -> CaptionedImage | tuple[CaptionedImage, ...]:
        if isinstance(index, slice):
            return tuple(self[row] for row in self._rows[index])
        row = self._rows[index]
        scene = self._known.get(row)
        # of two threads that make the same scene at once, both get the one that was first
        return scene or self._known.setdefault(row, _scene(self._settings, self._name, self._first + row, row))


def drawn_scenes(settings: DrawnScenes, limit: int | None = None) -> CaptionedDataset:
    """Return the scenes of one seed, split into ``train``, ``val`` and ``test``; each is made and drawn when it is
    looked at.

    Args:
        limit: at most so many scenes of each split.
    """
    splits: dict[str, Sequence[CaptionedImage]] = {}
    first = 0
    for name, count in (("train", settings.train), ("val", settings.val), ("test", settings.test)):
        splits[name] = Split(settings, name, first, len(range(count)[:limit]))
        first += count
    note = (
        f"Twelve classes; five of them occur with one certain other in {settings.bias:.0%} of their scenes, and a "
        f"caption names an object that is there {settings.mention:.0%} of the time. That is the shortcut a model may "
        "learn."
    )
    usual = settings.bias == DrawnScenes().bias
    title = TITLE if usual else f"{TITLE}, pairs in {settings.bias:.0%}"
    return CaptionedDataset(title=title, licence=LICENCE, splits=splits, classes=CLASSES, notes=(note,))


def drawing_of(scene: CaptionedImage) -> Drawing | None:
    """Return the drawing of a scene; None for one that was not drawn here."""
    drawing = getattr(scene.load, "__self__", None)
    return drawing if isinstance(drawing, Drawing) else None


def are_drawn(scenes: Sequence[CaptionedImage]) -> bool:
    """Return whether all of them are drawn scenes."""
    return bool(scenes) and all(drawing_of(scene) is not None for scene in scenes)


def pixels(
    scenes: Sequence[CaptionedImage],
    side: int,
    removed: Sequence[Sequence[str]] | None = None,
    progress: Progress = silent,
) -> np.ndarray:
    """Draw many scenes at once, without the way through PNG.

    Args:
        scenes: drawn ones.
        side: of the images.
        removed: for each scene the classes to leave out; None: nothing is.
        progress: told now and then.

    Returns:
        uint8 ``[N, 3, side, side]``.

    Raises:
        DataError: one of the scenes was not drawn here.
    """
    images = np.empty((len(scenes), 3, side, side), dtype=np.uint8)
    for row, scene in enumerate(scenes):
        drawing = drawing_of(scene)
        if drawing is None:
            raise DataError(f"{scene.image_id!r} was not drawn here, so it cannot be drawn again.")
        if row % 64 == 0:
            progress("drawing scenes", row / len(scenes))
        images[row] = drawing.pixels(side, () if removed is None else removed[row]).transpose(2, 0, 1)
    return images


def code_digest() -> str:
    """Return the digest of the code that draws and words; what is kept on disk is out of date when it changes."""
    return digest.code_digest(Path(__file__).parent)


def _scene(settings: DrawnScenes, split: str, number: int, row: int) -> CaptionedImage:
    layout = make_layout(settings.seed, number, settings.bias)
    drawing = Drawing(layout=layout, size=settings.size)
    corners = (pixel_box(thing.box, settings.size) for thing in layout.things)
    boxes = tuple((float(x0), float(y0), float(x1), float(y1)) for x0, y0, x1, y1 in corners)
    return CaptionedImage(
        image_id=f"{split}-{row:06d}",
        load=drawing.load,
        captions=captions_of(layout, settings.mention),
        boxes=boxes,
        classes=tuple(thing.name for thing in layout.things),
        width=settings.size,
        height=settings.size,
        without=drawing.without,
    )
