"""Taking an object out of a photo: what goes, what stays, and the picture with the place painted over."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from explorer.object_removal.fields import Fields
from explorer.object_removal.images import Photo, Photos, png
from explorer.object_removal.strokes import MOST_BOXES, Drawing, read_boxes, read_drawing
from explorer.server.cache import Cache, Room
from explorer.server.http import GoneError, RequestError
from trainers.data.captioned.scenes import Scene
from trainers.data.synthetic.scenes import drawing_of
from trainers.errors import DataError
from trainers.object_removal.fills import FILLS, FillDescriptor, paint
from trainers.object_removal.image import LONGEST, Picture, read_picture
from trainers.object_removal.overlap import ONE_CLASS, Judgement, Thresholds, judge
from trainers.object_removal.pairs import scaled_mask
from trainers.object_removal.regions import Regions, pixel_mask
from trainers.object_removal.tokens import tokenise
from trainers.object_removal.vocabulary import WordTable, load_words

RERENDER = "rerender"
RERENDER_TITLE = "Drawn again without it"
LONGEST_NAME = 60
NONE_MARKED = (
    "No other object is marked in this photo, so no sentence can count as right: only those that name what was removed "
    "are told apart."
)
_MOST_CLASSES = 20
_MOST_OBJECTS = 100


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a visitor asks to take out.

    Attributes:
        classes: annotated classes, the chosen one first; empty if something was drawn.
        name: what was drawn over, in words.
        drawing: boxes or strokes; None if annotated classes are named.
        words: further words that stand for ``name``.
    """

    classes: tuple[str, ...] = ()
    name: str = ""
    drawing: Drawing | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Filled:
    """A photo with something painted over.

    A drawn scene is shown larger than models see it; both sizes are painted, so that what a model answers is what a
    score counts.

    Attributes:
        key: address of the shown picture below ``objects/filled/``.
        original, pixels: uint8 ``[H, W, 3]``, before and after, as models see them.
        judgement: what was removed and what stays.
        title: of the fill; milliseconds: what it took.
        notes: plain sentences.
    """

    key: str
    original: np.ndarray
    pixels: np.ndarray
    judgement: Judgement
    title: str
    milliseconds: float
    notes: tuple[str, ...]


class Fills:
    """Paints, and keeps the last painted pictures for the page to fetch.

    Args:
        kept: room for them.
    """

    def __init__(self, photos: Photos, kept: Room) -> None:
        self._photos = photos
        self._kept: Cache[bytes] = Cache(limit=kept, cost=len)

    def png(self, key: str) -> bytes:
        """A painted picture as a PNG file.

        Raises:
            GoneError: it is no longer kept.
        """
        return self._kept.get(key, lambda: _gone(key))

    def keep(self, pixels: np.ndarray) -> str:
        """Keep a painted picture; returns its key, the same for the same pixels."""
        key = hashlib.blake2b(pixels.tobytes() + repr(pixels.shape).encode(), digest_size=16).hexdigest()
        self._kept.get(key, lambda: png(pixels))
        return key

    def take_out(self, photo: Photo, wanted: Wanted, fill: str) -> Filled:
        """Paint over what is wanted.

        Raises:
            UserError: the photo has no such class, the region is empty or everything, or the fill cannot be had.
        """
        picture = self._photos.picture(photo)
        judgement, mask = judged_mask(photo, picture, wanted)
        large = self._photos.enlarged(photo)
        started = time.perf_counter()
        pixels, title = self._painted(photo, picture, wanted, judgement, mask, fill)
        shown = pixels
        if large is not None:
            mask = judged_mask(photo, large, wanted)[1]
            shown, _ = self._painted(photo, large, wanted, judgement, mask, fill)
        spent = 1000 * (time.perf_counter() - started)
        return Filled(
            key=self.keep(shown),
            original=picture.pixels,
            pixels=pixels,
            judgement=judgement,
            title=title,
            milliseconds=spent,
            notes=wanted.drawing.notes if wanted.drawing is not None else (),
        )

    def _painted(
        self, photo: Photo, picture: Picture, wanted: Wanted, judgement: Judgement, mask: np.ndarray, fill: str
    ) -> tuple[np.ndarray, str]:
        if fill == RERENDER:
            if wanted.drawing is not None:
                raise DataError("Drawing again leaves out whole objects: choose one of the list, or another fill.")
            side = max(picture.pixels.shape)
            return redrawn(photo.scene, judgement.removed, side), RERENDER_TITLE
        descriptor = fill_named(fill)
        if not mask.any():
            raise DataError("Nothing that was chosen has an area inside the photo. Draw over the object again.")
        return paint(descriptor, picture.pixels, mask), descriptor.title


