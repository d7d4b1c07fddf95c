"""The removal from an image, and what goes with it: one class, several at once, or a region that is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trainers.errors import DataError
from trainers.object_removal.chunker import tokenise
from trainers.object_removal.drawing import DrawnRegions, Stroke, read_drawing
from trainers.object_removal.regions import ONE_CLASS, TAU2, Judgement, Regions, judge
from trainers.object_removal.vocabulary import WordTable, load_words

LONGEST_NAME = 60
NONE_MARKED = (
    "No other object is marked in this image, so no caption can count as correct: only those that name what was "
    "removed are told apart."
)
NOTHING_INSIDE = "Nothing that was drawn lies inside the image. Draw over the object again."


@dataclass(frozen=True, kw_only=True)
class Target:
    """The target of a removal.

    Attributes:
        classes: classes that are known in the image, the chosen one first; empty if something was drawn.
        name: what was drawn over, in words; empty: it has none.
        drawing: boxes or strokes; None if classes are named.
        words: further words that stand for ``name``.
    """

    classes: tuple[str, ...] = ()
    name: str = ""
    drawing: DrawnRegions | None = None
    words: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        classes: Sequence[str] | None = None,
        boxes: Sequence[Sequence[float]] | None = None,
        strokes: Sequence[Stroke] | None = None,
    ) -> Target:
        """Make it from classes, else the region of boxes (x0, y0, x1, y1 as fractions) and strokes.

        Raises:
            DataError: none of them is given, or nothing of what was drawn lies inside the image.
        """
        if classes:
            return cls(classes=tuple(dict.fromkeys(classes)))
        if boxes is None and strokes is None:
            raise DataError("A removal needs classes, boxes or strokes. Choose an object or draw over one.")
        return cls(drawing=read_drawing(boxes or (), strokes or ()))

    def named(self, name: str, words: Sequence[str] = ()) -> Target:
        """Name the same region, spelt as the word table has it.

        Raises:
            DataError: it has no letters, or too many.
        """
        name = " ".join(name.split())
        if not tokenise(name) or len(name) > LONGEST_NAME:
            raise DataError(f"Say in words what the object is, in at most {LONGEST_NAME} letters, for example: dog.")
        return replace(self, name=table_name(name, load_words()), words=tuple(words))

    def mask(self, objects: Mapping[str, np.ndarray], side: int) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the pixels of a square image that go, bool ``[S, S]``, and of classes those that go: with what they
        cover.

        Args:
            objects: class to the pixels of its objects, bool ``[S, S]``.
            side: S.

        Raises:
            UserError: the image has no such class, or nothing of what was drawn lies inside it.
        """
        if self.drawing is None:
            if not objects:
                raise DataError("No object of this image is known. Draw over one instead of naming it.")
            removed = together(Regions.of_masks(list(objects.values()), list(objects)), self.classes).removed
            return np.any([objects[name] for name in removed], axis=0), removed
        drawn = self.drawing.mask(side, side)
        if not drawn.any():
            raise DataError(NOTHING_INSIDE)
        return drawn, ()


def table_name(name: str, words: WordTable) -> str:
    """Return the word table's spelling of a class, if it has it; else the name as it is."""
    plain = " ".join(token.word for token in tokenise(name))
    spelt = {" ".join(token.word for token in tokenise(known)): known for known in words.classes}
    return spelt.get(plain, name)


def together(regions: Regions, classes: Sequence[str]) -> Judgement:
    """Judge several classes at once: they count as one class, the first one.

    Raises:
        UserError: the image has no such class.
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
    said = "Several classes were chosen; the metric removes one class at a time, and those it covers."
    return replace(
        judgement,
        removed=tuple(name for name in regions.classes if name in gone),
        kept=tuple(name for name in regions.classes if name not in gone),
        case="several",
        problems=(*judgement.problems, said),
    )


def drawn_over(
    region: np.ndarray, name: str, objects: Sequence[tuple[str, np.ndarray]]
) -> tuple[Judgement, np.ndarray]:
    """Judge the removal of a region beside the objects of an image, and the pixels to fill: with those swallowed.

    Args:
        region: bool ``[H, W]``, what was drawn over; name: what it is.
        objects: class and pixels of each, bool ``[H, W]``.

    Raises:
        DataError: the region is empty.
    """
    if not region.any():
        raise DataError(NOTHING_INSIDE)
    others = [(known, mask) for known, mask in objects if known != name]
    judgement = judge(
        Regions.of_masks([region, *(mask for _, mask in others)], [name, *(known for known, _ in others)]), name
    )
    if not objects:  # what else is there nobody has said: it may be one class or ten
        problems = tuple(NONE_MARKED if problem == ONE_CLASS else problem for problem in judgement.problems)
        judgement = replace(judgement, problems=problems)
    same = np.any([np.zeros_like(region), *(mask for known, mask in objects if known == name)], axis=0)
    left = float((same & ~region).sum() / max(1, same.sum()))
    if left > 1 - TAU2:
        said = f"{left:.0%} of what is marked as {name} in this image lies outside the drawing and stays."
        judgement = replace(judgement, problems=(*judgement.problems, said))
    swallowed = [mask for known, mask in others if known in judgement.removed]
    return judgement, np.any([region, *swallowed], axis=0)
