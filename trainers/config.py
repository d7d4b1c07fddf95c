"""The settings of a run: frozen, keyword-only dataclasses, read from and written to ``config.json``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import ConfigDict

from trainers.errors import ParameterError
from trainers.optimization import DROPS, OPTIMISERS, SCHEDULES, WARM_UP_STEPS
from trainers.parameters import Choice, parameter, specs
from trainers.values import CHECKED, build

if TYPE_CHECKING:
    from typing import Self

    from _typeshed import DataclassInstance

MAX_ARMS = 6
"""Most models that a run trains in lockstep: the ablation of momentum in MoCo's paper has five values."""
NORMS = ("batch", "split", "group", "layer")
"""Normalisation layers of an encoder, see :func:`trainers.encoders.norms.replace_norms`."""
VERSION = 3
PRECISIONS = ("auto", "float32", "bf16", "fp16")
TRACKERS = ("tensorboard", "trackio", "wandb")
BUDGET = ("minutes", "steps", "epochs")
PLAN_VERBS = MappingProxyType({"sweep": "sweep", "fair_comparison": "fair"})
"""The plans by name with their verbs, which no kind of run may have; they stand above both."""
Made = TypeVar("Made", bound="DataclassInstance")
C = TypeVar("C", bound="Config")


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions that make the training images harder, and folds of their classes; none of both by default.

    They are drawn by the data seed, for the images that the cap leaves, in this order: folds, withheld classes,
    withheld images, label noise. A smaller share touches some of what a larger one touches.
    """

    label_noise: float = parameter(
        0.0,
        low=0.0,
        high=1.0,
        help="Share of the training images with the label of another class; test labels are as they were.",
    )
    noise_kind: str = parameter(
        "symmetric",
        registry="trainers.data.conditions.noise:NOISE_KINDS",
        title="Wrong label",
        help="symmetric: of any other class; within: of the same parent; across: of another parent.",
    )
    withheld_classes: float = parameter(
        0.0, low=0.0, high=0.99, help="Share of the training classes left out; at least two stay."
    )
    withheld_images: float = parameter(
        0.0, low=0.0, high=0.99, help="Share of each training class's images left out; at least two of each stay."
    )
    folds: int = parameter(
        0,
        low=0,
        high=100,
        help="Folds of the training classes, or of their images where images are held out; one of them is tested on in "
        "place of the test images. 0: none.",
    )
    fold: int = parameter(1, low=1, high=100, help="Which fold is tested on, from 1.")

    @property
    def harder(self) -> bool:
        """Whether anything is changed."""
        return bool(self.label_noise or self.withheld_classes or self.withheld_images or self.folds)

    def that_choose(self, part: str) -> Conditions:
        """Keep those that decide which images are in a part of the dataset, ``train`` or ``test``: never the noise."""
        folds = Conditions(folds=self.folds, fold=self.fold if self.folds else Conditions.fold)
        if part == "test":
            return folds
        return dataclasses.replace(folds, withheld_classes=self.withheld_classes, withheld_images=self.withheld_images)

    def words(self) -> tuple[str, ...]:
        """Say what is changed, as a title does."""
        kind = "" if self.noise_kind == Conditions.noise_kind else f" ({self.noise_kind})"
        said = (
            (self.folds, f"fold {self.fold} of {self.folds}"),
            (self.withheld_classes, f"{self.withheld_classes * 100:g} % of classes withheld"),
            (self.withheld_images, f"{self.withheld_images * 100:g} % of images withheld"),
            (self.label_noise, f"{self.label_noise * 100:g} % label noise{kind}"),
        )
        return tuple(words for given, words in said if given)


@dataclass(frozen=True, kw_only=True)
class DataChoice:
    """Which labelled images, and how to read them. None: detected when the data is read."""

    source: str = parameter(
        "drawn",
        title="Images",
        flag="data",
        help="A dataset of the catalogue (groceries, drawn[:bias=0.9]), a folder or a Hub id.",
    )
    subset: str | None = parameter(None, help="Configuration of a Hub dataset.")
    revision: str | None = parameter(None, help="Commit or tag of a Hub dataset.")
    name_encoding: str | None = parameter(
        None,
        title="Encoding of names",
        help="Of the names in a zip file that does not say it, such as gbk or cp866; detected if not given.",
    )
    image_column: str | None = parameter(None, help="Column of the images; detected if not given.")
    label_columns: tuple[str, ...] | None = parameter(
        None, help="Columns of the labels, finest first; detected if not given."
    )
    hierarchy: Choice = parameter(
        Choice(name="as_read"),
        registry="trainers.data.labelled.hierarchies:HIERARCHIES",
        title="Superclasses",
        help="Where the levels above the classes come from.",
    )
    level_names: tuple[str, ...] | None = parameter(
        None,
        title="Names of the levels",
        help="Finest first, such as species genus, where the columns or folders have none that say what is alike.",
    )
    train_split: str | None = parameter(None, help="Detected if not given.")
    test_split: str | None = parameter(None, help="Detected if not given.")
    held_out: str = parameter(
        "classes",
        choices=("classes", "images"),
        help="What is kept for testing: classes that are not trained on, or images of the same classes.",
    )
    max_images: int = parameter(
        20_000,
        low=1,
        high=1_000_000,
        title="Maximum images per split",
        help="Cap on the images read from each split.",
    )
    image_size: int | None = parameter(
        None, help="Side of the square images in pixels; chosen by the dataset if not given."
    )
    seed: int = parameter(
        0,
        low=0,
        high=2**31 - 1,
        flag="data-seed",
        help="Of the drawn images, the split of the classes, the cap and the hard conditions.",
    )
    conditions: Conditions = parameter(factory=Conditions, help="Hard conditions of training.")

    def at(self, revision: str) -> DataChoice:
        """Return the same of a Hub dataset at a commit."""
        return dataclasses.replace(self, revision=revision)


@dataclass(frozen=True, kw_only=True)
class SceneChoice:
    """Which images with captions and objects, and how to read them."""

    source: str = parameter(
        "drawn_scenes", title="Images", flag="data", help="drawn_scenes[:bias=0.7,...], a folder or a Hub id."
    )
    captions_from: str | None = parameter(None, help="Another dataset that holds the captions, joined by image id.")
    limit: int | None = parameter(None, low=1, help="Maximum number of images read from each split.")

    def at(self, revision: str) -> SceneChoice:
        """Return the same of a Hub dataset at a commit."""
        return dataclasses.replace(self, source=f"{self.source.strip().partition('@')[0]}@{revision}")


@dataclass(frozen=True, kw_only=True)
class Config:
    """The contents of ``config.json``: the settings of a run, or of a plan of runs."""

    __pydantic_config__: ClassVar[ConfigDict] = CHECKED
    kind: ClassVar[str] = ""
    """Name of its descriptor."""
    version: ClassVar[int] = VERSION
    """Of what is written."""
    described: ClassVar[str] = "trainers.kinds:KINDS"
    """Where its descriptor stands by name, ``module:NAME``: above this module, so it is imported when it is needed."""
    gone: ClassVar[Mapping[str, object]] = MappingProxyType({})
    """Settings that only earlier versions have, by name, with the value that changes nothing."""
    lost: ClassVar[tuple[str, ...]] = ()
    """What a file that was read has of them with another value, in words."""

    @property
    def arms(self) -> int:
        """How many models train in lockstep."""
        raise NotImplementedError

    @property
    def single(self) -> RunConfig:
        """The settings of a run: these; of a plan those of each of its runs, as far as it does not vary them."""
        raise NotImplementedError

    @property
    def encoder_prefix(self) -> str:
        """Of the encoder's tensors within an arm's part of a checkpoint; empty: it trains none of the registry."""
        return ""

    def values(self) -> dict[str, Any]:
        """Return the settings by name, as JSON holds them."""
        stored = {spec.name: spec.rule.stored for spec in specs(type(self))}
        return {name: value for name, value in dataclasses.asdict(self).items() if stored.get(name, True)}

    def to_json(self) -> str:
        """Write canonical JSON text, the content of ``config.json``."""
        return json.dumps({"kind": self.kind, "version": self.version} | self.values(), indent=2, sort_keys=True)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Config:
        """Make the configuration with the :meth:`values` that a file holds; :data:`gone` settings are left out.

        Raises:
            TypeError, ValueError, KeyError: they are not of this kind.
        """
        lost = tuple(
            f"{name} {json.dumps(values[name])}"
            for name, harmless in cls.gone.items()
            if values.get(name, harmless) != harmless
        )
        return with_lost(build(cls, {name: values[name] for name in values if name not in cls.gone}), lost)

    @property
    def lost_words(self) -> str:
        """Say what is lost and what to do; empty: nothing is."""
        if not self.lost:
            return ""
        return (
            f"It was begun with {', '.join(self.lost)}, which this version of the program does not have: it can be "
            "looked at, and not be resumed. Start a new run, or resume it with the version that began it."
        )

    def check_whole(self) -> None:
        """Refuse to train on without what is lost.

        Raises:
            ParameterError: something is.
        """
        if self.lost:
            raise ParameterError(self.lost_words)

    def changed(self, **settings: Any) -> Self:
        """Return the same with other settings of its training."""
        return dataclasses.replace(self, **settings)


@dataclass(frozen=True, kw_only=True)
class RunConfig(Config):
    """The settings of every kind of run; a kind adds its own in a subclass.

    Whichever part of the budget (minutes, steps, epochs) is reached first ends the run; at least one is set. With steps
    or epochs the learning rate follows the steps alone, so that the clock decides nothing but when a run is cut off.
    """

    minutes: float | None = parameter(
        3.0,
        low=0,
        above=True,
        high=7 * 24 * 60,
        slider=(0.05, 7 * 24 * 60),
        title="Budget in minutes",
        help="Training time; pauses and map drawing do not count. Empty: steps or epochs alone are the budget.",
    )
    steps: int | None = parameter(
        None,
        low=1,
        high=10_000_000,
        title="Maximum steps",
        help="Ends the run earlier than its minutes; empty for no limit.",
    )
    epochs: float | None = parameter(
        None,
        low=0,
        above=True,
        high=100_000,
        help="Passes over the training images, or over the pairs of the largest recipe.",
    )
    augmentation: Choice = parameter(
        Choice(name="none"),
        registry="trainers.training.augmentations:AUGMENTATIONS",
        help="How training images are changed before the encoder sees them.",
    )
    optimiser: str = parameter("adamw", choices=tuple(OPTIMISERS), help="adam adds the weight decay to the gradient.")
    momentum: float = parameter(
        0.9, low=0.0, high=0.9999, help="Of sgd, lars and rmsprop: share of the last step that goes into the next."
    )
    learning_rate: float = parameter(
        4e-3,
        low=1e-7,
        high=100.0,
        log=True,
        slider=(1e-6, 10.0),
        help="Size of the steps at its highest; lower it if the loss jumps. Above 1 for lars alone, as a rule.",
    )
    schedule: str = parameter(
        "cosine",
        choices=tuple(SCHEDULES),
        help="The learning rate over the budget: a half cosine, a tenth after each of the drops, or constant.",
    )
    drops: tuple[float, ...] = parameter(
        DROPS, low=0.0, high=1.0, help="Shares of the budget after which the schedule step takes a tenth of the rate."
    )
    warm_up: int = parameter(
        WARM_UP_STEPS,
        low=0,
        high=1_000_000,
        title="Warm-up steps",
        help="First steps, in which the learning rate rises from zero; 0 for none.",
    )
    halve_every: float | None = parameter(
        None,
        low=0,
        above=True,
        high=100_000,
        help="Epochs between halvings of the learning rate, without a warm-up, in place of the schedule.",
    )
    weight_decay: float = parameter(
        1e-4, low=0.0, high=1.0, log=True, help="Pull of the weights towards zero; 0 for none."
    )
    clip_norm: float | None = parameter(
        None,
        low=1e-3,
        high=1e6,
        title="Clip gradients at norm",
        help="Longest gradient; it holds back some losses only. Empty: none is clipped.",
    )
    seed: int = parameter(0, low=0, high=2**31 - 1, help="Same seed, same weights, batches and augmentation.")
    chunk: int | None = parameter(
        None,
        low=0,
        high=262_144,
        title="Images in the encoder at once",
        help="For batches beyond memory: the batch is encoded in chunks, twice, under the loss of the whole batch; "
        "batch statistics are those of a chunk. Empty or 0: all at once.",
    )
    precision: str = parameter(
        "auto",
        choices=PRECISIONS,
        help="Numbers that encoders compute in; losses are float32. auto: bf16 on a GPU, float32 on a CPU.",
    )
    channels_last: str = parameter(
        "auto",
        choices=("auto", "on", "off"),
        help="Memory layout of images and convolutions. auto: on where an encoder of the catalogue is trained alone.",
    )
    checkpointing: bool = parameter(
        False,
        title="Activation checkpointing",
        help="A timm encoder computes most activations again in the backward pass: less memory, the same numbers.",
    )
    compiled: bool = parameter(
        False,
        private=True,
        title="Compiled encoder",
        help="Code made for the encoder by torch.compile: the same numbers within rounding, shorter steps of some "
        "encoders; the first steps take a minute or more. Needs a C++ compiler.",
    )
    snapshot_steps: int | None = parameter(
        None, low=1, high=10_000_000, help="Steps between two frames of the maps; else as fast as the maps move."
    )
    device: str = parameter("auto", help="auto, cpu, cuda or cuda:N.")
    threads: int | None = parameter(
        None, low=1, high=256, help="CPU threads of torch, at most as many as there are cores; its choice if not given."
    )

    processes: int = parameter(
        1,
        low=1,
        high=1024,
        private=True,
        stored=False,
        title="GPUs that train the run together",
        help="A process on each takes its share of every batch and all come to the weights of one, sooner where the "
        "encoder takes most of the time; a resumed run may have another number.",
    )

    track: str = parameter(
        "none",
        choices=("none", *TRACKERS),
        private=True,
        stored=False,
        title="Tracker",
        help="Where numbers, settings and the newest map are mirrored as they come; its failure never stops a run.",
    )

    @property
    def single(self) -> RunConfig:
        return self

    @property
    def encoder_norm(self) -> str:
        """What its encoder has in place of batch normalisation; empty: nothing that would change its tensors."""
        return ""


@dataclass(frozen=True, kw_only=True)
class StartConfig(RunConfig):
    """The settings common to kinds that train an encoder of the registry, alone or in a model."""

    start: str | None = parameter(
        None,
        private=True,
        title="Start from",
        help="Id of a run in the same folder, or ID:ARM, whose encoder this one starts from; heads start anew. Of a "
        "sweep: its run of the same seed.",
    )
    weights: str | None = parameter(
        None,
        private=True,
        title="Weights from a file",
        help="Path of a file with weights of the encoder: .safetensors, or .pt, .pth, .ckpt, .bin of torch.save; "
        "FILE:NAME chooses among several networks in it, as in last.pth.tar:state_dict. What does not match is listed "
        "in the log of the run; heads start anew.",
    )
    frozen_norm: bool = parameter(
        False,
        title="Frozen batch norm",
        help="Batch normalisation in front of the head keeps the statistics it starts with; its gains and shifts are "
        "trained. Needs a run or a file to start from, or published weights.",
    )
    backbone_rate: float = parameter(
        1.0,
        low=0.0,
        high=10.0,
        slider=(0.0, 2.0),
        title="Rate of the backbone",
        help="Learning rate of the encoder in front of its head, as a share of the learning rate; 0: it stays as it "
        "starts, but for the statistics of batch normalisation.",
    )


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(StartConfig):
    """The settings common to kinds that train an encoder of the registry on images alone."""

    encoder: Choice = parameter(
        Choice(name="conv4"),
        registry="trainers.encoders:ENCODERS",
        help="Network that turns an image into an embedding.",
    )
    probe_size: int = parameter(
        1500,
        low=20,
        high=50_000,
        slider=(100, 20_000),
        log=True,
        title="Images on the maps",
        help="Test images shown on the maps.",
    )
    data: DataChoice = parameter(factory=DataChoice, help="Which images.")
    metrics: tuple[str, ...] = parameter(
        (),
        menu="trainers.metrics.names:MENU",
        title="More metrics",
        help="Beside the usual ones, e.g. R@10 sum_wAP.",
    )

    def __post_init__(self) -> None:
        """Keep the keys of metrics that are written by their titles."""
        if self.metrics and isinstance(self.metrics, (tuple, list)):
            key = next(spec for spec in specs(type(self)) if spec.name == "metrics").rule.words().key
            keys = (key(name) if isinstance(name, str) else name for name in self.metrics)
            object.__setattr__(self, "metrics", type(self.metrics)(keys))


def with_lost(made: C, lost: tuple[str, ...]) -> C:
    """Return a configuration after noting in it what was lost when it was read."""
    if lost:
        object.__setattr__(made, "lost", lost)
    return made


def converted(config: RunConfig, into: type[Made], **changes: Any) -> Made:
    """Return the settings of a run in another dataclass, such as the configuration of another kind.

    Args:
        into: the dataclass. What ``config`` does not have takes its default; what it alone has is left out.
        changes: settings by name that replace those of ``config``.
    """
    names = {field.name for field in dataclasses.fields(config)}
    both = {field.name: getattr(config, field.name) for field in dataclasses.fields(into) if field.name in names}
    return into(**both | changes)