def fill_named(name: str) -> FillDescriptor:
    """A fill of the catalogue.

    Raises:
        RequestError: there is none of that name.
    """
    if name not in FILLS:
        raise RequestError(f"There is no fill {name[:40]!r}; choose from {', '.join(FILLS)}.")
    return FILLS[name]


def redrawn(scene: Scene | None, classes: Sequence[str], longest: int = LONGEST) -> np.ndarray:
    """A drawn scene drawn again without some classes, uint8 ``[H, W, 3]``.

    Raises:
        DataError: this photo was not drawn here.
    """
    drawing = None if scene is None else drawing_of(scene)
    if drawing is not None:
        return drawing.pixels(longest, classes)
    if scene is None or scene.without is None:
        raise DataError("Only the drawn scenes can be drawn again without an object. Choose another fill.")
    return read_picture(scene.without(classes), longest).pixels


def judged_mask(photo: Photo, picture: Picture, wanted: Wanted) -> tuple[Judgement, np.ndarray]:
    """What taking it out means, and the pixels of this picture to paint; bool ``[H, W]``.

    Raises:
        UserError: the photo has no such class, or nothing of what was drawn lies inside it.
    """
    if wanted.drawing is None:
        return named(photo, picture, wanted.classes)
    return drawn(photo, picture, wanted.name, wanted.drawing)


def read_wanted(fields: Fields) -> Wanted:
    """The ``remove`` of a request.

    Raises:
        RequestError: it names nothing, or in the wrong form.
    """
    if fields.has("classes"):
        return Wanted(classes=tuple(dict.fromkeys(fields.texts("classes", _MOST_CLASSES))))
    drawing = read_drawing(fields)
    name = " ".join(fields.text("class", "").split())
    if not tokenise(name) or len(name) > LONGEST_NAME:
        raise RequestError(f"Say in words what the object is, in at most {LONGEST_NAME} letters, for example: dog.")
    words = fields.texts("words", 20, LONGEST_NAME) if fields.has("words") else ()
    return Wanted(name=table_name(name, load_words()), drawing=drawing, words=words)


def read_objects(fields: Fields, photo: Photo) -> Photo:
    """The photo with the objects that came along with a request: those of a detector, for uploads.

    Raises:
        RequestError: they are in the wrong form.
    """
    boxes, classes = [], []
    for each in fields.inners("objects", _MOST_OBJECTS):
        name = each.text("class", longest=LONGEST_NAME)
        found, _ = read_boxes(each.list("boxes", MOST_BOXES))
        boxes += [
            (x0 * photo.width, y0 * photo.height, x1 * photo.width, y1 * photo.height) for x0, y0, x1, y1 in found
        ]
        classes += [name] * len(found)
    return photo.with_objects(boxes, classes)


def table_name(name: str, words: WordTable) -> str:
    """The table's own spelling of a class, if it has it; else the name as it is."""
    plain = " ".join(token.word for token in tokenise(name))
    spelt = {" ".join(token.word for token in tokenise(known)): known for known in words.classes}
    return spelt.get(plain, name)


