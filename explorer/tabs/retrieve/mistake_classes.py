"""The classes of a frame as the section "Mistakes" lists them: how often results are of their query's class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from explorer.tabs.retrieve.mistake_frames import Frame
from trainers.errors import RunError
from trainers.retrieval.mistakes import ClassResults, find_classes
from trainers.runs.records import Probe

Reply = dict[str, Any]


def listed_classes(frame: Frame, level: int | None, text: str) -> list[tuple[int, int]]:
    """Level and place in its table of the classes to list."""
    tables, depth = frame.found[0].levels, frame.probe.hierarchy.depth
    if level is not None and level >= depth:
        raise RunError(f"The run has {depth} levels of classes, numbered from 0; got {level}.")
    if text.strip():
        places = [{int(number): at for at, number in enumerate(table.ids)} for table in tables]
        named = find_classes(frame.probe.hierarchy, text, most=sum(map(len, frame.probe.hierarchy.names)))
        found = [(one, places[one][number]) for one, number in named if number in places[one]]
        return [(one, at) for one, at in found if level is None or one == level]
    levels = range(depth) if level is None else (level,)
    every = [(one, at) for one in levels for at in range(len(tables[one].ids))]
    return sorted(every, key=lambda place: (-_gap(frame, *place), place))


def _gap(frame: Frame, level: int, at: int) -> float:
    """How far the arms stay below the best order, mean."""
    return float(np.mean([one.levels[level].best[at] - one.levels[level].own[at] for one in frame.found]))


def class_row(frame: Frame, points: dict[int, int | None], level: int, at: int) -> Reply:
    """A class: its name, its size, its worst query, and the shares of every arm."""
    tables: Sequence[ClassResults] = [one.levels[level] for one in frame.found]
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
                "own1": float(table.own1[at]),
                "own": float(table.own[at]),
                "top1": plain(table.top1[at]),
                "topk": plain(table.topk[at]),
            }
            for table in tables
        ],
    }


def _worst(frame: Frame, level: int, number: int) -> int:
    """The query of a class whose results are least often of it, over all arms; the first of several."""
    labels = frame.probe.labels[:, level]
    sizes = np.bincount(frame.probe.labels[:, 0])
    queries = np.flatnonzero((labels == number) & (sizes[frame.probe.labels[:, 0]] > 1))
    hits = sum((labels[ids[queries]] == number).sum(axis=1) for ids in frame.ids)
    return int(queries[np.argmin(hits)])


def placed(probe: Probe, query: int, points: dict[int, int | None]) -> Reply:
    """Where a query is: its point on the maps, see ``points``, and its row in a part of the dataset."""
    return {"point": points[query], "row": int(probe.rows[query]), "part": probe.part}


def plain(shares: np.ndarray) -> list[float]:
    """Shares as JSON has them."""
    return [round(float(share), 6) for share in shares]
