"""What decides a run: frozen, keyword-only dataclasses, read from and written to ``config.json``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainers.errors import ParameterError
from trainers.typed import check_types

Json = Any
MAX_LOSSES = 4
OPTIMISERS = ("adamw", "adam")
CLIPPED_BEFORE = 10.0  # runs written before clipping was a setting were all clipped there, and go on as they began


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
class SceneChoice:
    """Which photos with sentences, and how to read them.

    Attributes:
        source: ``drawn_scenes``, a folder, or a Hub id.
        captions_from: another set with the sentences, joined by image id; None: the same one.
        limit: most photos read from each split; None: all.
        parameters: of the drawn scenes, those that differ from their defaults.
    """

    source: str = "drawn_scenes"
    captions_from: str | None = None
    limit: int | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """An image-text model by catalogue name, with the parameters that differ from its defaults."""

    name: str = "tiny_clip"
    parameters: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MendChoice:
    """A run that fine-tunes an image-text model on photos and on object-removed photos (Kim et al. 2023, 3.3).

    Attributes:
        recipes: for each arm the parameters of :class:`trainers.kinds.finetuning.recipes.Recipe` that differ from its
        defaults. batch: pairs of a photo and a sentence in a step.
        queries: object-removed test photos scored while it trains; at the end all of them are.
        gallery: sentences they are scored against while it trains; at the end all of them.
    """

    scenes: SceneChoice = field(default_factory=SceneChoice)
    model: ModelChoice = field(default_factory=ModelChoice)
    recipes: tuple[Mapping[str, Json], ...] = ({},)
    batch: int = 128
    queries: int = 200
    gallery: int = 4000


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides a run: one dataset, one encoder, one to four losses trained in lockstep.

    With ``mend`` it decides a fine-tuning instead; of the rest, optimiser, learning rate and its halving, weight decay,
    clipping, budget, seed, snapshot steps, device and threads then hold.

    Attributes:
        optimiser: one of :data:`OPTIMISERS`. ``adam`` adds the weight decay to the gradient.
        halve_every: epochs after which the learning rate is halved, again and again; None: warm-up and a half cosine.
        steps, minutes, epochs: the budget; whichever is reached first ends the run. At least one is set. An epoch is
            as many steps as show every training image, or every pair of the largest recipe, once.
        dim: embedding dimension D.
        clip_norm: longest gradient of an arm, as L2 norm over all its weights; None: none is clipped.
        memory: embeddings of earlier batches kept for the losses that take a gallery; 0: as each loss wants.
        memory_after: steps before the memory is used: while the encoder still moves fast, what it remembers misleads.
        probe_size: number of test images that the maps show.
        snapshot_steps: steps between two frames; None: as fast as the map moves, see :mod:`trainers.training.pace`.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        threads: CPU threads for torch; None leaves torch's choice.
    """

    data: DataChoice = field(default_factory=DataChoice)
    losses: tuple[LossChoice, ...] = (LossChoice(name="smooth_ap"), LossChoice(name="happier"))
    encoder: str = "conv4"
    encoder_parameters: Mapping[str, Json] = field(default_factory=dict)
    dim: int = 64
    sampler: str = "m_per_class"
    classes_per_batch: int = 32
    images_per_class: int = 4
    optimiser: str = "adamw"
    halve_every: float | None = None
    learning_rate: float = 4e-3
    weight_decay: float = 1e-4
    clip_norm: float | None = None
    memory: int = 0
    memory_after: int = 300
    steps: int | None = None
    minutes: float | None = 3.0
    epochs: float | None = None
    seed: int = 0
    probe_size: int = 1500
    snapshot_steps: int | None = None
    device: str = "auto"
    threads: int | None = None
    mend: MendChoice | None = None

    @property
    def arms(self) -> int:
        """How many models train in lockstep."""
        return len(self.losses if self.mend is None else self.mend.recipes)

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
            mend = _mend(values.pop("mend", None))
            values.setdefault("clip_norm", CLIPPED_BEFORE)
            config = cls(data=DataChoice(**data), losses=losses, mend=mend, **values)
            check_types(config)
            return config
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ParameterError(f"A run configuration was needed; this one cannot be read: {error}.") from error


def _mend(values: Mapping[str, Any] | None) -> MendChoice | None:
    if values is None:
        return None
    plain = dict(values)
    scenes, model = SceneChoice(**plain.pop("scenes")), ModelChoice(**plain.pop("model"))
    return MendChoice(scenes=scenes, model=model, recipes=tuple(plain.pop("recipes")), **plain)
