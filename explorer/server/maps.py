"""The maps of a run in words and numbers: frames for the page and the exports, and the refined map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explorer.server.run import Run
from trainers.errors import RunError
from trainers.metrics import describe
from trainers.metrics.catalogue import maps
from trainers.retrieval.probe_results import equal_by_arm, sentence
from trainers.runs import RunFolder
from trainers.runs.maps import FrameRow
from trainers.runs.records import PHASES, REFINED, Scalar, snapshot_of
from trainers.runs.regular import is_regular

FIGURES = (maps.TRUSTWORTHINESS, maps.CONTINUITY, maps.AGREEMENT)
"""Numbers under the title of a map, beside the neighbours it keeps and how far it moved."""
TELLING = 0.8
"""Label trustworthiness or continuity below which a sentence says so: docs/page.md has the measurements."""
REFINED_PREFIX = "refined_"
Json = dict[str, Any]


def figures_json() -> list[Json]:
    """Describe each of :data:`FIGURES`; ``levels``: it has a value for each level of the label tree."""
    described = [describe(key) for key in FIGURES]
    return [
        {"key": figure.key, "short": figure.short, "sentence": figure.sentence, "levels": figure.measure.each_level}
        for figure in described
    ]


def frames(folder: RunFolder, after: int = -1) -> list[list[int]]:
    """Return ``[k, step]`` of the frames beyond ``after``, oldest first; the refined one last, ``[k, step, 1]``."""
    pairs = [list(pair) for pair in folder.frame_steps(after)]
    last = folder.refined_frame()
    return pairs if last is None or last[0] <= after else [*pairs, [*last, 1]]


def newest(folder: RunFolder) -> int | None:
    """Return the version of the last of :func:`frames`."""
    last = folder.refined_frame()
    return folder.newest_map() if last is None else last[0]


def arms_json(run: Run, k: int, rows: list[FrameRow]) -> list[Json]:
    """Describe the map of each arm at frame ``k``; of a refined map also ``before``, what it was made from."""
    levels = () if run.probe is None else tuple(run.probe.hierarchy.levels)
    measures = run.folder.map_numbers.of(k)
    equal, images = equal_by_arm(run.folder, snapshot_of(k)), 0 if run.probe is None else len(run.probe.labels)
    arms = [
        _arm(row, measures.get(i, {}), levels)
        | {"equal": sentence(equal[i], images) if i < len(equal) else "", "chance": _chance(images)}
        for i, row in enumerate(rows)
    ]
    if k < REFINED:
        return arms
    old = arms_json(run, snapshot_of(k), run.folder.frame_rows(snapshot_of(k)))
    return [arm | {"before": before} for arm, before in zip(arms, old, strict=True)]


def remarks(measures: Mapping[str, float], level: int, name: str) -> list[str]:
    """Return sentences where a map misleads about the classes of a level.

    Args:
        measures: of the map.
        name: of the level.
    """
    hidden = 1 - measures.get(maps.at_level(maps.TRUSTWORTHINESS, level), 1.0)
    shown = 1 - measures.get(maps.at_level(maps.CONTINUITY, level), 1.0)
    sentences = []
    if 1 - shown < TELLING:
        sentences.append(
            f"Classes look further apart than they are in the space: separation of pairs at level {name} is "
            f"{shown:.2f} too high on average, on a scale from 0 to 1. A tidy map is no proof of a better loss here."
        )
    if 1 - hidden < TELLING:
        sentences.append(
            f"Classes that are apart in the space overlap on the map: separation of pairs at level {name} is "
            f"{hidden:.2f} too low on average, on a scale from 0 to 1."
        )
    return sentences


def scalars(folder: RunFolder, after: int = -1) -> list[Scalar]:
    """Return the numbers of the maps beyond frame ``after``, oldest frame first; keys of a refined map begin with
    :data:`REFINED_PREFIX`.
    """
    numbered = []
    for k, step, seconds, arm, quality, drift in folder.frame_numbers(after):
        for key, value in ((maps.KEPT, quality), (maps.MOVE, drift)):
            if value is not None:
                numbered.append((k, Scalar(arm=arm, step=step, seconds=seconds, key=_key(k, key), value=value)))
    for number in folder.map_numbers.after(after):
        scalar = Scalar(
            arm=number.arm, step=number.step, seconds=number.seconds, key=_key(number.k, number.key), value=number.value
        )
        numbered.append((number.k, scalar))
    return [scalar for _, scalar in sorted(numbered, key=lambda pair: pair[0])]


def refinement(run: Run) -> str:
    """Return where the refined map of a run stands: ``made``, ``awaited``, ``offered`` or empty."""
    folder = run.folder
    phase = folder.state().phase
    if PHASES[phase].moving:
        return ""
    if folder.refined_frame() is not None:
        return "made"
    last = folder.newest_map()
    if last is None or not folder.writable or not is_regular(folder.embeddings_path(last)):
        return ""
    if any(row.method != "umap" for row in folder.frame_rows(last)):
        return ""
    numbers = folder.map_numbers
    return "awaited" if numbers.wished(last) or (phase == "finished" and numbers.of(last)) else "offered"


def ask_refined(folder: RunFolder) -> str:
    """Ask for the refined map of a run; returns a sentence.

    Raises:
        RunError: the run trains or waits, or has no map.
    """
    last = folder.newest_map()
    phase = folder.state().phase
    if PHASES[phase].moving:
        raise RunError(f"The map of a run is refined once it has ended; this one is {phase}. Stop it first, or wait.")
    if last is None:
        raise RunError(f"The run {folder.id} has no map to refine.")
    folder.map_numbers.wish(last)
    return "The last map gets more epochs; it moves when they are done."


def _key(k: int, key: str) -> str:
    return f"{REFINED_PREFIX}{key}" if k >= REFINED else key


def _chance(images: int) -> float:
    """Return the share of neighbours that a map of so many images keeps by chance; 1: any map keeps all."""
    return min(1.0, maps.NEAREST / (images - 1)) if images > 1 else 1.0


def _arm(row: FrameRow, measures: Mapping[str, float], levels: tuple[str, ...]) -> Json:
    def value(key: str) -> Any:
        if not describe(key).measure.each_level:
            return measures.get(key)
        return [measures.get(maps.at_level(key, level)) for level in range(len(levels))]

    return {
        "quality": row.quality,
        "drift": row.drift,
        "method": row.method,
        "floor": measures.get(maps.NOISE_FLOOR),
        "measures": {key: value(key) for key in FIGURES},
        "remarks": [remarks(measures, level, name) for level, name in enumerate(levels)],
    }
