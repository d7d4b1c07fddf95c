"""What a model is asked: object-removed test photos against all sentences, and recall with the photos as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from trainers.data.base import Progress, silent
from trainers.data.captioned.scenes import Scene, SceneSet
from trainers.data.synthetic.scenes import are_drawn
from trainers.errors import DataError
from trainers.image_text.base import CrossModal
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.kinds.finetuning.images import drawn_photos, longest_side, read_photos
from trainers.metrics.counterfactual import Counterfactual, before_removal, counterfactual
from trainers.metrics.image_text import numbered, recall_both_ways
from trainers.object_removal.captions import mention_table
from trainers.object_removal.fills import FILLS
from trainers.object_removal.matching import Matcher, matcher_of
from trainers.object_removal.pairs import Removal, Tally, class_tables, removals
from trainers.training.progress import Stages

KS = (1, 5, 10)


@dataclass(frozen=True, kw_only=True)
class Exam:
    """Questions and answers of one set; N test photos, Q removals, G distinct sentences, M own sentences.

    Attributes:
        photos: uint8 ``[N, 3, S, S]``; captions: the M sentences of these photos; owner: int64 ``[M]``, their photos.
        queries: uint8 ``[Q, 3, S, S]``, an object painted over; origin: int64 ``[Q]``, their photos.
        rerendered: uint8 ``[Q, 3, S, S]``, the same drawn again without it; None for sets that cannot.
        present, removed: bool ``[Q, C]``, classes that stay and that are gone.
        gallery: the G sentences of all splits, equal ones once (our reading); mentions: bool ``[G, C]``.
        scenes: the N photos as the set has them; removals: the Q removals, without pixels.
        tally: what was left out, and why.
    """

    photos: Tensor
    captions: tuple[str, ...]
    owner: Tensor
    queries: Tensor
    origin: Tensor
    rerendered: Tensor | None
    present: Tensor
    removed: Tensor
    gallery: tuple[str, ...]
    mentions: Tensor
    scenes: tuple[Scene, ...]
    removals: tuple[Removal, ...]
    tally: Tally

    def part(self, queries: int, gallery: int) -> Exam:
        """A smaller exam for use during training: the first queries and their photos, and a thinned gallery that
        keeps all sentences of these photos."""
        keep = np.arange(min(queries, len(self.queries)))
        photos = np.unique(self.origin[keep].numpy())
        place = np.full(len(self.photos), -1)
        place[photos] = np.arange(len(photos))
        own = place[self.owner.numpy()] >= 0
        said = set(caption for caption, mine in zip(self.captions, own.tolist(), strict=True) if mine)
        needed = np.array([sentence in said for sentence in self.gallery])
        others = np.random.default_rng(0).permutation(np.flatnonzero(~needed))[: max(0, gallery - int(needed.sum()))]
        rows = np.sort(np.concatenate([np.flatnonzero(needed), others]))
        return dataclasses.replace(
            self,
            photos=self.photos[photos],
            captions=tuple(caption for caption, mine in zip(self.captions, own.tolist(), strict=True) if mine),
            owner=torch.from_numpy(place[self.owner.numpy()[own]]),
            queries=self.queries[keep],
            origin=torch.from_numpy(place[self.origin[keep].numpy()]),
            rerendered=None if self.rerendered is None else self.rerendered[keep],
            present=self.present[keep],
            removed=self.removed[keep],
            gallery=tuple(self.gallery[row] for row in rows),
            mentions=self.mentions[torch.from_numpy(rows)],
            scenes=tuple(self.scenes[row] for row in photos),
            removals=tuple(self.removals[row] for row in keep),
        )


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What one model got.

    Attributes:
        values: name to float64 per query (or photo, or sentence); NaN: left out of that mean.
        filled: the answers to the painted-over photos.
        rerendered: the same for photos drawn again; None for sets that cannot.
        embeddings: float32 ``[N + Q, D]``, unit rows: photos, then painted-over queries.
    """

    values: dict[str, np.ndarray]
    filled: Counterfactual
    rerendered: Counterfactual | None
    embeddings: Tensor

    def means(self) -> dict[str, float]:
        """Every mean over the values that count; names without one are left out."""
        known = {name: value[~np.isnan(value)] for name, value in self.values.items()}
        return {name: float(value.mean()) for name, value in known.items() if len(value)}


