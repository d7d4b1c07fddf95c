"""The classes of a frame as the section "Mistakes" lists them: how often results are of their query's class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from explorer.tabs.retrieve.mistake_frames import Frame
from trainers.errors import RunError
from trainers.retrieval.mistakes import ClassResults, find_classes
from trainers.retrieval.probe_results import roles_of
from trainers.runs.records import Probe

Reply = dict[str, Any]


def listed_classes(frame: Frame, level: int | None, text: str) -> list[tuple[int, int]]:
    """List classes: the level of each and its index in the table of that level."""
    tables, levels = frame.mistakes[0].levels, range(frame.probe.hierarchy.depth)
    if level is not None and level >= len(levels):
        raise RunError(f"The run has {len(levels)} levels of classes, numbered from 0; got {level}.")
    if text.strip():
        positions = [{int(number): at for at, number in enumerate(table.ids)} for table in tables]
        named = find_classes(frame.probe.hierarchy, text, most=sum(map(len, frame.probe.hierarchy.names)))
        known = [(depth, positions[depth][number]) for depth, number in named if number in positions[depth]]
        return [entry for entry in known if level is None or entry[0] == level]
    every = [(depth, at) for depth in (levels if level is None else (level,)) for at in range(len(tables[depth].ids))]
    return sorted(every, key=lambda entry: (-_gap(frame, *entry), entry))


def _gap(frame: Frame, level: int, at: int) -> float:
    """Return how far the arms stay below the best order, mean."""
    return float(np.mean([arm.levels[level].best[at] - arm.levels[level].of_class[at] for arm in frame.mistakes]))


def class_row(frame: Frame, points: dict[int, int | None], level: int, at: int) -> Reply:
    """Describe a class: its name, its size, its worst query, and the shares of every arm."""
    tables: Sequence[ClassResults] = [arm.levels[level] for arm in frame.mistakes]
    number = int(tables[0].ids[at])
    hierarchy = frame.probe.hierarchy
    query = _worst(frame, level, number)
    return {
        "name": hierarchy.names[level][number],
        "level": hierarchy.levels[level],
        "queries": int(tables[0].queries[at]),
        "best": float(tables[0].best[at]),
        "query": query,
        **placed(frame.probe, query, points),
        "arms": [
            {
                "own1": float(table.of_class1[at]),
                "own": float(table.of_class[at]),
                "top1": plain(table.top1[at]),
                "topk": plain(table.topk[at]),
            }
            for table in tables
        ],
    }


def _worst(frame: Frame, level: int, number: int) -> int:
    """Return the query of a class whose results are least often of it, over all arms; the first of several."""
    labels = frame.probe.labels[:, level]
    roles = roles_of(frame.probe)
    if roles is None:
        asked = np.bincount(frame.probe.labels[:, 0])[frame.probe.labels[:, 0]] > 1
    else:
        asked = roles.query & (roles.to_find(frame.probe.labels)[:, 0] > 0)
    queries = np.flatnonzero((labels == number) & asked)
    if frame.among is not None:
        queries = np.intersect1d(queries, frame.among)
    hits = sum((labels[ids[queries]] == number).sum(axis=1) for ids in frame.ids)
    return int(queries[np.argmin(hits)])


def placed(probe: Probe, query: int, points: dict[int, int | None]) -> Reply:
    """Return where a query is: its point on the maps, see ``points``, and its row in a part of the dataset."""
    return {"point": points[query], "row": int(probe.rows[query]), "part": probe.part}


def plain(shares: np.ndarray) -> list[float]:
    """Return shares as JSON has them."""
    return [round(float(share), 6) for share in shares]
