"""Object-removed pairs D' for fine-tuning a model: an image without an object and a caption that does not name it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trainers.data.captioned_images import CaptionedImage
from trainers.data.picture import LONGEST, Picture, read_picture
from trainers.errors import DataError, UserError
from trainers.object_removal.captions import prompt, prompt_templates, remove_phrases
from trainers.object_removal.fills import FillDescriptor, paint
from trainers.object_removal.regions import Box, Judgement, Regions, choose, clean_boxes, judge_all, pixel_mask
from trainers.object_removal.vocabulary import Matcher, annotated

TextSource = Literal["phrases", "prompts"]


@dataclass(frozen=True, kw_only=True)
class FilledImage:
    """One image with an object filled: ``pixels`` uint8 ``[H, W, 3]``."""

    scene: CaptionedImage
    pixels: np.ndarray
    judgement: Judgement

    def without_pixels(self) -> FilledImage:
        """Return the same without its pixels: a thousand of them then weigh nothing."""
        return replace(self, pixels=np.zeros((0, 0, 3), dtype=np.uint8))


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One object-removed image with its captions.

    Attributes:
        removal: the image with the object filled, and what was removed.
        texts: captions without it, edited ones first; each makes one pair of an image and a caption.
        edited: for each caption whether a phrase was deleted from it; False for one that never named the object.
            Prompts are made, not edited: False as well.
    """

    removal: FilledImage
    texts: tuple[str, ...]
    edited: tuple[bool, ...]


@dataclass
class Tally:
    """The counts of images and captions, by where they went; filled while removals and pairs are made."""

    images: int = 0
    unreadable: int = 0
    one_class: int = 0
    no_allowed_class: int = 0
    no_caption: int = 0
    boxes_dropped: int = 0

    def left_out(self) -> dict[str, int]:
        """Say why images gave no query, and how many; reasons without any are left out."""
        reasons = {
            "fewer than two classes": self.one_class,
            "no class that the overlap rules allow": self.no_allowed_class,
            "image cannot be read": self.unreadable,
            "box without an area": self.boxes_dropped,
        }
        return {reason: count for reason, count in reasons.items() if count}


def objects(scene: CaptionedImage, width: int, height: int) -> tuple[tuple[Box, ...], tuple[str, ...], int]:
    """Return a scene's usable boxes, their classes and how many boxes were dropped."""
    clean = clean_boxes(scene.boxes, width, height)
    return clean.boxes, tuple(scene.classes[index] for index in clean.kept), clean.dropped


def scaled_mask(picture: Picture, boxes: Sequence[Box], classes: Sequence[str], removed: Sequence[str]) -> np.ndarray:
    """Return the pixels of every box of the removed classes in the decoded image, bool ``[H, W]``."""
    height, width = picture.pixels.shape[:2]
    scaled = [
        tuple(value * picture.scale for value in box)
        for box, name in zip(boxes, classes, strict=True)
        if name in removed
    ]
    return pixel_mask(clean_boxes(scaled, width, height).boxes, width, height)


def image_seed(image_id: str, seed: int) -> int:
    """Return a number for this image alone, so that the choice in one image depends on no other."""
    return zlib.crc32(f"{seed}/{image_id}".encode())


def removals(
    scenes: Sequence[CaptionedImage],
    fill: FillDescriptor,
    *,
    every: bool = False,
    seed: int = 0,
    longest: int = LONGEST,
    tally: Tally | None = None,
) -> Iterator[FilledImage]:
    """Yield images with an object filled: the queries of ODmAP@k, and the images of object-removed pairs.

    Args:
        scenes, fill, seed, longest, tally: as in :func:`build_pairs`.
        every: each allowed class of an image in turn (ours, for evaluation) instead of one.
    """
    count = tally if tally is not None else Tally()
    for scene in scenes:
        count.images += 1
        try:
            picture = read_picture(scene.load() or b"", longest)
        except DataError:
            count.unreadable += 1
            continue
        boxes, classes, dropped = objects(scene, picture.width, picture.height)
        count.boxes_dropped += dropped
        if len(set(classes)) < 2:
            count.one_class += 1
            continue
        regions = Regions.of_boxes(boxes, classes, picture.width, picture.height)
        judgements = _judgements(regions, every, image_seed(scene.image_id, seed))
        count.no_allowed_class += not judgements
        for judgement in judgements:
            mask = scaled_mask(picture, boxes, classes, judgement.removed)
            if mask.all():  # a small image whose rounded boxes cover it
                count.no_allowed_class += 1
                continue
            pixels = paint(fill, picture.pixels, mask, scene=scene, removed=judgement.removed)
            yield FilledImage(scene=scene, pixels=pixels, judgement=judgement)


