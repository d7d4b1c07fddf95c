"""A run as the page shows it, as plain values for JSON. Read-only, cheap, and safe to call for any visitor."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.exports import lacking, made, offered
from explorer.server import maps
from explorer.server.plain import finite
from explorer.server.run import Run
from explorer.server.states import Json, created, position, state_json
from explorer.server.titles import run_title, summary
from trainers.cells import finite_number
from trainers.config import Config
from trainers.hierarchy import Hierarchy, severity_words
from trainers.kinds import kind_of
from trainers.kinds.arm_view import ablation
from trainers.pictures.palette import class_colours
from trainers.retrieval.encoders import embeds
from trainers.retrieval.probe_results import diagnosed
from trainers.retrieval.untrained.words import untrained_json
from trainers.runs.records import REFINED, Attribute, Probe
from trainers.runs.regular import is_there

if TYPE_CHECKING:
    from explorer.server.runs import Runs

METRIC_ROWS = 2000
_NO_PROBE = Probe(
    labels=np.zeros((0, 0), np.int32),
    rows=(),
    hierarchy=Hierarchy(levels=(), names=()),
    data_title="",
    tile=0,
    columns=0,
)


def about(run: Run) -> Json:
    """Describe one run with everything that the page needs before it draws; labels are empty until the data is read."""
    state = run.folder.state()
    return {
        "id": run.id,
        "title": run_title(run),
        **state_json(run.folder, state, run.config),
        "recorded": run.recorded,
        "part_of": run.folder.part_of,
        "plans": kind_of(run.config).plans,
        "read_only": not run.folder.writable,
        "created": created(run.id),
        "revision": run.folder.revision,
        "config": json.loads(run.config.to_json()),
        "summary": summary(run),
        "alone": _alone(run),
        "searched": embeds(run.config),
        "kind": run.config.kind,
        "arms": _arms(run.config),
        "ablation": _ablation(run.config),
        "frames": maps.frames(run.folder),
        "drawing": run.at_rest("drawing", lambda: _drawing(run)),
        "map_figures": maps.figures_json(),
        "measures": kind_of(run.config).measures_of(run.config).json()
        | {"begins": kind_of(run.config).begins_as(run.config)},
        "untrained": untrained(run),
        "downloads": offered(run),
        "made": made(run),
        "lacking": lacking(run),
    } | _points(run.probe or _NO_PROBE)


def untrained(run: Run) -> Json:
    """Describe the rows without training, how their numbers are to be shown, and what they say of the run."""
    return run.at_rest("untrained", lambda: finite(untrained_json(run.folder)))


def files(run: Run) -> Json:
    """Return where each image of the maps comes from: the part of the dataset, its row there, and its file if known."""
    probe = run.probe or _NO_PROBE
    return {"part": probe.part, "rows": list(map(int, probe.rows)), "files": list(probe.files)}


def _alone(run: Run) -> str:
    """Say what a run does not show that belongs to no plan; empty for those that do."""
    return "" if run.folder.part_of else kind_of(run.config).alone(run.config)


def _arms(config: Config) -> list[Json]:
    return [
        {"title": arm.title, "name": arm.name, "loss": arm.label, "parameters": dict(arm.parameters)}
        for arm in kind_of(config).arms(config)
    ]


def _ablation(config: Config) -> Json | None:
    compared = ablation(kind_of(config).arms(config))
    return None if compared is None else asdict(compared)


def _points(probe: Probe) -> Json:
    tree = probe.hierarchy
    return {
        "levels": list(tree.levels),
        "names": [list(level) for level in tree.names],
        "parents": parents(probe),
        "words": severity_words(tree) if tree.levels else [],
        "points": len(probe.labels),
        "labels": probe.labels.T.tolist(),
        "colours": [class_colours(probe.labels, level) for level in range(tree.depth)],
        "attributes": [_attribute(attribute, probe) for attribute in probe.attributes],
        "notes": list(probe.notes),
        "tile": probe.tile,
        "columns": probe.columns,
        "sheets": probe.sheets,
    }


def _attribute(attribute: Attribute, probe: Probe) -> Json:
    """Describe an attribute; where its values are classes the tree has the names."""
    names = list(attribute.names) if attribute.level is None else []
    more = {name: value for name in ("ringed", "level") if (value := getattr(attribute, name)) is not None}
    return {
        "name": attribute.name,
        "names": names,
        "values": attribute.values.tolist(),
        "colours": _colours(attribute, probe),
    } | more


def _colours(attribute: Attribute, probe: Probe) -> Json:
    """Return the colours of the values; classes have those that they have in the tree."""
    if attribute.level is None:
        return class_colours(attribute.values[:, None])
    labels = probe.labels.copy()
    labels[:, attribute.level] = attribute.values
    above = parents(probe)
    for level in range(attribute.level, probe.hierarchy.depth - 1):
        labels[:, level + 1] = np.array(above[level])[labels[:, level]]
    return class_colours(labels, attribute.level)


def parents(probe: Probe) -> list[list[int]]:
    """Return for every level but the coarsest the id of each class's parent, -1 for a class without images."""
    parents: list[list[int]] = []
    for level in range(probe.hierarchy.depth - 1):
        above = np.full(len(probe.hierarchy.names[level]), -1, dtype=np.int64)
        above[probe.labels[:, level]] = probe.labels[:, level + 1]
        parents.append(above.tolist())
    return parents


