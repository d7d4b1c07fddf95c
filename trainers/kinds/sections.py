"""The sections of the settings of a kind of run, by which the page's form and the command line's flags are grouped."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the settings.

    Attributes:
        names: of its settings, in order; of a setting within another one ``data.subset``.
        title: its heading; empty: none.
        folded: it is rarely needed: the page opens it by its heading, the command line has it after the others.
        about: a sentence below it on the page.
    """

    names: Sequence[str]
    title: str = ""
    folded: bool = False
    about: str = ""


READ = (
    "image_column",
    "label_columns",
    "hierarchy",
    "train_split",
    "test_split",
    "held_out",
    "subset",
    "name_encoding",
    "max_images",
)
"""Settings of :class:`trainers.config.DataChoice` on how images are read."""
HARD = ("label_noise", "noise_kind", "withheld_classes", "withheld_images")
"""Hard conditions with a field; folds are for searches, which set them themselves."""
IMAGES = Section(names=("data.source",), title="Images")
READING = Section(names=tuple(f"data.{name}" for name in READ), title="How the images are read", folded=True)
START = Section(names=("start",), title="Start from another run", folded=True)
CONDITIONS = Section(names=tuple(f"data.conditions.{name}" for name in HARD), title="Hard conditions", folded=True)
SPEED = Section(names=("chunk", "checkpointing", "precision", "channels_last"), title="Memory and speed", folded=True)
TOGETHER = dataclasses.replace(SPEED, names=(*SPEED.names, "processes"))
"""Of kinds of which several processes train a run."""
MORE = "Batch, learning rate and more"
