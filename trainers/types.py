"""Values that cross boundaries: frozen, keyword-only dataclasses, never dicts of strings."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainers.errors import ParameterError

Json = Any
MAX_LOSSES = 4


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """The label tree. Level 0 is the finest.

    Attributes:
        levels: name of each level, finest first, e.g. ``("product", "kind", "aisle")``.
        names: for each level, the name of every class id at that level. Ids are unique across parents: two images
            that agree at a level agree at every coarser one.
    """

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]

    @property
    def depth(self) -> int:
        """Number of levels L."""
        return len(self.levels)


@dataclass(frozen=True, kw_only=True)
class LossChoice:
    """A loss by catalogue name, with the parameters that differ from its defaults."""

    name: str
    parameters: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class DataChoice:
    """Which images, and how to read them. None means: find out.

    Attributes:
        source: a catalogue name (``drawn``), a folder, or a Hub id (``owner/name``).
        subset: configuration name of a Hub set.
        revision: commit or tag of a Hub set.
        image_column, label_columns: column names; labels finest first.
        train_split, test_split: split names.
        max_images: cap on the images read from each split.
        image_size: side in pixels of the resident square images.
        seed: of the drawn world, the class-disjoint split and the row cap.
    """

    source: str = "drawn"
    subset: str | None = None
    revision: str | None = None
    image_column: str | None = None
    label_columns: tuple[str, ...] | None = None
    train_split: str | None = None
    test_split: str | None = None
    max_images: int = 20_000
    image_size: int | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides a run: one dataset, one encoder, one to four losses trained in lockstep.

    Attributes:
        steps, minutes: the budget; whichever is reached first ends the run. At least one is set.
        dim: embedding dimension D.
        probe_size: number of test images that the maps show.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        threads: CPU threads for torch; None leaves torch's choice.
    """

    data: DataChoice = field(default_factory=DataChoice)
    losses: tuple[LossChoice, ...] = (LossChoice(name="smooth_ap"), LossChoice(name="happier"))
    encoder: str = "small_conv"
    encoder_parameters: Mapping[str, Json] = field(default_factory=dict)
    dim: int = 64
    sampler: str = "m_per_class"
    classes_per_batch: int = 16
    images_per_class: int = 4
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    steps: int | None = None
    minutes: float | None = 3.0
    seed: int = 0
    probe_size: int = 1500
    device: str = "auto"
    threads: int | None = None

    def to_json(self) -> str:
        """Canonical JSON text, the content of ``config.json``."""
        return json.dumps(dataclasses.asdict(self), indent=2, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> RunConfig:
        """Read :meth:`to_json`'s text.

        Raises:
            ParameterError: the text is not a configuration of this version.
        """
        try:
            values = json.loads(text)
            data = values.pop("data")
            if data.get("label_columns") is not None:
                data["label_columns"] = tuple(data["label_columns"])
            losses = tuple(LossChoice(**loss) for loss in values.pop("losses"))
            return cls(data=DataChoice(**data), losses=losses, **values)
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise ParameterError(f"A run configuration was needed; this one cannot be read: {error}.") from error
