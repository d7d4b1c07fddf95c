"""The contents of a run folder as values: state, numbers, probe, snapshots and frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trainers.hierarchy import Hierarchy

REFINED = 1_000_000
"""Added to the version of a snapshot it is that of the refined map; no run has as many snapshots."""
STAGE = "stage/"
"""Before the title of a stage: key of the number, counted from 0, that each arm has at the step where it begins."""


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """One number of one arm at one step. ``seconds`` is training time, pauses left out."""

    arm: int
    step: int
    seconds: float
    key: str
    value: float


@dataclass(frozen=True, kw_only=True)
class RunState:
    """The state of a run, as the page shows it.

    Attributes:
        phase: one of :data:`PHASES`.
        step, seconds: training done so far.
        planned_steps: estimate or limit of the run's steps; None while unknown.
        message: what it is doing, in words (``decoding images, 40 %``).
        error: why it failed; None otherwise.
        updated: wall clock of the last change, seconds since the epoch.
    """

    phase: str
    step: int = 0
    seconds: float = 0.0
    planned_steps: int | None = None
    message: str = ""
    error: str | None = None
    updated: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A phase of a run.

    Attributes:
        label: as printed.
        active: a trainer works on it.
        moving: it is active or waits for a trainer; else it has ended.
        begun: its steps are worth telling.
        usable: its models can be used.
        acts: what the page offers to do with it: ``pause``, ``resume``, ``stop``.
    """

    label: str
    active: bool = False
    moving: bool = False
    begun: bool = True
    usable: bool = False
    acts: tuple[str, ...] = ()


BETWEEN_SLICES = "between slices"
"""Phase of a run that trains for a few seconds at a time, with its checkpoint written and no trainer."""
PHASES = {
    "queued": Phase(label="waiting", moving=True, begun=False, acts=("stop",)),
    "starting": Phase(label="getting ready", active=True, moving=True, begun=False, acts=("stop",)),
    "running": Phase(label="training", active=True, moving=True, acts=("pause", "stop")),
    "paused": Phase(label="paused", active=True, moving=True, acts=("resume", "stop")),
    BETWEEN_SLICES: Phase(label="between slices", moving=True, usable=True, acts=("resume", "stop")),
    "stopped": Phase(label="stopped", usable=True, acts=("resume",)),
    "finished": Phase(label="finished", usable=True),
    "failed": Phase(label="failed", acts=("resume",)),
    "interrupted": Phase(label="interrupted", acts=("resume",)),
}
ACTIVE = frozenset(name for name, phase in PHASES.items() if phase.active)


PARTS = {"test": "test images", "train": "training images"}
"""The names of the parts of a dataset; the first is the part that maps show if not told otherwise."""


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """An attribute of the images of the probe beside their classes, such as the background.

    Attributes:
        values: int32 numpy array ``[P]``, ids into ``names``.
        ringed: the value whose images get a ring on the maps; None: none do.
        level: the values are classes of this level of the tree; None: they are of no level.
    """

    name: str
    names: tuple[str, ...]
    values: Any
    ringed: int | None = None
    level: int | None = None


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The fixed images that the maps show: point i of every frame of every arm is row i.

    Attributes:
        labels: int32 numpy array ``[P, L]``, finest first, ids into ``hierarchy.names``.
        rows: int64 numpy array ``[P]``, row of each point in ``part``.
        hierarchy: the label tree.
        data_title: name of the dataset as shown.
        notes: sentences about how the data was read.
        fingerprint: of the images and labels of the dataset, see :class:`trainers.data.base.LoadedData`; empty in runs
            of older versions.
        tile: side in pixels of one thumbnail; ``columns`` x ``columns`` tiles fill a sheet.
        sheets: number of thumbnail sheets, ``thumbs/000.webp`` on; point i is tile ``i % columns**2`` (row-major)
            of sheet ``i // columns**2``.
        attributes: what is known of the images beside their classes.
        part: of the dataset, one of :data:`PARTS`; labels of training images are without label noise.
        files: name of the file of each image below the folder of the dataset; nothing where they have none.
    """

    labels: Any
    rows: Any
    hierarchy: Hierarchy
    data_title: str
    notes: tuple[str, ...] = ()
    fingerprint: str = ""
    tile: int = 64
    columns: int = 12
    sheets: int = 0
    attributes: tuple[Attribute, ...] = ()
    part: str = "test"
    files: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class QueryScores:
    """Every metric of every query of the evaluation on the whole test set that ends a run.

    Attributes:
        metrics: names, as :func:`trainers.metrics.evaluate` takes them.
        values: float32 numpy array ``[A, M, Q]``, arms by metrics by queries; NaN where a metric is undefined.
        labels: int32 numpy array ``[Q]``, finest class of each query.
        rows: int64 numpy array ``[Q]``, row of each query in the test set, ascending.
        images: of the test set; where they are more than Q, the queries are a fixed random subset of them.
        fingerprint: of the test images, see :func:`trainers.data.labelled.dataset_cache.image_fingerprint`.
    """

    metrics: tuple[str, ...]
    values: Any
    labels: Any
    rows: Any
    images: int
    fingerprint: str

    def of(self, arm: int) -> QueryScores:
        """Return the results of one arm."""
        return replace(self, values=self.values[arm : arm + 1])


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Embeddings of the probe at one step: for each arm a float16 array ``[P, D]``, unit rows."""

    k: int
    step: int
    seconds: float
    embeddings: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class FrameArm:
    """One arm's map at one snapshot.

    Attributes:
        xy: uint16 ``[P, 2]``; a coordinate u stands for ``(u / 65535 * 2 - 1) * limit``.
        neighbours: int32 ``[P, K]`` nearest points in the full space, nearest first, the point itself left out.
        quality: mean share of the 15 nearest neighbours in the full space that are among the 15 nearest on the map.
        drift: median move since the frame before, in standard deviations of the layout.
        method: ``umap`` or ``pca``.
        measures: what else is known of the map, by key as in :mod:`trainers.metrics.catalogue.maps`; empty in runs of
            older versions.
    """

    xy: Any
    neighbours: Any
    quality: float
    drift: float
    method: str
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The maps of all arms at snapshot ``k``; ``limit`` is the half-width of the fixed axis box.

    A run that has ended may have a second map of its last snapshot, made from the first with more epochs: its ``k`` is
    :func:`refined` of the snapshot's.
    """

    k: int
    step: int
    seconds: float
    limit: float
    arms: tuple[FrameArm, ...]


def refined(k: int) -> int:
    """Return the version of the refined map of snapshot ``k``."""
    return k % REFINED + REFINED


def snapshot_of(k: int) -> int:
    """Return the version of the snapshot that the map ``k`` shows, refined or not."""
    return k % REFINED
