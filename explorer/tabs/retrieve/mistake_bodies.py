"""The bodies that the section "Mistakes" posts."""

from __future__ import annotations

from typing import Annotated

from explorer.server.body import REQUIRED, Body, Optional, Text, text, whole
from explorer.tabs.retrieve.bodies import MOST_K, MOST_ROWS

MOST_RANGES = 20_000
"""Characters of a selection."""
MOST_LISTED = 200
"""Classes or queries of an answer."""
USUAL_METRIC = "AP"
"""By which queries are compared if nothing else is asked for."""
_Points = Annotated[str, text(MOST_RANGES, least=0)]
_Words = Annotated[str, text(200, least=0)]


class Mistakes(Body):
    """``mistakes/severity`` and ``mistakes/training``.

    Attributes:
        run: by id.
        home: the run on whose maps queries are shown; empty: the same.
        k: results of each query.
        step: the newest frame at or before it; None: the newest with embeddings.
        among: points of the maps of ``home`` whose queries are counted, such as ``3-7,12``; empty: all.
    """

    run: Text = REQUIRED
    home: Optional = ""
    k: Annotated[int, whole(1, MOST_K)] = 10
    step: Annotated[int, whole(0, MOST_ROWS)] | None = None
    among: _Points = ""


class Classes(Mistakes):
    """``mistakes/classes``.

    Attributes:
        level: 0 the finest; None: all.
        text: words that the names hold; empty: those that lack most come first.
        count: most classes.
    """

    level: Annotated[int, whole(0, 100)] | None = None
    text: _Words = ""
    count: Annotated[int, whole(1, MOST_LISTED)] = 50


class Queries(Body):
    """``mistakes/queries``: those on which the arms of a run, and of a baseline, differ most by a metric.

    Attributes:
        among: as of :class:`Mistakes`.
    """

    run: Text = REQUIRED
    baseline: Optional = ""
    metric: Annotated[str, text(80)] = USUAL_METRIC
    step: Annotated[int, whole(0, MOST_ROWS)] | None = None
    count: Annotated[int, whole(1, MOST_LISTED)] = 50
    among: _Points = ""


class Baseline(Body):
    """``mistakes/baseline``: the numbers of a run less those of another, at a step or the last."""

    run: Text = REQUIRED
    baseline: Text = REQUIRED
    step: Annotated[int, whole(0, MOST_ROWS)] | None = None
