"""What the sidebar and the API ask for, turned into a checked run configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.page.controls import read
from explorer.page.parameter_panel import stored_values
from trainers.config import DataChoice, LossChoice, RunConfig
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.losses import LOSSES
from trainers.parameters import parameter
from trainers.training.validation import RANGES, check

_DEFAULT = RunConfig()


def _setting(name: str, help: str, **narrower: Any) -> Any:
    """A field of :class:`RunConfig` with its default and range; ``narrower``: what suits a slider better."""
    low, high = RANGES[name]
    return parameter(getattr(_DEFAULT, name), **{"low": low, "high": high, "help": help, **narrower})


@dataclass(frozen=True, kw_only=True)
class Training:
    """How to train; every loss of a comparison shares these."""

    minutes: float | None = _setting("minutes", "Training time; pauses and map drawing do not count.", low=0.05)
    steps: int | None = _setting("steps", "Ends the run earlier than its minutes; empty for no limit.", low=1)
    classes_per_batch: int = _setting(
        "classes_per_batch", "More classes give each image more to be told from.", high=128
    )
    images_per_class: int = _setting("images_per_class", "Ranking losses need several images of each class.", high=32)
    learning_rate: float = _setting(
        "learning_rate", "Size of the encoder's steps; lower it if the loss jumps.", low=1e-6, log=True
    )
    weight_decay: float = _setting("weight_decay", "Pull of the weights towards zero; 0 for none.", log=True)
    clip_norm: float | None = _setting(
        "clip_norm", "Longest gradient; it holds back some losses only. Empty: none is clipped."
    )
    dim: int = _setting("dim", "Numbers in each embedding.", high=2048, log=True)
    memory: int = _setting(
        "memory", "Embeddings of earlier batches to compare with too; 0 leaves it to the loss, mostly none."
    )
    memory_after: int = _setting("memory_after", "Steps before the memory is used; early on, old embeddings mislead.")
    seed: int = _setting("seed", "Same seed, same weights, batches and augmentation.")
    probe_size: int = _setting("probe_size", "Test images shown on the maps.", low=100, high=20_000, log=True)


MAIN = ("minutes",)
MORE = tuple(field.name for field in dataclasses.fields(Training) if field.name not in MAIN)


@dataclass(frozen=True, kw_only=True)
class Images:
    """Which images, as typed; an empty text means: find out.

    Attributes:
        source: catalogue name, Hub id or folder.
        label_columns: names, finest first; a text has commas between them.
    """

    source: str
    subset: str = ""
    image_column: str = ""
    label_columns: str | Sequence[str] = ()
    train_split: str = ""
    test_split: str = ""
    max_images: float | None = None

    def choice(self) -> DataChoice:
        """As the loader takes it."""
        words = self.label_columns.split(",") if isinstance(self.label_columns, str) else self.label_columns or ()
        labels = tuple(word.strip() for word in words if word.strip())
        source = (self.source or "").strip()
        if not source:
            raise ParameterError("A run needs images: choose a set, or type a Hub id or a folder.")
        limit = DataChoice().max_images if self.max_images is None else self.max_images
        if not 100 <= limit <= 1_000_000:
            raise ParameterError(f"Most images read per split needs 100 to 1000000; {limit:g} came.")
        return DataChoice(
            source=source,
            subset=_text(self.subset),
            image_column=_text(self.image_column),
            label_columns=labels or None,
            train_split=_text(self.train_split),
            test_split=_text(self.test_split),
            max_images=int(limit),
        )


@dataclass(frozen=True, kw_only=True)
class Form:
    """Everything that decides a run, before it is checked.

    Attributes:
        losses: catalogue names; ``loss_parameters`` goes with it, as the controls hold them.
        training: fields of :class:`Training`; missing ones take their defaults.
    """

    images: Images
    losses: Sequence[str]
    loss_parameters: Sequence[Mapping[str, Any]] = ()
    encoder: str = _DEFAULT.encoder
    encoder_parameters: Mapping[str, Any] = field(default_factory=dict)
    sampler: str = _DEFAULT.sampler
    training: Mapping[str, Any] = field(default_factory=dict)

    def config(self) -> RunConfig:
        """The checked configuration.

        Raises:
            ParameterError: naming what was needed, what came and what to do.
        """
        if not self.losses:
            raise ParameterError("A run needs a loss: choose one to four.")
        losses = tuple(_loss(name, values) for name, values in _paired(self.losses, self.loss_parameters))
        if self.encoder not in ENCODERS:
            raise ParameterError(f"There is no encoder {self.encoder!r}; choose from {', '.join(ENCODERS)}.")
        encoder = ENCODERS[self.encoder]
        config = RunConfig(
            data=self.images.choice(),
            losses=losses,
            encoder=self.encoder,
            encoder_parameters=read(encoder.parameters, self.encoder_parameters, encoder.title),
            sampler=self.sampler,
            **{**_defaults(), **read(Training, self.training, "Training")},
        )
        check(config)
        return config


def losses_of(names: Sequence[str | None], texts: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """The chosen losses and what their folds hold, empty slots left out."""
    chosen = [(name, stored_values(text, name)) for name, text in zip(names, texts, strict=True) if name]
    return [name for name, _ in chosen], [values for _, values in chosen]


def _loss(name: str, values: Mapping[str, Any]) -> LossChoice:
    if name not in LOSSES:
        raise ParameterError(f"There is no loss {name!r}; choose from {', '.join(LOSSES)}.")
    descriptor = LOSSES[name]
    return LossChoice(name=name, parameters=read(descriptor.parameters, values, descriptor.title))


def _paired(names: Sequence[str], values: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    if len(values) > len(names):
        raise ParameterError(f"{len(values)} sets of loss parameters came for {len(names)} losses; give one per loss.")
    return list(zip(names, [*values, *({} for _ in range(len(names) - len(values)))], strict=True))


def _defaults() -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(Training)}


def _text(value: str | None) -> str | None:
    return (value or "").strip() or None
