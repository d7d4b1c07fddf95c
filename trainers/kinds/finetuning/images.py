"""Object-removed training pairs, made once and cached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from trainers.data import cache
from trainers.data.captioned_images import CaptionedImage
from trainers.data.synthetic import scenes as drawn_scenes
from trainers.errors import DataError
from trainers.image_text.encoding import squash
from trainers.kinds.finetuning.recipes import Recipe
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import Tally, build_pairs, removals
from trainers.object_removal.square_images import longest_side
from trainers.object_removal.vocabulary import Matcher
from trainers.progress import Progress


@dataclass(frozen=True, kw_only=True)
class RemovedPairs:
    """Object-removed images and their captions, D'.

    Attributes:
        images: uint8 ``[M, 3, S, S]``.
        texts: the captions of each image, at least one.
        edited: for each caption whether a phrase was deleted from it.
    """

    images: Tensor
    texts: tuple[tuple[str, ...], ...]
    edited: tuple[tuple[bool, ...], ...]


def removed_pairs(
    scenes: Sequence[CaptionedImage], words: Matcher, recipe: Recipe, side: int, seed: int, tell: Progress
) -> RemovedPairs:
    """Make D' of a recipe, or read it from the cache.

    Raises:
        DataError: no pair can be made.
        UserError: the fill or the captioner is not available here.
    """
    key = _key(scenes, words, recipe, side, seed)
    entry = cache.read("pairs", key)
    if entry is not None:
        known = {name: tuple(map(tuple, entry.about[name])) for name in ("texts", "edited")}
        return RemovedPairs(images=entry.tensors["images"], texts=known["texts"], edited=known["edited"])
    tally, images, texts, edited = Tally(), [], [], []
    for pixels, captions, changed in _made(scenes, words, recipe, side, seed, tally):
        tell("filling objects and editing captions", tally.images / len(scenes))
        images.append(squash(pixels, side))
        texts.append(captions)
        edited.append(changed)
    if not images:
        raise DataError(
            f"No object-removed pair could be made of {tally.images} images: {tally.one_class} have fewer than two "
            f"classes, {tally.no_allowed_class} no class that may be removed, {tally.no_caption} no caption that is "
            "left. Give images with boxes of two classes or more"
            + (", or take captions that are not edited too." if recipe.only_edited else ".")
        )
    made = RemovedPairs(images=torch.stack(images), texts=tuple(texts), edited=tuple(edited))
    cache.write("pairs", key, {"images": made.images}, {"texts": texts, "edited": edited})
    return made


def _made(
    scenes: Sequence[CaptionedImage], words: Matcher, recipe: Recipe, side: int, seed: int, tally: Tally
) -> Iterator[tuple[np.ndarray, tuple[str, ...], tuple[bool, ...]]]:
    """Yield the pixels without an object uint8 ``[H, W, 3]``, captions, and which of these were edited."""
    fill, longest = FILLS[recipe.fill], longest_side(scenes, side)
    if recipe.text == "captioner":
        from trainers.object_removal.captioner import captioner

        write = captioner(recipe.captioner)
        for removal in removals(scenes, fill, seed=seed, longest=longest, tally=tally):
            yield removal.pixels, (write(removal.pixels),), (False,)
        return
    pairs = build_pairs(
        scenes,
        words,
        fill,
        text="prompts" if recipe.text == "prompts" else "phrases",
        captions_each=recipe.captions_each,
        only_edited=recipe.only_edited,
        seed=seed,
        longest=longest,
        tally=tally,
    )
    yield from ((pair.removal.pixels, pair.texts, pair.edited) for pair in pairs)


def _key(scenes: Sequence[CaptionedImage], words: Matcher, recipe: Recipe, side: int, seed: int) -> str:
    """Hash everything that decides the pairs; images enter by id, captions and boxes, not by their pixels."""
    about = {name: value for name, value in asdict(recipe).items() if name not in ("originals", "removed", "ratio")}
    code = drawn_scenes.code_digest() if drawn_scenes.are_drawn(scenes) else ""
    given = ((s.image_id, s.captions, s.phrases, s.boxes, s.classes, s.width) for s in scenes)
    return cache.content_key(chain((sorted(about.items()), side, seed, sorted(words.words.items()), code), given))
