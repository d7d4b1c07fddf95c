"""ODmAP's benchmark: object-removed test images query all captions; recall is measured with the images as they are.

from trainers.object_removal.benchmark import Evaluator, make_benchmark
benchmark = make_benchmark(dataset, load_words(), model.side)
means = Evaluator(benchmark, model).evaluate(model).means()
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.data.synthetic.scenes import are_drawn
from trainers.errors import DataError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.metrics.bootstrap import Interval, bootstrap
from trainers.metrics.counterfactual import Counterfactual, before_removal, counterfactual
from trainers.metrics.image_text import numbered, recall_both_ways
from trainers.object_removal.fills import fill_named
from trainers.object_removal.gallery import CaptionGallery, against, gather
from trainers.object_removal.pairs import FilledImage, Tally, class_tables, removals
from trainers.object_removal.square_images import check_memory, drawn_images, longest_side, read_images
from trainers.object_removal.vocabulary import Matcher, matcher_of
from trainers.progress import Progress, Stages, silent

KS = (1, 5, 10)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Queries and answers at one image size: N test images, Q removals, G captions, M captions of the N images.

    Attributes:
        images: uint8 ``[N, 3, S, S]``; captions: their M captions; owner: int64 ``[M]``, the image of each of them.
        queries: uint8 ``[Q, 3, S, S]``, an object filled; origin: int64 ``[Q]``, their images.
        rerendered: uint8 ``[Q, 3, S, S]``, the same scenes drawn again without it; None: they are not evaluated.
        present, removed: bool ``[Q, C]``, classes that stay and that are gone.
        gallery: the G distinct captions; mentions: bool ``[G, C]``; total: distinct captions of the dataset.
        scenes: where the N images come from; removals: the Q removals, without pixels.
        tally: what was left out, and why.
    """

    images: Tensor
    captions: tuple[str, ...]
    owner: Tensor
    queries: Tensor
    origin: Tensor
    rerendered: Tensor | None
    present: Tensor
    removed: Tensor
    gallery: tuple[str, ...]
    mentions: Tensor
    total: int
    scenes: tuple[CaptionedImage, ...]
    removals: tuple[FilledImage, ...]
    tally: Tally

    @property
    def scope(self) -> str:
        """What the figures are about: how many queries, against how many of the captions."""
        return against(len(self.queries), len(self.gallery), self.total)

    def part(self, queries: int, gallery: int) -> Benchmark:
        """Make a smaller benchmark for use during training: the first queries and their images, and a random part of
        the gallery that contains all captions of these images.
        """
        keep = np.arange(min(queries, len(self.queries)))
        images = np.unique(self.origin[keep].numpy())
        number = np.full(len(self.images), -1)
        number[images] = np.arange(len(images))
        kept = number[self.owner.numpy()] >= 0
        captions = tuple(caption for caption, mine in zip(self.captions, kept.tolist(), strict=True) if mine)
        said = set(captions)
        needed = np.array([caption in said for caption in self.gallery])
        others = np.random.default_rng(0).permutation(np.flatnonzero(~needed))[: max(0, gallery - int(needed.sum()))]
        rows = np.sort(np.concatenate([np.flatnonzero(needed), others]))
        return dataclasses.replace(
            self,
            images=self.images[images],
            captions=captions,
            owner=torch.from_numpy(number[self.owner.numpy()[kept]]),
            queries=self.queries[keep],
            origin=torch.from_numpy(number[self.origin[keep].numpy()]),
            rerendered=None if self.rerendered is None else self.rerendered[keep],
            present=self.present[keep],
            removed=self.removed[keep],
            gallery=tuple(self.gallery[row] for row in rows),
            mentions=self.mentions[torch.from_numpy(rows)],
            scenes=tuple(self.scenes[row] for row in images),
            removals=tuple(self.removals[row] for row in keep),
        )

    def score(
        self, *, images: Tensor, queries: Tensor, gallery: Tensor, captions: Tensor | None, again: Tensor | None = None
    ) -> ModelResult:
        """Compute the metrics of one model, from its embeddings.

        Args:
            images: floating ``[N, D]``; queries: ``[Q, D]``; gallery: ``[G, D]``.
            captions: ``[M, D]``; None: the images have no captions, and there is no recall.
            again: of the re-rendered queries, ``[Q, D]``; None: they are not evaluated.
        """
        filled = self._counterfactual(queries, gallery)
        values = dict(filled.values)
        rendered = None if again is None else self._counterfactual(again, gallery)
        if rendered is not None:
            values |= {f"rerendered_{name}": value for name, value in rendered.values.items()}
        values |= before_removal(self._counterfactual(images[self.origin], gallery))
        if captions is not None:
            values |= recall_both_ways(images, captions, self.owner, ks=KS, texts=numbered(self.captions))
        return ModelResult(values=values, filled=filled, rerendered=rendered, embeddings=torch.cat([images, queries]))

    def _counterfactual(self, queries: Tensor, gallery: Tensor) -> Counterfactual:
        return counterfactual(queries, gallery, self.mentions, self.present, self.removed, ks=KS)