def named(photo: Photo, picture: Picture, classes: Sequence[str]) -> tuple[Judgement, np.ndarray]:
    """Judge taking out annotated classes, and the pixels to paint; bool ``[H, W]``.

    Raises:
        UserError: the photo has no such class.
    """
    judgement = together(photo.regions(), classes) if photo.classes else _none(classes)
    return judgement, scaled_mask(picture, photo.boxes, photo.classes, judgement.removed)


def together(regions: Regions, classes: Sequence[str]) -> Judgement:
    """One judgement for several classes at once: they count as one class, the first one.

    Raises:
        UserError: the photo has no such class.
    """
    chosen = classes[0]
    if len(classes) == 1:
        return judge(regions, chosen)
    for name in classes:
        judge(regions, name)  # refuses names that are not there
    cells = {name: grid for name, grid in regions.cells.items() if name not in classes or name == chosen}
    cells[chosen] = regions.union(classes)
    judgement = judge(replace(regions, cells=cells), chosen)
    gone = {*judgement.removed, *classes}
    said = "Several classes were chosen; the metric takes out one class at a time, and those it covers."
    return replace(
        judgement,
        removed=tuple(name for name in regions.classes if name in gone),
        kept=tuple(name for name in regions.classes if name not in gone),
        case="several",
        problems=(*judgement.problems, said),
    )


def drawn(photo: Photo, picture: Picture, name: str, drawing: Drawing) -> tuple[Judgement, np.ndarray]:
    """Judge taking out what was drawn over, beside the photo's annotated objects, and the pixels to paint.

    Raises:
        DataError: nothing of it lies inside the photo.
    """
    height, width = picture.pixels.shape[:2]
    mask = drawing.mask(width, height)
    if not mask.any():
        raise DataError("Nothing that was drawn lies inside the photo. Draw over the object again.")
    scale_x, scale_y = width / photo.width, height / photo.height
    masks, classes, same = [], [], np.zeros_like(mask)
    for (x0, y0, x1, y1), known in zip(photo.boxes, photo.classes, strict=True):
        own = pixel_mask([(x0 * scale_x, y0 * scale_y, x1 * scale_x, y1 * scale_y)], width, height)
        if known == name:
            same |= own
        else:
            masks.append(own)
            classes.append(known)
    judgement = judge(Regions.of_masks([mask, *masks], [name, *classes]), name)
    if not photo.classes:  # what else is there nobody has said: it may be one class or ten
        problems = tuple(NONE_MARKED if one == ONE_CLASS else one for one in judgement.problems)
        judgement = replace(judgement, problems=problems)
    left = float((same & ~mask).sum() / max(1, same.sum()))
    if left > 1 - Thresholds().tau2:
        said = f"{left:.0%} of what is marked as {name} in this photo lies outside the drawing and stays."
        judgement = replace(judgement, problems=(*judgement.problems, said))
    swallowed = [known for known in judgement.removed if known != name]
    for own, known in zip(masks, classes, strict=True):
        if known in swallowed:
            mask = mask | own
    return judgement, mask


def about(filled: Filled) -> dict[str, Any]:
    """The part of a reply that tells what was done to the photo."""
    judgement = filled.judgement
    return {
        "filled": filled.key,
        "share": round(judgement.share, 4),
        "fill_ms": round(filled.milliseconds, 1),
        "fill_title": filled.title,
        "chosen": judgement.chosen,
        "removed": list(judgement.removed),
        "kept": list(judgement.kept),
        "case": judgement.case,
        "problems": list(judgement.problems),
        "notes": list(filled.notes),
    }


def _none(classes: Sequence[str]) -> Judgement:
    raise DataError(
        f"No object is marked in this photo, so {', '.join(classes)[:80]!r} cannot be chosen. Draw over it instead."
    )


def _gone(key: str) -> bytes:
    raise GoneError(f"The picture {key[:40]!r} is no longer kept here. Ask again.")
