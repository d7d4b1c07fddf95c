"""Object-removed training pairs, made once and cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import torch
from torch import Tensor

from trainers.data import cache
from trainers.data.base import Progress
from trainers.data.captioned.images import CaptionedImage
from trainers.data.synthetic import scenes as drawn_scenes
from trainers.errors import DataError
from trainers.image_text.encoding import squash
from trainers.kinds.finetuning.recipes import Recipe
from trainers.object_removal.fills import FILLS
from trainers.object_removal.matching import Matcher
from trainers.object_removal.pairs import Tally, build_pairs, removals
from trainers.object_removal.square_images import longest_side


@dataclass(frozen=True, kw_only=True)
class RemovedPairs:
    """Object-removed images and their captions, D'.

    Attributes:
        images: uint8 ``[M, 3, S, S]``.
        texts: the captions of each image, at least one.
        edited: for each caption whether a phrase was deleted from it.
        tally: how many images and captions were left out, and why.
    """

    images: Tensor
    texts: tuple[tuple[str, ...], ...]
    edited: tuple[tuple[bool, ...], ...]
    tally: Tally


def removed_pairs(
    scenes: Sequence[CaptionedImage], words: Matcher, recipe: Recipe, side: int, seed: int, tell: Progress
) -> RemovedPairs:
    """D' of a recipe, from the cache if it was made before.

    Raises:
        DataError: no pair can be made.
        UserError: the fill or the captioner is not available here.
    """
    key = _key(scenes, words, recipe, side, seed)
    kept = _read(key)
    if kept is not None:
        return kept
    if recipe.text == "captioner":
        made = _captioned(scenes, recipe, side, seed, tell)
    else:
        made = _deleted(scenes, words, recipe, side, seed, tell)
    if not len(made.images):
        raise DataError(
            f"No object-removed pair could be made of {made.tally.photos} images: {made.tally.one_class} have fewer "
            f"than two classes, {made.tally.no_allowed_class} no class that may be removed, {made.tally.no_sentence} "
            "no caption that is left. Give images with boxes of two classes or more"
            + (", or take captions that are not edited too." if recipe.only_edited else ".")
        )
    _write(key, made)
    return made


def _deleted(
    scenes: Sequence[CaptionedImage], words: Matcher, recipe: Recipe, side: int, seed: int, tell: Progress
) -> RemovedPairs:
    tally, images, texts, edited = Tally(), [], [], []
    pairs = build_pairs(
        scenes,
        words,
        FILLS[recipe.fill],
        text="prompts" if recipe.text == "prompts" else "phrases",
        captions_each=recipe.captions_each,
        only_edited=recipe.only_edited,
        seed=seed,
        longest=longest_side(scenes, side),
        tally=tally,
    )
    for pair in pairs:
        tell("painting over objects", tally.photos / len(scenes))
        images.append(squash(pair.pixels, side))
        texts.append(pair.texts)
        edited.append(pair.edited)
    return RemovedPairs(images=_stack(images, side), texts=tuple(texts), edited=tuple(edited), tally=tally)


def _captioned(scenes: Sequence[CaptionedImage], recipe: Recipe, side: int, seed: int, tell: Progress) -> RemovedPairs:
    from trainers.object_removal.captioner import captioner

    say, tally, images, texts = captioner(recipe.captioner), Tally(), [], []
    removed = removals(scenes, FILLS[recipe.fill], seed=seed, longest=longest_side(scenes, side), tally=tally)
    for removal in removed:
        tell("captioning images", tally.photos / len(scenes))
        images.append(squash(removal.pixels, side))
        texts.append((say([removal.pixels])[0],))
        tally.pairs += 1
    own = ((False,),) * len(texts)
    return RemovedPairs(images=_stack(images, side), texts=tuple(texts), edited=own, tally=tally)


def _stack(images: list[Tensor], side: int) -> Tensor:
    return torch.stack(images) if images else torch.zeros(0, 3, side, side, dtype=torch.uint8)


# ------------------------------------------------------------------- cache


def _key(scenes: Sequence[CaptionedImage], words: Matcher, recipe: Recipe, side: int, seed: int) -> str:
    """Digest of everything that decides the pairs; images enter by id, captions and boxes, not by their pixels."""
    about = {name: value for name, value in asdict(recipe).items() if name not in ("originals", "removed", "ratio")}
    code = drawn_scenes.code_digest() if drawn_scenes.are_drawn(scenes) else ""
    given = ((s.image_id, s.captions, s.phrases, s.boxes, s.classes, s.width) for s in scenes)
    return cache.content_key(chain((sorted(about.items()), side, seed, sorted(words.words.items()), code), given))


def _read(key: str) -> RemovedPairs | None:
    entry = cache.read("pairs", key)
    if entry is None:
        return None
    texts, edited = (tuple(map(tuple, entry.about[name])) for name in ("texts", "edited"))
    tally = Tally(**entry.about["tally"])
    return RemovedPairs(images=entry.tensors["images"], texts=texts, edited=edited, tally=tally)


def _write(key: str, made: RemovedPairs) -> None:
    about = {"texts": made.texts, "edited": made.edited, "tally": asdict(made.tally)}
    cache.write("pairs", key, {"images": made.images}, about)
