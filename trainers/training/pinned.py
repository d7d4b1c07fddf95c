"""The images of a run stay the same: the commit of a Hub dataset that it reads from its first start on, as do all runs
of a plan that read the same; and how many a checkpoint was trained on, with which labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from trainers.config import DataChoice, SceneChoice
from trainers.errors import RunError
from trainers.runs import RunFolder

Images = TypeVar("Images", DataChoice, SceneChoice)


def pinned(folder: RunFolder, choice: Images) -> Images:
    """Return what a run reads, at the commit of its first start or of its plan's, if there is one."""
    plan = _plan(folder, choice)
    revision = folder.revision or ("" if plan is None else plan.revision)
    return choice.at(revision) if revision else choice


def pin(folder: RunFolder, choice: DataChoice | SceneChoice, revision: str) -> None:
    """Keep the commit that was read, unless one is kept already; empty: it is not of the Hub."""
    if not revision or folder.revision:
        return
    folder.pin(revision)
    folder.log(f"data: {choice.source} at commit {revision}")
    plan = _plan(folder, choice)
    if plan is not None and not plan.revision:
        plan.pin(revision)


def _plan(folder: RunFolder, choice: DataChoice | SceneChoice) -> RunFolder | None:
    """Return the plan that a run is part of, whose runs read one commit; None: none, or they vary the images."""
    root = folder.path.parent
    if not folder.part_of or not (root / folder.part_of).is_dir():
        return None
    plan = RunFolder(root / folder.part_of)
    try:
        planned = [_dataset(value) for value in vars(plan.config.single).values()]
    except RunError:  # a damaged plan does not stop its runs
        return None
    return plan if _dataset(choice) in planned else None


def _dataset(choice: object) -> tuple[str, str | None] | None:
    if isinstance(choice, DataChoice):
        return choice.source, choice.revision
    return (choice.source, None) if isinstance(choice, SceneChoice) else None


@dataclass(frozen=True, kw_only=True)
class TrainedOn:
    """The training images of a run.

    Attributes:
        images: how many there are.
        labels: hexadecimal, equal where their labels are, label noise included.
    """

    images: int
    labels: str

    @classmethod
    def of(cls, labels: Tensor) -> TrainedOn:
        """Make it from labels int64 ``[N, L]``."""
        digest = hashlib.blake2b(labels.contiguous().numpy().data, digest_size=16)
        return cls(images=len(labels), labels=digest.hexdigest())

    def about(self) -> dict[str, object]:
        """Return what a checkpoint says of them."""
        return {"trained_on": self.images, "trained_labels": self.labels}

    def check(self, about: Mapping[str, object], run: str) -> None:
        """Refuse other images than those of a checkpoint: its rows would mean other ones; and other labels.

        Args:
            about: what the checkpoint says; one of an older version says less.

        Raises:
            RunError: they are others.
        """
        before = about.get("trained_on", self.images)
        if before != self.images:
            raise RunError(
                f"Run {run} has been trained on {before} images, and now there are {self.images}. Restore the images "
                "as they were, or start a new run."
            )
        if about.get("trained_labels", self.labels) != self.labels:
            raise RunError(
                f"Run {run} has been trained with other labels of its {self.images} images. Restore the images and "
                "their hard conditions as they were, or start a new run."
            )
