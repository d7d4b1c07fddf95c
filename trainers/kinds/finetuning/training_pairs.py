"""The training pairs of one arm, those without an object made once and cached; and its batch at any step: a pure
function of the seed and the step.
"""

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
from trainers.kinds.finetuning.recipes import PairRecipe
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import Tally, build_pairs, removals
from trainers.object_removal.square_images import longest_side
from trainers.object_removal.vocabulary import Matcher
from trainers.progress import Progress
from trainers.samplers.base import permutation


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
    scenes: Sequence[CaptionedImage], words: Matcher, recipe: PairRecipe, side: int, seed: int, tell: Progress
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
    scenes: Sequence[CaptionedImage], words: Matcher, recipe: PairRecipe, side: int, seed: int, tally: Tally
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


def _key(scenes: Sequence[CaptionedImage], words: Matcher, recipe: PairRecipe, side: int, seed: int) -> str:
    """Hash everything that decides the pairs; images enter by id, captions and boxes, not by their pixels."""
    about = {name: value for name, value in asdict(recipe).items() if name not in ("originals", "removed", "ratio")}
    code = drawn_scenes.code_digest() if drawn_scenes.are_drawn(scenes) else ""
    given = ((s.image_id, s.captions, s.phrases, s.boxes, s.classes, s.width) for s in scenes)
    return cache.content_key(chain((sorted(about.items()), side, seed, sorted(words.words.items()), code), given))


