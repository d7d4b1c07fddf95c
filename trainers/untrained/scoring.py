"""Scores the rows without training, once for the same images."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.data import cache
from trainers.data.roles import Roles, choose_probe
from trainers.errors import UserError
from trainers.metrics.measures import TEST
from trainers.metrics.names import measurable
from trainers.metrics.neighbours import nearest_images
from trainers.metrics.scores import score_roles
from trainers.runs.untrained import JUDGED, Untrained, UntrainedRow
from trainers.untrained.ways import UNTRAINED
from trainers.untrained.ways.base import Setting, UntrainedDescriptor

MOST = 2000
"""Test images that are scored; of more an even choice."""
SECONDS = 20.0
"""For a slow row at the end of a training."""
NEAREST = 10
"""Images nearest to each one on the map that are kept."""
LATER = "Not read yet: a press in Live reads it, or python -m trainers untrained RUN."


@dataclass(frozen=True, kw_only=True)
class TestSet:
    """The test images of a run.

    Attributes:
        images: uint8 ``[N, C, H, W]``.
        labels: int64 ``[N, L]``, finest first.
        roles: of the images; None: each is searched for among all others.
        probe: int64 ``[P]``, rows on the maps; None: the maps show other images.
        mark: equal where the images and their order are; empty: nothing is kept for later.
        names: of the metrics of the run.
        classes: that it trains on.
    """

    images: Tensor
    labels: Tensor
    roles: Roles | None
    probe: Tensor | None
    mark: str
    names: Sequence[str]
    classes: int

    @property
    def chosen(self) -> Tensor:
        """int64 ``[T]``, rows that are scored, ascending."""
        return choose_probe(self.labels, MOST, seed=0, roles=self.roles)


def score_untrained(test: TestSet, setting: Setting, *, slow: bool, known: Untrained | None = None) -> Untrained:
    """Score every entry, or say why it has no row.

    Args:
        setting: its ``features`` are of all images of the test set.
        slow: make slow entries too; else only what is cached of them, or read already.
        known: a record of the same run, whose results and rows stay.
    """
    chosen = test.chosen
    rows: list[UntrainedRow] = []
    lacking: dict[str, str] = {}
    for entry in UNTRAINED.values():
        if known is not None and (row := known.row(entry.name)) is not None:
            rows.append(row)
            continue
        try:
            made = _row(entry, test, chosen, setting, slow=slow or not entry.slow or setting.features is not None)
        except UserError as error:
            lacking[entry.name] = str(error)
            continue
        if made is None:
            lacking[entry.name] = LATER
        else:
            rows.append(made)
    if known is not None:
        return dataclasses.replace(known, rows=tuple(rows), lacking=lacking)
    labels = test.labels[chosen, 0].numpy().astype(np.int32)
    return Untrained(
        rows=tuple(rows),
        lacking=lacking,
        images=chosen.numpy(),
        labels=labels,
        total=len(test.labels),
        classes=test.classes,
    )


def row_title(entry: UntrainedDescriptor, setting: Setting) -> str:
    """Return the title of an entry for a run."""
    of = entry.of_run(setting)
    return f"{entry.title} of {of}" if of else entry.title


def _row(
    entry: UntrainedDescriptor, test: TestSet, chosen: Tensor, setting: Setting, *, slow: bool
) -> UntrainedRow | None:
    """Make a row, or read it from the cache; None: it is not there, and is not to be made now."""
    key = _key(entry, test, chosen, setting) if test.mark else ""
    if key and (stored := cache.read("untrained", key)) is not None:
        return _of_cache(entry, setting, stored)
    if not slow:
        return None
    shown = chosen if test.probe is None else torch.cat([chosen, test.probe])
    rows = torch.unique(shown)
    features = None if setting.features is None else setting.features[rows]
    embeddings = entry.embed(test.images[rows], dataclasses.replace(setting, features=features)).cpu()
    numbers, values = _scored(embeddings[torch.searchsorted(rows, chosen)], test, chosen)
    numbers = {f"{TEST}{name}": value for name, value in numbers.items()}
    near = np.zeros((0, 0), np.int32)
    if test.probe is not None:
        own = embeddings[torch.searchsorted(rows, test.probe)]
        numbers |= _scored(own, test, test.probe)[0]
        roles = None if test.roles is None else test.roles.take(test.probe.numpy())
        near = nearest_images(own, test.labels[test.probe].numpy(), NEAREST, roles).astype(np.int32)
    if key:
        kept = {"values": torch.from_numpy(values), "neighbours": torch.from_numpy(near)}
        cache.write("untrained", key, kept, {"numbers": numbers})
    return _made(entry, setting, numbers, values, near)


def _scored(embeddings: Tensor, test: TestSet, rows: Tensor) -> tuple[dict[str, float], np.ndarray]:
    """Return the finite means over these images, and float32 ``[M, n]`` of each of them."""
    roles = None if test.roles is None else test.roles.take(rows.numpy())
    results = len(rows) if roles is None else 1 + len(roles.searched)
    names = list(dict.fromkeys([*JUDGED, *measurable(test.names, test.labels.shape[1], results)]))
    scores = score_roles(embeddings.float(), test.labels[rows], roles, names)
    means = scores.means(test.labels.shape[1])
    finite = {name: float(means[name]) for name in names if np.isfinite(means[name])}
    return finite, np.stack([scores.values[name] for name in JUDGED]).astype(np.float32)


def _key(entry: UntrainedDescriptor, test: TestSet, chosen: Tensor, setting: Setting) -> str:
    probe = b"" if test.probe is None else test.probe.numpy().tobytes()
    return cache.content_key(
        [test.mark, entry.name, _source(entry), entry.of_run(setting), chosen.numpy().tobytes(), probe, *test.names]
    )


def _source(entry: UntrainedDescriptor) -> bytes:
    """Return the file that an entry is defined in, so that a changed one is scored again."""
    code = getattr(entry.embed, "__code__", None)
    try:
        return b"" if code is None else Path(code.co_filename).read_bytes()
    except OSError:
        return b""


def _of_cache(entry: UntrainedDescriptor, setting: Setting, stored: Any) -> UntrainedRow:
    near = stored.tensors["neighbours"].numpy()
    return _made(entry, setting, stored.about["numbers"], stored.tensors["values"].numpy(), near)


def _made(
    entry: UntrainedDescriptor, setting: Setting, numbers: dict[str, float], values: np.ndarray, near: np.ndarray
) -> UntrainedRow:
    return UntrainedRow(
        name=entry.name,
        title=row_title(entry, setting),
        sentence=entry.sentence,
        numbers=numbers,
        values=values,
        neighbours=near,
    )


def stack_results(scores: Iterable[np.ndarray]) -> np.ndarray:
    """Stack results of arms, ``[M, n]`` each, as a record keeps them."""
    return np.stack(list(scores)).astype(np.float32)
