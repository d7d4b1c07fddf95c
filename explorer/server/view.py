"""What the page shows of a run, as plain values for JSON. Read-only, cheap, and safe to call for any visitor."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.exports import offered
from explorer.server import maps
from explorer.server.run import Run
from explorer.titles import run_title, summary
from trainers.cells import finite_number
from trainers.config import RunConfig
from trainers.hierarchy import Hierarchy, severity_words
from trainers.kinds import diagnoses, kind_of
from trainers.kinds.ablation import ablation
from trainers.runs.records import PHASES, REFINED, Attribute, Phase, Probe, RunState

if TYPE_CHECKING:
    from explorer.server.runs import Runs

METRIC_ROWS = 2000
DAMAGED = Phase(label="damaged")
"""Of a run folder that cannot be read."""
_NO_PROBE = Probe(
    labels=np.zeros((0, 0), np.int32),
    rows=(),
    hierarchy=Hierarchy(levels=(), names=()),
    data_title="",
    tile=0,
    columns=0,
)
Json = dict[str, Any]


def state_json(state: RunState, *, plans: bool = False) -> Json:
    """The state of a run; of one that ``plans`` others, which cannot be paused."""
    phase = PHASES[state.phase]
    if plans:
        phase = replace(phase, acts=tuple(act for act in phase.acts if act != "pause"))
    return {
        **phase_json(state.phase, phase),
        "message": state.message,
        "error": state.error,
        "step": state.step,
        "planned_steps": state.planned_steps,
        "seconds": state.seconds,
    }


def phase_json(name: str, phase: Phase) -> Json:
    """What the page needs to know about a phase."""
    return {
        "phase": name,
        **asdict(phase),
        "finished": name == "finished",
        "failed": name == "failed",
        "damaged": phase is DAMAGED,
    }


def created(run_id: str) -> float:
    """Seconds since the epoch at which the run was made: the first ten letters of its id are milliseconds."""
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    milliseconds = 0
    for letter in run_id[:10]:
        milliseconds = milliseconds * 32 + digits.index(letter)
    return milliseconds / 1000


def position(queue: Runs, run: Run, phase: str) -> int | None:
    """Position in the queue, 1 is next; None when the run does not wait."""
    return queue.position(run.id) if phase == "queued" else None


def about(run: Run) -> Json:
    """Everything about one run that the page needs before it draws; labels are empty until the data is read."""
    state = run.folder.state()
    return {
        "id": run.id,
        "title": run_title(run),
        **state_json(state, plans=kind_of(run.config).plans),
        "recorded": run.recorded,
        "part_of": run.folder.part_of,
        "plans": kind_of(run.config).plans,
        "read_only": not run.folder.writable,
        "created": created(run.id),
        "config": json.loads(run.config.to_json()),
        "summary": summary(run),
        "alone": _alone(run),
        "kind": run.config.kind,
        "arms": _arms(run.config),
        "ablation": _ablation(run.config),
        "frames": maps.frames(run.folder),
        "map_figures": maps.figures_json(),
        "measures": kind_of(run.config).measures_of(run.config).json(),
        "downloads": offered(run),
    } | _points(run.probe or _NO_PROBE)


def _alone(run: Run) -> str:
    """What a run does not show that belongs to no plan; empty for those that do, and for plans."""
    kind = kind_of(run.config)
    return "" if kind.plans or run.folder.part_of else kind.alone(run.config)


def _arms(config: RunConfig) -> list[Json]:
    return [
        {"title": arm.title, "name": arm.name, "loss": arm.label, "parameters": dict(arm.parameters)}
        for arm in kind_of(config).arms(config)
    ]


def _ablation(config: RunConfig) -> Json | None:
    found = ablation(kind_of(config).arms(config))
    return None if found is None else asdict(found)


def _points(probe: Probe) -> Json:
    tree = probe.hierarchy
    return {
        "levels": list(tree.levels),
        "names": [list(level) for level in tree.names],
        "parents": parents(probe),
        "words": severity_words(tree) if tree.levels else [],
        "points": len(probe.labels),
        "labels": probe.labels.T.tolist(),
        "attributes": [_attribute(one) for one in probe.attributes],
        "notes": list(probe.notes),
        "tile": probe.tile,
        "columns": probe.columns,
        "sheets": probe.sheets,
    }


def _attribute(one: Attribute) -> Json:
    """An attribute; of one whose values are classes the tree has the names."""
    names = list(one.names) if one.level is None else []
    more = {name: value for name in ("ringed", "level") if (value := getattr(one, name)) is not None}
    return {"name": one.name, "names": names, "values": one.values.tolist()} | more


def parents(probe: Probe) -> list[list[int]]:
    """For every level but the coarsest, the id of each class's parent one level up; -1 for a class without images."""
    parents: list[list[int]] = []
    for level in range(probe.hierarchy.depth - 1):
        above = np.full(len(probe.hierarchy.names[level]), -1, dtype=np.int64)
        above[probe.labels[:, level]] = probe.labels[:, level + 1]
        parents.append(above.tolist())
    return parents