def build_pairs(
    scenes: Sequence[CaptionedImage],
    words: Matcher,
    fill: FillDescriptor,
    *,
    text: TextSource = "phrases",
    captions_each: int = 1,
    only_edited: bool = False,
    seed: int = 0,
    longest: int = LONGEST,
    tally: Tally | None = None,
) -> Iterator[Pair]:
    """Yield object-removed pairs, one removal per image at most (Kim et al. 2023, 3.3).

    Args:
        scenes: images of the training split.
        words: the word table; classes it lacks stand for their own name and plural. Captions that are annotated are
            read by their annotation.
        fill: what the object is filled with.
        text: ``phrases`` deletes noun phrases from the image's own captions and drops those that name nothing that is
            left (our reading); ``prompts`` fills one of 80 templates with the remaining classes.
        captions_each: captions per image at most (the paper: 1 of 5): those from which a phrase was deleted, then
            those that never named the object, each in their order. The paper deletes the phrases that name the object
            and does not say what becomes of a caption without one; that edited ones come first is our reading.
        only_edited: leave out captions that never named the object (ours). On 320 images of COCO 44 % then give a
            pair and 80 % otherwise; the paper has pairs from about 40 %.
        seed: of the choices of class and template.
        longest: images are shrunk to this side.
        tally: counts what was left out, and why.
    """
    count = tally if tally is not None else Tally()
    words = annotated(scenes, words.with_words({name: () for scene in scenes for name in scene.classes}))
    for removal in removals(scenes, fill, seed=seed, longest=longest, tally=count):
        if text == "prompts":
            said = [(caption, False) for caption in _prompts(removal, captions_each, seed)]
        else:
            said = captions_left(removal, words, only_edited)[:captions_each]
        if said:
            texts, edited = zip(*said, strict=True)
            yield Pair(removal=removal, texts=texts, edited=edited)
        else:
            count.no_caption += 1


def class_tables(judgements: Sequence[Judgement], classes: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes left and the classes taken out as the metric wants them: bool ``[Q, C]`` twice.

    Args:
        judgements: one per query.
        classes: the columns; use those of the word table that read the captions.

    Raises:
        UserError: an image has a class that is no column.
    """
    column_of = {name: column for column, name in enumerate(classes)}
    tables = np.zeros((2, len(judgements), len(column_of)), dtype=bool)
    for row, judgement in enumerate(judgements):
        unknown = [name for name in (*judgement.kept, *judgement.removed) if name not in column_of]
        if unknown:
            raise UserError(f"The word table lacks {', '.join(unknown)}; extend it with `with_classes` first.")
        tables[0, row, [column_of[name] for name in judgement.kept]] = True
        tables[1, row, [column_of[name] for name in judgement.removed]] = True
    return tables[0], tables[1]


def _judgements(regions: Regions, every: bool, seed: int) -> list[Judgement]:
    if every:
        return [judgement for judgement in judge_all(regions) if judgement.allowed]
    judgement = choose(regions, seed)
    return [] if judgement is None else [judgement]


def _prompts(removal: FilledImage, each: int, seed: int) -> list[str]:
    templates = prompt_templates()
    rng = np.random.default_rng(image_seed(removal.scene.image_id, seed + 1))
    return [prompt(removal.judgement.kept, templates[int(rng.integers(len(templates)))]) for _ in range(each)]


def captions_left(removal: FilledImage, words: Matcher, only_edited: bool = False) -> list[tuple[str, bool]]:
    """Return the captions that name something left, without the phrases of what is removed; edited ones first, and
    whether they are.
    """
    judgement, kept = removal.judgement, set(removal.judgement.kept)
    read = [remove_phrases(caption, judgement.removed, words) for caption in removal.scene.captions]
    left = [(edited.text, bool(edited.deleted)) for edited in read if edited.text and edited.kept & kept]
    return sorted((edited for edited in left if edited[1] or not only_edited), key=lambda edited: not edited[1])
