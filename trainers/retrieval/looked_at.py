"""Maps of what every arm's similarity of a query hangs on, see :mod:`trainers.object_removal.reliance.occlusion`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.errors import UserError
from trainers.kinds import arm_titles
from trainers.metrics.neighbours import best
from trainers.object_removal.reliance.occlusion import GRID, edges, occlude
from trainers.object_removal.reliance.queries import mean_colour
from trainers.parameters import Choice
from trainers.progress import Progress, part_of, silent
from trainers.retrieval.query import SIDE, Asked, pixels_of
from trainers.retrieval.results import Query, RunArm
from trainers.retrieval.retriever import Retriever
from trainers.runs import RunFolder
from trainers.training.embedding import ImageEncoder

MOST = 200
"""Images of the query's class that the map is of; of more some, evenly spread."""
FIRST = 10
"""Results that the map is of where the query's class is not known."""


@dataclass(frozen=True, kw_only=True)
class ArmMap:
    """The map of an arm.

    Attributes:
        rows: of the gallery's images that the similarity is to, their mean.
        similarity, falls: see :class:`trainers.object_removal.reliance.occlusion.Occlusion`.
        error: why there is none.
    """

    run: str
    arm: int
    title: str = ""
    rows: list[int] = field(default_factory=list)
    similarity: float = float("nan")
    falls: np.ndarray | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class QueryMaps:
    """The maps of a query.

    Attributes:
        image: the query uint8 ``[C, S, S]``.
        of: what the similarities are to, in words.
        arms: in the order in which they were asked for.
    """

    image: Tensor
    of: str
    grid: int
    arms: tuple[ArmMap, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as plain values; the image stays out."""
        arms = [
            {"run": arm.run, "arm": arm.arm, "title": arm.title, "error": arm.error}
            if arm.falls is None
            else {
                "run": arm.run,
                "arm": arm.arm,
                "title": arm.title,
                "rows": arm.rows,
                "similarity": round(arm.similarity, 6),
                "falls": np.round(arm.falls, 6).tolist(),
            }
            for arm in self.arms
        ]
        return {"grid": self.grid, "of": self.of, "arms": arms}


def look(
    retriever: Retriever,
    arms: Sequence[RunArm],
    query: Query,
    gallery: Choice,
    *,
    result: int | None = None,
    grid: int = GRID,
    home: RunFolder | None = None,
    progress: Progress = silent,
) -> QueryMaps:
    """Cover a query patch by patch in every arm. An arm that cannot say why; the others answer.

    Args:
        result: row in the gallery of the image that the similarity is to; None: the mean of all of the query's class,
            or of each arm's first results where that is not known.
        grid: patches on each side.
        home: the run whose gallery it is; None: the first that can be read.

    Raises:
        UserError: query, result or gallery cannot be read.
    """
    asked = retriever.ask(home, arms, query, gallery, part_of(progress, 0.0, 0.2))
    rows, of = _targets(asked, result)
    image = pixels_of(asked, None, SIDE)
    edges(int(image.shape[-1]), grid)
    maps = []
    for number, arm in enumerate(arms):
        tell = part_of(progress, 0.2 + 0.8 * number / len(arms), 0.2 + 0.8 * (number + 1) / len(arms))
        maps.append(_map(retriever, arm, asked, rows, grid, tell))
    return QueryMaps(image=image, of=of, grid=grid, arms=tuple(maps))


def _targets(asked: Asked, result: int | None) -> tuple[np.ndarray | None, str]:
    """Return the rows that the similarity is to, None: each arm's own first ones; and in words what they are."""
    if result is not None:
        if not 0 <= result < len(asked.gallery):
            raise UserError(
                f"{asked.gallery.title}: {len(asked.gallery):,} images, numbered from 0; got {result} for the result."
            )
        return np.array([result]), f"image {result + 1}"
    if asked.match is not None:
        same = asked.match[:, 0].copy()
        same[asked.left_out] = False
        if same.any():
            rows = np.flatnonzero(same)
            some = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST)).round().astype(int))]
            of_all = f"{len(some):,} of the {len(rows):,}" if len(some) < len(rows) else f"the {len(rows):,}"
            return some, f"{of_all} other images of the query's class"
    return None, f"the first {FIRST} results of each loss"


def _map(
    retriever: Retriever, arm: RunArm, asked: Asked, rows: np.ndarray | None, grid: int, progress: Progress
) -> ArmMap:
    run, title = arm.folder.id, ""
    try:
        title = arm_titles(arm.folder.config)[arm.arm]
        encoder = retriever.kept.encoder(arm)
        image = pixels_of(asked, encoder.channels, encoder.side, encoder.pixel_range)
        if rows is None:
            rows = _first(retriever, encoder, asked, image, part_of(progress, 0.0, 0.5))
        images, _ = asked.gallery.images(encoder.channels, encoder.side)
        targets = encoder.embed(images[torch.from_numpy(rows)])
        tell = part_of(progress, 0.5, 1.0)
        found = occlude(encoder, image, targets, colour=mean_colour(images), grid=grid, progress=tell)
    except (UserError, IndexError) as error:
        return ArmMap(run=run, arm=arm.arm, title=title, error=str(error))
    return ArmMap(run=run, arm=arm.arm, title=title, rows=rows.tolist(), similarity=found.similarity, falls=found.falls)


def _first(retriever: Retriever, encoder: ImageEncoder, asked: Asked, image: Tensor, progress: Progress) -> np.ndarray:
    compared = retriever.kept.compared(encoder, asked.gallery, progress)
    vector = retriever.kept.embed(encoder, image[None])[0]
    return best(compared.similarities(vector), FIRST, asked.left_out)[0]
