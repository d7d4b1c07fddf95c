"""The rows without training of a run that is there, for runs that have none yet, or lack the slow ones."""

from __future__ import annotations

import numpy as np
import torch

from trainers.config import DataChoice, EncoderConfig
from trainers.data import load_data
from trainers.errors import DataError, RunError, UserError
from trainers.kinds import kind_of
from trainers.metrics.names import joined, own_metrics
from trainers.progress import Progress, silent
from trainers.retrieval.untrained.words import without
from trainers.runs import RunFolder
from trainers.runs.untrained import JUDGED, Untrained
from trainers.training.pinned import pinned
from trainers.untrained.of_training import of_data, with_results
from trainers.untrained.scoring import TestSet, score_untrained
from trainers.untrained.ways.base import Setting


def score_run(folder: RunFolder, progress: Progress = silent) -> Untrained:
    """Read the images of a run, score every row that it lacks however long that takes, and write them beside it.

    Args:
        progress: told in words and as a fraction; it may raise to give up.

    Raises:
        UserError: the run keeps no labelled images, or they cannot be read, or have changed.
    """
    config = folder.config
    choice, probe = kind_of(config).images(config), folder.probe()
    if not isinstance(choice, DataChoice) or not isinstance(config, EncoderConfig):
        raise UserError(without(folder) or f"Run {folder.id} compares no labelled images.")
    if probe is None:
        raise RunError(f"The run {folder.id} has not read its images yet.")
    data = load_data(pinned(folder, choice), progress)
    if probe.part == "test" and probe.fingerprint not in ("", data.fingerprint):
        raise DataError(f"The images of run {folder.id} are others now than those that it was trained on.")
    if not data.labelled:
        raise UserError("These images have no classes, so no row without training can be scored.")
    shown = torch.from_numpy(probe.rows.astype(np.int64)) if probe.part == "test" else None
    test = of_data(data, shown, joined(own_metrics(data.test.labels.shape[1]), config.metrics))
    setting = Setting(encoder=config.encoder, progress=progress)
    record = score_untrained(test, setting, slow=True, known=folder.untrained())
    if not len(record.arms) and (arms := _ended_with(folder, test)) is not None:
        record = with_results(record, folder, test, arms)
    folder.write_untrained(record)
    if folder.writable:
        folder.db.set_state(folder.state())  # whoever follows the run looks again
    return record


def _ended_with(folder: RunFolder, test: TestSet) -> np.ndarray | None:
    """Return what the arms ended with on these images, of a run that kept every query; else None."""
    kept = folder.test_queries()
    if kept is None or not set(JUDGED) <= set(kept.metrics) or not np.array_equal(kept.rows, test.chosen.numpy()):
        return None
    places = [kept.metrics.index(metric) for metric in JUDGED]
    values: np.ndarray = kept.values[:, places]
    return values