SMALLEST = 8  # pairs of a batch; batch normalisation and in-batch negatives mean little below


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Images, each with one or more captions: N images, M pairs of an image and a caption.

    Attributes:
        images: uint8 ``[N, 3, S, S]``.
        tokens: int64 ``[M, L]``, the captions of all images one after the other.
        image: int64 ``[M]``, the image of each caption.
        turn: int64 ``[M]``, the place of each caption among those of its image.
        edited: bool ``[M]``, whether a phrase was deleted from it.
    """

    images: Tensor
    tokens: Tensor
    image: np.ndarray
    turn: np.ndarray
    edited: np.ndarray

    @classmethod
    def of(
        cls, images: Tensor, tokens: Tensor, counts: Sequence[int], edited: Sequence[Sequence[bool]] | None = None
    ) -> Pool:
        """Make it from the number of captions of each image."""
        flat = [flag for each in edited for flag in each] if edited is not None else [False] * len(tokens)
        return cls(
            images=images,
            tokens=tokens,
            image=np.repeat(np.arange(len(counts)), counts),
            turn=np.concatenate([np.arange(0), *(np.arange(count) for count in counts)]),
            edited=np.array(flat, dtype=bool),
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def part(self, wanted: int, seed: int) -> np.ndarray:
        """Select ``wanted`` of the pairs, int64 rows; a smaller selection is a subset of a larger one.

        Edited captions come before others, then the first caption of every image before any second one, so that few
        pairs cover many images; the order of the images follows from the seed.
        """
        order = permutation(int(self.image.max(initial=-1)) + 1, seed, 3)
        return np.lexsort((order[self.image], self.turn, ~self.edited))[:wanted]


class Examples:
    """Original and object-removed pairs of one recipe, D and D'.

    An epoch holds every pair once. The captions of an image are spread over it, so that no batch holds an image twice
    where that can be avoided, and so are the object-removed pairs: every batch has their share to within one pair. The
    rest of an epoch that does not fill a batch is dropped.

    Args:
        originals, removed: the pairs that there are; the second is None if the recipe has none.
        recipe: which parts of them to use.
        batch: pairs in a step; fewer where there are fewer.
        seed: of all orders.

    Attributes:
        originals, removed: number of pairs used.
        ratio: object-removed pairs used per original pair that there is, |D'| / |D|.
        share: object-removed pairs among all that are trained on.
        edited: share of the object-removed pairs from whose caption a phrase was deleted; 0 without such pairs.

    Raises:
        DataError: fewer pairs than a batch needs.
    """

    def __init__(self, originals: Pool, removed: Pool | None, recipe: PairRecipe, *, batch: int, seed: int) -> None:
        self._pools = (originals, removed)
        self._recipe = recipe
        self._seed = seed
        there = len(removed) if removed is not None else 0
        wanted = there if recipe.ratio is None else min(there, max(1, round(recipe.ratio * len(originals))))
        self.removed = wanted if recipe.removed else 0
        self.originals = {"all": len(originals), "matched": min(len(originals), wanted), "none": 0}[recipe.originals]
        chosen = originals.part(self.originals, seed)
        made = removed.part(self.removed, seed + 1) if removed is not None else np.arange(0)
        self._rows = (np.sort(chosen), np.sort(made))
        self.batch = min(batch, len(self))
        if self.batch < SMALLEST:
            raise DataError(f"At least {SMALLEST} pairs of an image and a caption are needed; got {len(self)}.")
        self.ratio = self.removed / len(originals) if len(originals) else 0.0
        self.share = self.removed / len(self)
        self.edited = float(removed.edited[made].mean()) if removed is not None and len(made) else 0.0
        self._recent: tuple[int, np.ndarray] = (-1, np.arange(0))

    def __len__(self) -> int:
        return self.originals + self.removed

    @property
    def epoch(self) -> int:
        """Steps in an epoch."""
        return len(self) // self.batch

    def summary(self) -> str:
        """Say how many pairs there are of each kind, for the log and beside the maps."""
        if not self.removed:
            return f"{self.originals:,} original pairs of an image and a caption, no object-removed ones."
        recipe, asked = self._recipe, self._recipe.ratio
        parts = [f"{self.originals:,} original and {self.removed:,} object-removed pairs of an image and a caption"]
        parts.append(f"|D′| / |D| is {self.ratio:.3g}")
        if asked is not None and round(asked * len(self._pools[0])) > self.removed:
            parts[-1] += f" ({asked:g} was asked for, and there are no more)"
        parts.append(f"{self.share:.1%} of what is trained on")
        if recipe.text == "phrases":
            parts.append(f"a phrase was deleted from {self.edited:.0%} of the captions of D′")
        return "; ".join(parts) + "."

    def at(self, step: int) -> tuple[Tensor, Tensor, np.ndarray]:
        """Return the batch of a step: images uint8 ``[B, 3, S, S]``, tokens int64 ``[B, L]`` and pairs, numbered
        through D and then D'.
        """
        epoch, position = divmod(step, self.epoch)
        pairs = self._order(epoch)[position * self.batch : (position + 1) * self.batch]
        split = len(self._pools[0])
        images, tokens = [], []
        for pool, rows in ((self._pools[0], pairs[pairs < split]), (self._pools[1], pairs[pairs >= split] - split)):
            if pool is not None and len(rows):
                images.append(pool.images[torch.from_numpy(pool.image[rows])])
                tokens.append(pool.tokens[torch.from_numpy(rows)])
        return torch.cat(images), torch.cat(tokens), pairs

    def _order(self, epoch: int) -> np.ndarray:
        if self._recent[0] != epoch:
            originals, made = (
                _spread(pool, rows, self._seed, epoch, kind)
                for kind, (pool, rows) in enumerate(zip(self._pools, self._rows, strict=True))
            )
            positions = np.concatenate([(np.arange(len(part)) + 0.5) / max(1, len(part)) for part in (originals, made)])
            both = np.concatenate([originals, made + len(self._pools[0])])
            self._recent = (epoch, both[np.argsort(positions, kind="stable")])
        return self._recent[1]


def _spread(pool: Pool | None, rows: np.ndarray, *key: int) -> np.ndarray:
    """Order the pairs ``rows`` at random, those of an image far apart: one in every c-th part if it has c of them."""
    if pool is None or not len(rows):
        return rows
    draws = np.random.default_rng([number % 2**32 for number in key])
    shuffled = rows[draws.permutation(len(rows))]
    by_image = np.argsort(pool.image[shuffled], kind="stable")
    _, first, counts = np.unique(pool.image[shuffled][by_image], return_index=True, return_counts=True)
    turn = np.arange(len(rows)) - np.repeat(first, counts)
    position = (turn + draws.random(len(rows))) / np.repeat(counts, counts)
    return shuffled[by_image][np.argsort(position, kind="stable")]