@dataclass(frozen=True, kw_only=True)
class ModelResult:
    """The result of one model.

    Attributes:
        values: metric to float64 per query (or image, or caption); NaN: left out of that mean.
        filled: what the filled images retrieve.
        rerendered: the same for re-rendered scenes; None: they were not evaluated.
        embeddings: float32 ``[N + Q, D]``, unit rows: images, then filled queries.
    """

    values: dict[str, np.ndarray]
    filled: Counterfactual
    rerendered: Counterfactual | None
    embeddings: Tensor

    def means(self) -> dict[str, float]:
        """Return the mean of every metric over the values that count; metrics without any are left out."""
        known = {name: value[~np.isnan(value)] for name, value in self.values.items()}
        return {name: float(value.mean()) for name, value in known.items() if len(value)}

    def left_out(self) -> dict[str, int]:
        """Say why queries are left out of ODmAP, and how many; reasons without any are left out."""
        reasons = {
            "nothing removed": self.filled.counts["skipped_nothing_removed"],
            "nothing left": self.filled.counts["skipped_nothing_present"],
            "no correct caption in the gallery": self.filled.counts["skipped_no_correct_sentence"],
        }
        return {reason: count for reason, count in reasons.items() if count}

    def intervals(self) -> dict[str, Interval]:
        """Return the mean of every metric with its 95 % bootstrap interval over the queries of this one model."""
        return {name: bootstrap(values) for name, values in self.values.items()}


class BenchmarkEvaluator:
    """Evaluates models of one kind on one benchmark; the captions are cut into tokens once."""

    def __init__(self, benchmark: Benchmark, model: ImageTextModel) -> None:
        self.benchmark = benchmark
        self._gallery = model.tokenise(benchmark.gallery)
        self._captions = model.tokenise(benchmark.captions) if benchmark.captions else None

    def evaluate(self, model: ImageTextModel, progress: Progress = silent) -> ModelResult:
        """Encode and score; the model's mode is restored."""
        of = self.benchmark
        stages = Stages(progress, [1.0 + len(part) for part in (of.images, of.queries, of.gallery, of.captions)])
        images = encode_images(model, of.images, progress=stages.next())
        queries = encode_images(model, of.queries, progress=stages.next())
        gallery = encode_texts(model, self._gallery, progress=stages.next())
        again = None if of.rerendered is None else encode_images(model, of.rerendered)
        captions = None
        if self._captions is not None:
            captions = encode_texts(model, self._captions, progress=stages.next())
        return of.score(images=images, queries=queries, gallery=gallery, captions=captions, again=again)


def make_benchmark(
    dataset: CaptionedDataset,
    words: Matcher,
    side: int,
    *,
    fill: str = "telea",
    limit: int | None = None,
    every: bool = False,
    seed: int = 0,
    shuffled: bool = False,
    progress: Progress = silent,
) -> Benchmark:
    """Make the benchmark of a whole dataset: its test split gives the queries, the captions of all splits are the
    gallery (Kim et al. 2023, 3.2).

    Args:
        dataset: images, captions and boxes.
        words: the word table; classes it lacks stand for their own name and plural. Annotated captions are matched by
            their annotation.
        side: of the model's square images.
        fill: what the object is filled with, by name.
        limit: removals at most; None: no limit.
        every: each allowed class of an image in turn (ours) instead of one.
        seed: of the choice of class, and of the order if ``shuffled``.
        shuffled: images in random order instead of the dataset's, as the page takes them; matters with ``limit``.

    Raises:
        UserError: no image, no caption, nothing that may be removed, or no such fill.
    """
    scenes: Sequence[CaptionedImage] = dataset.splits[dataset.test_split]
    if shuffled:
        scenes = in_random_order(scenes, seed)
    gallery = gather(dataset, matcher_of(dataset, words))
    benchmarks = make_benchmarks(
        scenes, gallery, [side], title=dataset.title, fill=fill, limit=limit, every=every, seed=seed, progress=progress
    )
    return benchmarks[side]


def in_random_order(scenes: Sequence[CaptionedImage], seed: int) -> tuple[CaptionedImage, ...]:
    """Shuffle the scenes, for each seed differently."""
    return tuple(scenes[int(number)] for number in np.random.default_rng(seed).permutation(len(scenes)))


