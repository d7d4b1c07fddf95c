"""An image with captions and objects, and a dataset of them, as every captioned source hands them over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trainers.errors import DataError

Box = tuple[float, float, float, float]
_TEST = ("test", "val", "dev")  # beginnings: COCO's own splits are called val2017 and train2017


@dataclass(frozen=True, kw_only=True)
class NamedPhrase:
    """A noun phrase that names classes: ``caption[start:end]``.

    Attributes:
        start, end: in characters.
        classes: the classes it names, at least one, in the dataset's order.
        annotated: whether people marked it; else it was found by rule, and its edges may be off by a word.
    """

    start: int
    end: int
    classes: tuple[str, ...]
    annotated: bool = True


@dataclass(frozen=True, kw_only=True)
class CaptionedImage:
    """An image with its captions and the boxes of the objects in it.

    Attributes:
        image_id: as the dataset names it.
        load: gives the encoded image, None if it cannot be had; called only when the pixels are needed.
        captions: texts that describe it.
        boxes: x0, y0, x1, y1 in pixels of the upright original; corners as the dataset has them, not yet cleaned.
        classes: one name per box.
        phrases: for each caption the phrases that are annotated with a class; empty: the captions are not annotated.
        width, height: of the original, 0 if the dataset does not say.
        without: PNG of the same image without some classes; only drawn scenes can be drawn again.
    """

    image_id: str
    load: Callable[[], bytes | None]
    captions: tuple[str, ...]
    boxes: tuple[Box, ...] = ()
    classes: tuple[str, ...] = ()
    phrases: tuple[tuple[NamedPhrase, ...], ...] = ()
    width: int = 0
    height: int = 0
    without: Callable[[Sequence[str]], bytes] | None = None


@dataclass(frozen=True, kw_only=True)
class CaptionedDataset:
    """A dataset of images with captions.

    Attributes:
        title, licence: as its card says.
        revision: commit of the Hub dataset; empty: it is none.
        splits: split name to images.
        classes: object class names in the dataset's order.
        notes: plain sentences about decisions and losses.
        words: class to words, or to classes of the word table, that stand for it in captions without annotation.
        broader: class to the broader class that it belongs to, such as COCO's supercategories, where it is known.
    """

    title: str
    licence: str
    splits: Mapping[str, Sequence[CaptionedImage]]
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    broader: Mapping[str, str] = field(default_factory=dict)
    revision: str = ""

    @property
    def test_split(self) -> str:
        """The split to evaluate on: one named like test, validation or dev, else the last with images.

        Raises:
            DataError: the dataset has no image.
        """
        filled = self._filled()
        return next((name for kind in _TEST for name in filled if name.lower().startswith(kind)), filled[-1])

    @property
    def train_split(self) -> str:
        """The split to train on: one named like train, else one that is not for testing, else the only one.

        Raises:
            DataError: the dataset has no image.
        """
        filled = self._filled()
        others = [name for name in filled if name != self.test_split] or filled
        return next((name for name in others if name.lower().startswith("train")), others[0])

    def _filled(self) -> list[str]:
        filled = [name for name, images in self.splits.items() if images]
        if not filled:
            raise DataError(f"{self.title} has no image.")
        return filled
