"""The rows without training of a run that trains: those that are quick before it, the others at its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from trainers.config import EncoderConfig
from trainers.data import named
from trainers.data.base import LoadedData
from trainers.data.photographs import LOOKED_AT, grey_drawings
from trainers.data.roles import Roles
from trainers.errors import RunError
from trainers.metrics.scores import score_roles
from trainers.progress import Progress
from trainers.runs import RunFolder
from trainers.runs.regular import is_regular
from trainers.runs.untrained import JUDGED, Untrained
from trainers.untrained.scoring import SECONDS, TestSet, score_untrained, stack_results
from trainers.untrained.ways.base import Setting


def of_data(data: LoadedData, probe: Tensor | None, names: Sequence[str]) -> TestSet:
    """Return what the rows of a run on these images are scored on; see :class:`TestSet`."""
    return TestSet(
        images=data.test.images,
        labels=data.test.labels,
        roles=Roles.of(data.test.attributes, data.attributes),
        probe=probe,
        mark=data.mark("test"),
        names=tuple(names),
        classes=len(torch.unique(data.train.truth[:, 0])),
    )


class UntrainedRows:
    """Writes the rows of one run.

    Args:
        test: what they are scored on.
        features: float ``[N, F]`` of all test images, which the run has read; None: it reads pixels.
        device: of the run.
    """

    def __init__(
        self, folder: RunFolder, config: EncoderConfig, test: TestSet, features: Tensor | None, device: torch.device
    ) -> None:
        self._folder, self._test = folder, test
        self._setting = Setting(encoder=config.encoder, features=features, device=device)
        of_catalogue = named(config.data.source) is not None
        self._slow = not of_catalogue and not grey_drawings(test.images[:LOOKED_AT])

    def begin(self) -> None:
        """Write the rows that are quick, unless they are written."""
        if self._known() is None:
            record = score_untrained(self._test, self._setting, slow=False)
            self._folder.write_untrained(record)
            for row in record.rows:
                self._folder.log(f"without training: {row.title}, R@1 {row.numbers.get('test/R_at_1', np.nan):.3f}")

    def end(self, arms: Sequence[np.ndarray], tell: Progress) -> None:
        """Write the other rows, and the run's own results.

        Args:
            arms: :data:`JUDGED` of each arm on the images of :attr:`TestSet.chosen`, ``[M, T]`` each.
            tell: told in words and as a fraction; it may raise to give up.
        """
        setting = dataclasses.replace(self._setting, seconds=SECONDS, progress=tell)
        record = score_untrained(self._test, setting, slow=self._slow, known=self._known())
        self._folder.write_untrained(with_results(record, self._folder, self._test, stack_results(arms)))

    def _known(self) -> Untrained | None:
        try:
            return self._folder.untrained()
        except RunError:  # damaged: it is written anew
            return None


def with_results(record: Untrained, folder: RunFolder, test: TestSet, arms: np.ndarray) -> Untrained:
    """Add what the arms of a run ended with, and on the images of the maps began with."""
    snapshots = [(k, step) for k, step, _ in folder.snapshots() if is_regular(folder.embeddings_path(k))]
    record = dataclasses.replace(record, arms=arms)
    if test.probe is None or len(snapshots) < 2 or snapshots[0][1]:
        return record
    first, last = (folder.embeddings(k) for k, _ in (snapshots[0], snapshots[-1]))
    if not all(np.isfinite(rows).all() for rows in (*first, *last)):
        return record
    known: dict[int, np.ndarray] = {}

    def scored(rows: np.ndarray) -> np.ndarray:
        key = hash(rows.tobytes())  # all arms begin as one
        if key not in known:
            known[key] = score_on(torch.from_numpy(rows.astype(np.float32)), test, test.probe)
        return known[key]

    return dataclasses.replace(record, before=stack_results(map(scored, first)), after=stack_results(map(scored, last)))


def score_on(embeddings: Tensor, test: TestSet, rows: Tensor | None) -> np.ndarray:
    """Return :data:`JUDGED` of some test images among each other, float64 ``[M, n]``, of their embeddings."""
    assert rows is not None
    roles = None if test.roles is None else test.roles.take(rows.numpy())
    values = score_roles(embeddings, test.labels[rows], roles, JUDGED).values
    return np.stack([values[name] for name in JUDGED])
