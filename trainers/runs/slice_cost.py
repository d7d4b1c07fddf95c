"""What training in slices costs a run, in ``slices.json`` of its folder: measured by one slice, used by the next."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from pathlib import Path

from trainers.runs.atomic_files import write_bytes
from trainers.runs.regular import read_regular

FILE = "slices.json"
_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class SliceCost:
    """Seconds that slices took.

    Attributes:
        set_up: from the beginning of the last slice to its first step, with one checkpoint; 0: unknown.
        lent: of a GPU, in all slices so far.
    """

    set_up: float = 0.0
    lent: float = 0.0


def read_cost(folder: Path) -> SliceCost:
    """Read what slices have cost a run; nothing where it is not known."""
    try:
        values = json.loads(read_regular(folder / FILE, _BYTES).decode())
        cost = SliceCost(set_up=float(values["set_up"]), lent=float(values["lent"]))
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return SliceCost()
    return cost if all(math.isfinite(each) and each >= 0 for each in (cost.set_up, cost.lent)) else SliceCost()


def write_cost(folder: Path, cost: SliceCost) -> None:
    """Write what slices have cost a run."""
    write_bytes(folder / FILE, json.dumps(dataclasses.asdict(cost)).encode(), home=folder)


def note_set_up(folder: Path, seconds: float) -> None:
    """Write how long a slice took to set up."""
    write_cost(folder, dataclasses.replace(read_cost(folder), set_up=seconds))
