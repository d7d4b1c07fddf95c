"""Makes a run of images alone: the map of the published encoder that comes with the program, with nearest images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from trainers.brought.writer import BroughtRun
from trainers.config import DataChoice
from trainers.data import load_data
from trainers.encoders import ENCODERS, shipped
from trainers.encoders.published import SHIPPED
from trainers.errors import UserError
from trainers.progress import Progress, silent
from trainers.runs import RunFolder
from trainers.runs.label import NAME, Label, write_label
from trainers.untrained.ways.base import Setting
from trainers.untrained.ways.features import embed

QUICKLY = 300
"""Images that are read of each part of a dataset: two cores read 31 a second."""
WITH_CLASSES = (
    "These images have no classes, so this is the map of a published encoder as it is, with its nearest images. With "
    "classes, a folder for each or a table that names them, losses can be trained on them, and R@1, AP and mistakes "
    "say how well each of them finds what belongs together."
)


def open_images(
    root: Path, source: str, *, name: str = "", most: int = QUICKLY, tell: Progress = silent
) -> tuple[RunFolder, Callable[[], None]]:
    """Begin a run that shows images by the features of the encoder that comes with the program.

    Args:
        root: folder of the runs.
        source: a folder, a zip file or a Hub dataset, with classes or without.
        name: of the run; empty: that of the images.
        most: images of each part of it; of more a random choice.
        tell: told what is read, and the fraction; it may raise to give up.

    Returns:
        the run, whose images can be seen, and what reads their features and ends it.

    Raises:
        UserError: the images cannot be read, or the encoder cannot be had.
    """
    if lacks := ENCODERS[SHIPPED.frozen.name].lacking(SHIPPED.frozen.parameters):
        raise UserError(lacks)
    data = load_data(DataChoice(source=source, held_out="images", image_size=SHIPPED.read, max_images=most), tell)
    images = torch.cat([data.train.images, data.test.images])
    labels = torch.cat([data.train.labels, data.test.labels])
    tree, title = data.hierarchy, name or data.title
    levels = {
        level: [names[label] for label in column]
        for level, names, column in zip(tree.levels, tree.names, labels.T.tolist(), strict=True)
    }
    notes = (*(() if data.labelled else (WITH_CLASSES,)), *data.notes)
    given = [image.numpy() for image in images]
    run = BroughtRun(root, title, [shipped.TITLE], levels if data.labelled else {}, given, len(given), notes=notes)
    write_label(run.folder.path, Label(name=" ".join(title.split())[:NAME]))

    def finish() -> None:
        try:
            run.features = embed(images, Setting(progress=run.tell))
            run.snapshot(0, [run.features])
        except Exception as error:
            run.finish(str(error) or type(error).__name__)
            raise
        run.finish()

    return run.folder, finish