def make_exam(
    found: SceneSet,
    words: Matcher,
    side: int,
    *,
    fill: str = "telea",
    limit: int | None = None,
    every: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> Exam:
    """Remove objects from test photos and gather every sentence.

    Args:
        found: a set; its test split asks, the sentences of all splits answer (Kim et al. 2023, 3.2).
        words: the word table; classes it lacks stand for their own name and plural. Sentences that are annotated are
            read by their annotation.
        side: of the model's square photos.
        limit: at most so many removals.
        every: each allowed class of a photo in turn (ours) instead of one.
        seed: of the choice of class.

    Raises:
        DataError: no photo, no sentence, or nothing that may be removed.
    """
    scenes, words = found.splits[found.test_split], matcher_of(found, words)
    stages = Stages(progress, (1.0, 2.0, 1.0, 1.0))
    photos, kept = read_photos(scenes, side, stages.next())
    unreadable = len(scenes) - len(kept)
    scenes = tuple(scenes[place] for place in kept)
    tally = Tally(photos=unreadable, unreadable=unreadable)
    asked = removals(scenes, FILLS[fill], every=every, seed=seed, longest=longest_side(scenes, side), tally=tally)
    done, images, tell = [], [], stages.next()
    for removal in islice(asked, limit):
        tell("painting over objects", tally.photos / (unreadable + len(scenes)))
        images.append(squash(removal.pixels, side))
        done.append(removal.without_pixels())
    gallery = tuple(dict.fromkeys(text for part in found.splits.values() for scene in part for text in scene.captions))
    if not gallery:
        raise DataError(f"{found.title} has no sentences to retrieve.")
    if not done:
        raise DataError(
            f"Nothing may be removed from {tally.photos} photos of {found.title}: {tally.one_class} have fewer than "
            f"two classes, {tally.no_allowed_class} no class that passes the overlap rules."
        )
    present, removed = class_tables([removal.judgement for removal in done], words.classes)
    place = {id(scene): row for row, scene in enumerate(scenes)}
    owner = [row for row, scene in enumerate(scenes) for _ in scene.captions]
    rerendered = _drawn_again(done, side, stages.next())
    stages.next()("reading what sentences name", 0.0)
    return Exam(
        photos=photos,
        captions=tuple(text for scene in scenes for text in scene.captions),
        owner=torch.tensor(owner, dtype=torch.int64),
        queries=torch.stack(images),
        origin=torch.tensor([place[id(removal.scene)] for removal in done], dtype=torch.int64),
        rerendered=rerendered,
        present=torch.from_numpy(present),
        removed=torch.from_numpy(removed),
        gallery=gallery,
        mentions=torch.from_numpy(mention_table(gallery, words)),
        scenes=scenes,
        removals=tuple(done),
        tally=tally,
    )


def _drawn_again(done: Sequence[Removal], side: int, progress: Progress) -> Tensor | None:
    scenes = [removal.scene for removal in done]
    if not are_drawn(scenes):
        return None
    gone = [removal.judgement.removed for removal in done]
    return drawn_photos(scenes, side, progress, gone)


class Examiner:
    """Puts one exam to models of one kind; their tokens are made once."""

    def __init__(self, exam: Exam, model: CrossModal) -> None:
        self.exam = exam
        self._gallery = model.tokenise(exam.gallery)
        self._captions = model.tokenise(exam.captions) if exam.captions else None
        self._texts = numbered(exam.captions)

    def ask(self, model: CrossModal, progress: Progress = silent) -> Marks:
        """Encode and score; the model's mode is restored."""
        exam = self.exam
        parts = (exam.photos, exam.queries, self._gallery, exam.captions)
        stages = Stages(progress, [1.0 + len(part) for part in parts])
        photos = encode_images(model, exam.photos, progress=stages.next())
        queries = encode_images(model, exam.queries, progress=stages.next())
        gallery = encode_texts(model, self._gallery, progress=stages.next())
        filled = self._score(queries, gallery)
        drawn = None if exam.rerendered is None else self._score(encode_images(model, exam.rerendered), gallery)
        values = dict(filled.values)
        if drawn is not None:
            values |= {f"rerendered_{name}": value for name, value in drawn.values.items()}
        values |= self._originals(photos, gallery)
        if self._captions is not None:
            own = encode_texts(model, self._captions, progress=stages.next())
            values |= recall_both_ways(photos, own, exam.owner, ks=KS, texts=self._texts)
        return Marks(values=values, filled=filled, rerendered=drawn, embeddings=torch.cat([photos, queries]))

    def _score(self, queries: Tensor, gallery: Tensor) -> Counterfactual:
        exam = self.exam
        return counterfactual(queries, gallery, exam.mentions, exam.present, exam.removed, ks=KS)

    def _originals(self, photos: Tensor, gallery: Tensor) -> dict[str, np.ndarray]:
        """Before anything is removed, as a reference: how often what will go is named, and what stays."""
        exam = self.exam
        found = counterfactual(photos[exam.origin], gallery, exam.mentions, exam.present, exam.removed, ks=KS)
        return before_removal(found)