def poll(run: Run, runs: Runs, after: int, row: int) -> Json:
    """Return what is new beyond frame ``after`` and metrics row ``row``.

    Training that is resumed drops what was written after its checkpoint. Where that leaves ``after`` beyond the newest
    frame, ``rewound`` is true and the newest frame and all frames come again. ``more``: further numbers are stored.
    """
    state = run.folder.state()
    listed = maps.frames(run.folder, after)
    newest = listed[-1][0] if listed else maps.newest(run.folder)
    rewound = newest is not None and newest < after
    if rewound:
        listed = maps.frames(run.folder)
    beyond = -1 if rewound else after
    first = row == 0
    row, values, more = metrics(run, row)
    of_maps = _map_numbers(run, -1 if first else beyond) if first or listed else []
    return {
        **state_json(run.folder, state, run.config),
        "queue_position": position(runs, run, state.phase),
        "rewound": rewound,
        "frame": frame_info(run, newest) if newest is not None and newest > beyond else None,
        "frames": listed,
        "maps": {"rows": of_maps, "keys": _keys(run, {key for _, _, key, _ in of_maps})},
        "drawing": run.at_rest("drawing", lambda: _drawing(run)),
        "refinement": run.at_rest("refinement", lambda: maps.refinement(run)),
        "row": row,
        "more": more,
        "metrics": values,
        "keys": _keys(run, {key for _, _, key, _ in values}),
        "untrained": untrained(run),
        "diagnosis": run.at_rest("diagnosis", lambda: diagnosed(run.config, run.folder)),
    }


def _drawing(run: Run) -> bool:
    """Return whether the newest embeddings of a run have no map yet, and will get one."""
    snapshots = run.folder.snapshots()
    kept = bool(snapshots) and is_there(run.folder.embeddings_path(snapshots[-1][0]))
    return kept and not run.recorded and run.folder.writable and run.folder.newest_map() != snapshots[-1][0]


def frame_info(run: Run, k: int) -> Json:
    """Step, limit, and what is known of each arm's map of frame ``k``, as :func:`explorer.server.maps.arms_json`.

    Raises:
        RunError: there is no frame ``k``.
    """
    rows = run.folder.frame_rows(k)
    about = {"k": k, "step": rows[0].step, "seconds": rows[0].seconds, "limit": rows[0].limit}
    return about | {"refined": k >= REFINED, "arms": finite(maps.arms_json(run, k, rows))}


def metrics(run: Run, after: int, most: int = METRIC_ROWS) -> tuple[int, list[list[Any]], bool]:
    """Return numbers written after row ``after``: the row of the last one, ``[arm, step, key, value]`` of each, and
    whether there may be more.
    """
    rows = run.folder.metric_rows(after, most)
    # JSON has no infinity; a loss that diverged is reported by the run's error, not by the curve
    values = [[arm, step, key, value] for _, arm, step, key, value in rows if finite_number(value) is not None]
    return (rows[-1][0] if rows else after), values, len(rows) == most


def _map_numbers(run: Run, after: int) -> list[list[Any]]:
    """Return the numbers of the maps beyond frame ``after`` as ``[arm, step, key, value]``."""
    scalars = maps.scalars(run.folder, after)
    return [
        [scalar.arm, scalar.step, scalar.key, scalar.value]
        for scalar in scalars
        if finite_number(scalar.value) is not None
    ]


def _keys(run: Run, keys: set[str]) -> dict[str, Json]:
    """Name, title and unit of each key."""
    measures = kind_of(run.config).measures_of(run.config)
    levels = () if run.probe is None else tuple(run.probe.hierarchy.levels)
    return {key: measures.key_json(key, levels) for key in sorted(keys)}