def poll(run: Run, queue: Runs, after: int, row: int) -> Json:
    """What is new beyond frame ``after`` and metrics row ``row``.

    Training that is resumed drops what was written after its checkpoint. Where that leaves ``after`` beyond the newest
    frame, ``rewound`` is true and the newest frame and all frames come again.
    """
    state = run.folder.state()
    listed = maps.frames(run.folder, after)
    newest = listed[-1][0] if listed else maps.newest(run.folder)
    rewound = newest is not None and newest < after
    if rewound:
        listed = maps.frames(run.folder)
    beyond = -1 if rewound else after
    first = row == 0
    row, values = metrics(run, row)
    of_maps = _map_numbers(run, -1 if first else beyond) if first or listed else []
    return {
        **state_json(state, plans=kind_of(run.config).plans),
        "queue_position": position(queue, run, state.phase),
        "rewound": rewound,
        "frame": frame_info(run, newest) if newest is not None and newest > beyond else None,
        "frames": listed,
        "maps": {"rows": of_maps, "keys": _keys(run, {key for _, _, key, _ in of_maps})},
        "refinement": run.at_rest("refinement", lambda: maps.refinement(run)),
        "row": row,
        "metrics": values,
        "keys": _keys(run, {key for _, _, key, _ in values}),
        "diagnosis": run.at_rest("diagnosis", lambda: diagnoses(run.config, run.folder)),
    }


def frame_info(run: Run, k: int) -> Json:
    """Step, limit, and what is known of each arm's map of frame ``k``, as :func:`explorer.server.maps.arms_json`.

    Raises:
        RunError: there is no frame ``k``.
    """
    rows = run.folder.frame_rows(k)
    about = {"k": k, "step": rows[0].step, "seconds": rows[0].seconds, "limit": rows[0].limit}
    return about | {"refined": k >= REFINED, "arms": finite(maps.arms_json(run, k, rows))}


def metrics(run: Run, after: int, most: int = METRIC_ROWS) -> tuple[int, list[list[Any]]]:
    """Numbers written after row ``after`` as ``[arm, step, key, value]``, and the row of the last one."""
    rows = run.folder.metric_rows(after, most)
    # JSON has no infinity; a loss that diverged is reported by the run's error, not by the curve
    values = [[arm, step, key, value] for _, arm, step, key, value in rows if finite_number(value) is not None]
    return (rows[-1][0] if rows else after), values


def _map_numbers(run: Run, after: int) -> list[list[Any]]:
    """The numbers of the maps beyond frame ``after`` as ``[arm, step, key, value]``."""
    found = maps.scalars(run.folder, after)
    return [[one.arm, one.step, one.key, one.value] for one in found if finite_number(one.value) is not None]


def _keys(run: Run, keys: set[str]) -> dict[str, Json]:
    """Name, title and unit of each key."""
    measures = kind_of(run.config).measures
    levels = () if run.probe is None else tuple(run.probe.hierarchy.levels)
    return {key: measures.key_json(key, levels) for key in sorted(keys)}


def finite(content: Any) -> Any:
    """Plain values with None for every number that JSON cannot hold."""
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [finite(value) for value in content]
    return finite_number(content) if isinstance(content, float) else content
