"""The k nearest images of every query of a run's probe, its metrics, and embeddings that have collapsed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from trainers.config import Config
from trainers.data.lru_cache import Cache
from trainers.data.roles import Roles
from trainers.errors import RunError, UserError
from trainers.kinds import arm_titles, diagnoses, kind_of
from trainers.metrics.neighbours import nearest_images
from trainers.metrics.scores import score_roles
from trainers.runs.reader import RunReader
from trainers.runs.records import Probe
from trainers.runs.regular import is_regular


def check_single(run: str, config: Config) -> None:
    """Raise UserError if the run of this id is no single one but a plan of several."""
    if said := kind_of(config).no_images:
        raise UserError(f"Run {run} {said}")


def probe_of(folder: RunReader) -> Probe:
    """Return the probe of a run.

    Raises:
        UserError: it is a plan of several runs.
        RunError: its images are not read yet, or have no labels.
    """
    probe = folder.probe()
    if probe is None or not probe.hierarchy.levels:
        check_single(folder.id, folder.config)
        raise RunError(f"The run {folder.id} has no images with labels yet.")
    return probe


def labelled_probe_of(folder: RunReader) -> Probe:
    """Return the probe of a run, of more than one class.

    Raises:
        RunError: its images are not read yet, or are all of one class, as those without labels are.
    """
    probe = probe_of(folder)
    if all(len(names) < 2 for names in probe.hierarchy.names):
        raise RunError(f"The images of run {folder.id} have no classes, so no result of theirs is a mistake.")
    return probe


def roles_of(probe: Probe) -> Roles | None:
    """Return which images of a probe are queries and which the gallery; None: they are not divided."""
    known = {attribute.name: attribute for attribute in probe.attributes}
    return Roles.of(
        {name: attribute.values for name, attribute in known.items()},
        {name: attribute.names for name, attribute in known.items()},
    )


def probe_embeddings(folder: RunReader, k: int) -> tuple[np.ndarray | None, ...]:
    """Read the embeddings of every arm at snapshot ``k``, float32 ``[P, D]``; None: they are not all finite, as the
    arm's training diverged.

    Raises:
        RunError: they are not kept, or those of every arm hold numbers that are not finite.
    """
    if not is_regular(folder.embeddings_path(k)):
        raise RunError(f"The run {folder.id} keeps no embeddings of frame {k}; choose its last frame.")
    return tuple(None if arm is None else arm.astype(np.float32) for arm in _finite(folder, k))


def _finite(folder: RunReader, k: int) -> list[np.ndarray | None]:
    """Return the embeddings of each arm as they are stored, None where some are not finite."""
    arms = [arm if np.isfinite(arm).all() else None for arm in folder.embeddings(k)]
    if all(arm is None for arm in arms):
        raise RunError(f"The embeddings of frame {k} of run {folder.id} are not numbers: its training diverged.")
    return arms


def newest_embeddings(folder: RunReader) -> int:
    """Return the number of the newest frame, or snapshot of a run without frames, whose embeddings are kept.

    Raises:
        UserError: it is a plan of several runs.
        RunError: there is none.
    """
    drawn = set(folder.frames())
    kept = [k for k, _, _ in reversed(folder.snapshots()) if is_regular(folder.embeddings_path(k))]
    if not kept:
        check_single(folder.id, folder.config)
        raise RunError(f"The run {folder.id} keeps no embeddings.")
    return next((k for k in kept if k in drawn), kept[0])


def probe_results(folder: RunReader, k: int, count: int) -> list[np.ndarray | None]:
    """Return the ids ``[P, count]`` of the results of every probe image in every arm, at frame ``k``.

    They are searched by the embeddings, of queries and a gallery among the gallery; where embeddings are not kept, they
    are those stored with the frame. An arm whose embeddings are not all finite has None: its map holds no results.

    Raises:
        RunError: there is no such frame, it keeps too few results and no embeddings, or no arm has results.
    """
    probe = probe_of(folder)
    labels, roles = probe.labels, roles_of(probe)
    if is_regular(folder.embeddings_path(k)):
        arms = probe_embeddings(folder, k)
        return [None if arm is None else nearest_images(torch.from_numpy(arm), labels, count, roles) for arm in arms]
    stored = [arm.neighbours for arm in folder.frame(k).arms]
    if roles is not None:
        raise RunError(
            f"Frame {k} of run {folder.id} keeps no embeddings to search the gallery with. Choose the last frame."
        )
    most = min(count, len(labels) - 1)
    if any(ids.shape[1] < most for ids in stored):
        raise RunError(
            f"Frame {k} of run {folder.id} keeps {stored[0].shape[1]} results of each image and no embeddings; "
            f"got {count}. Choose fewer results, or the last frame."
        )
    return [ids[:, :most] for ids in stored]


METRICS = ("R_at_1", "AP", "HAP", "NDCG")


@dataclass(frozen=True, kw_only=True)
class ArmMetrics:
    """Metrics of the queries under one arm.

    Attributes:
        run: id; arm: from 0; title: of the arm.
        values: metric name to float64 ``[Q]``, NaN where a query has nothing to find, or an image is no query.
    """

    run: str
    arm: int
    title: str
    values: dict[str, np.ndarray]


def query_metrics(
    folder: RunReader, k: int, metrics: Sequence[str] = METRICS, points: np.ndarray | None = None
) -> list[ArmMetrics]:
    """Compute metrics of every probe image as a query against the others, or of the queries against the gallery, at
    frame ``k``; arms that diverged are left out.

    Args:
        metrics: any of :data:`trainers.metrics.METRICS`, numbers filled in.
        points: int64 ``[Q]``, the images that are queries and gallery; None: the whole probe.

    Raises:
        UserError: a metric is unknown, or the frame keeps no embeddings, or those of no arm are finite.
    """
    probe = labelled_probe_of(folder)
    labels, roles = torch.from_numpy(probe.labels).long(), roles_of(probe)
    chosen = slice(None) if points is None else torch.from_numpy(points)
    roles = roles if roles is None or points is None else roles.take(points)
    results = []
    for arm, (title, rows) in enumerate(zip(arm_titles(folder.config), probe_embeddings(folder, k), strict=True)):
        if rows is None:
            continue
        vectors = torch.from_numpy(rows)[chosen]
        values = score_roles(vectors, labels[chosen], roles, metrics).values
        results.append(ArmMetrics(run=folder.id, arm=arm, title=title, values=values))
    return results


MANY = 0.5
"""Share of images with the embedding of another one from which on it is said."""
_SPREAD = 1e-6  # of the cosine with the mean; that of one embedding stored in 16 bits is about 1e-7
_NOTHING: tuple[int, ...] = ()
_counted: Cache[tuple[int, ...]] = Cache(limit=1024)


def equal_images(embeddings: np.ndarray) -> int:
    """Count the images whose embedding is that of another image, to within rounding: 0 to P.

    Args:
        embeddings: float ``[P, D]``, raw. Those that are not all finite are equal to none.
    """
    if len(embeddings) < 2 or not np.isfinite(embeddings).all():
        return 0
    unit = functional.normalize(torch.from_numpy(embeddings.astype(np.float64)), dim=1, eps=1e-12)
    mean = functional.normalize(unit.mean(dim=0), dim=0, eps=1e-12)
    if not unit.any() or float((unit @ mean).min()) >= 1 - _SPREAD:
        return len(embeddings)
    _, inverse, counts = np.unique(unit.half().numpy(), axis=0, return_inverse=True, return_counts=True)
    return int((counts[inverse.ravel()] > 1).sum())


def equal_by_arm(folder: RunReader, k: int) -> tuple[int, ...]:
    """Return :func:`equal_images` of each arm at snapshot ``k``; empty: its embeddings are not kept.

    Raises:
        RunError: they are damaged.
    """
    path = folder.embeddings_path(k)
    if not is_regular(path):
        return _NOTHING
    key = (path, path.stat().st_mtime_ns)
    return _counted.get(key, lambda: tuple(equal_images(arm) for arm in folder.embeddings(k)))


def sentence(equal: int, images: int) -> str:
    """Say that embeddings have collapsed; empty where they have not.

    Args:
        equal: of :func:`equal_images`; images: P.
    """
    if images < 2 or equal < MANY * images:
        return ""
    which = (
        f"The embeddings have collapsed: all {images:,} images on the map have the same one"
        if equal == images
        else f"{equal:,} of the {images:,} images on the map have the same embedding as another one"
    )
    return f"{which}. Of equally similar results the less related count first, in numbers and in lists."


def diagnosed(config: Config, folder: RunReader) -> list[list[str]]:
    """Return for every arm of a run what :func:`trainers.kinds.diagnoses` says, and first whether it has collapsed."""
    said = diagnoses(config, folder)
    stored = folder.snapshots() if said else []
    equal = equal_by_arm(folder, stored[-1][0]) if stored else _NOTHING
    probe = folder.probe() if any(equal) else None
    if probe is None or len(equal) != len(said):
        return said
    first = [sentence(count, len(probe.labels)) for count in equal]
    return [[collapsed, *others] if collapsed else others for collapsed, others in zip(first, said, strict=True)]