def make_benchmarks(
    scenes: Sequence[CaptionedImage],
    gallery: CaptionGallery,
    sides: Sequence[int],
    *,
    title: str,
    fill: str = "telea",
    limit: int | None = None,
    every: bool = False,
    seed: int = 0,
    recall_images: int | None = None,
    rerender: bool = True,
    progress: Progress = silent,
) -> dict[int, Benchmark]:
    """Make one benchmark at several image sizes: the same removals, so that models of all these sizes can be compared.

    Args:
        scenes: of the test split, in the order in which they are used.
        gallery: captions that may be retrieved.
        sides: sizes of the square images that the models take.
        title: of the dataset, for messages.
        fill, limit, every, seed: as in :func:`make_benchmark`.
        recall_images: images that recall is measured over, captioned ones and at least those of the queries; None: all
            images.
        rerender: evaluate drawn scenes also without a fill, drawn again.
        progress: told how far it is; may raise to give up.

    Raises:
        UserError: no image can be read, nothing may be removed, or there is no such fill.
    """
    check_memory(len(scenes) if recall_images is None else min(recall_images, len(scenes)), sides)
    stages, tally = Stages(progress, (2.0, 1.0, 1.0, 1.0)), Tally()
    longest, part = longest_side(scenes, max(sides)), stages.next()
    possible = removals(scenes, fill_named(fill), every=every, seed=seed, longest=longest, tally=tally)
    done, queries = _squared(
        islice(possible, limit),
        sides,
        lambda count: part("filling objects", max(tally.images / len(scenes), count / (limit or np.inf))),
    )
    if not done:
        raise DataError(
            f"Nothing may be removed from {tally.images} images of {title}: {tally.one_class} have fewer than two "
            f"classes, {tally.no_allowed_class} no class that the overlap rules allow."
        )
    whole, images = _whole(done, scenes, sides, recall_images, stages.next())
    again = (
        _rerendered(done, sides, stages.next()) if rerender and are_drawn([removal.scene for removal in done]) else {}
    )
    stages.next()("matching captions with classes", 0.0)
    shared = _shared(done, whole, gallery) | {"tally": tally}
    return {
        side: Benchmark(images=images[side], queries=queries[side], rerendered=again.get(side), **shared)
        for side in sides
    }


def _squared(
    possible: Iterable[FilledImage], sides: Sequence[int], report: Callable[[int], None]
) -> tuple[list[FilledImage], dict[int, Tensor]]:
    """Square the removals: return them without pixels, and side to their images uint8 ``[Q, 3, side, side]``."""
    done: list[FilledImage] = []
    images: dict[int, list[Tensor]] = {side: [] for side in sides}
    for removal in possible:
        report(len(done))
        for side, squares in images.items():
            squares.append(squash(removal.pixels, side))
        done.append(removal.without_pixels())
    return done, {side: torch.stack(squares) for side, squares in images.items() if squares}


def _shared(done: Sequence[FilledImage], whole: Sequence[CaptionedImage], gallery: CaptionGallery) -> dict[str, Any]:
    """Return what the benchmarks of all sizes have in common."""
    present, removed = class_tables([removal.judgement for removal in done], gallery.matcher.classes)
    number = {id(scene): row for row, scene in enumerate(whole)}
    return {
        "captions": tuple(text for scene in whole for text in scene.captions),
        "owner": torch.tensor([row for row, scene in enumerate(whole) for _ in scene.captions], dtype=torch.int64),
        "origin": torch.tensor([number[id(removal.scene)] for removal in done], dtype=torch.int64),
        "present": torch.from_numpy(present),
        "removed": torch.from_numpy(removed),
        "gallery": gallery.texts,
        "total": gallery.total,
        "mentions": torch.from_numpy(gallery.mentions),
        "scenes": tuple(whole),
        "removals": tuple(done),
    }


def _whole(
    done: Sequence[FilledImage],
    scenes: Sequence[CaptionedImage],
    sides: Sequence[int],
    most: int | None,
    progress: Progress,
) -> tuple[list[CaptionedImage], Mapping[int, Tensor]]:
    """Return the images as they are and their scenes; with a limit those of the removals come first."""
    if most is not None:
        wanted = {id(removal.scene): removal.scene for removal in done}
        most = max(most, len(wanted))
        wanted |= {id(scene): scene for scene in scenes if scene.captions}
        scenes = tuple(wanted.values())
    images, kept = read_images(scenes, sides, progress, most)
    return [scenes[number] for number in kept], images


def _rerendered(done: Sequence[FilledImage], sides: Sequence[int], progress: Progress) -> dict[int, Tensor]:
    scenes, gone = [removal.scene for removal in done], [removal.judgement.removed for removal in done]
    return {side: drawn_images(scenes, side, progress, gone) for side in sides}
