"""Well-known Hub datasets with their columns and splits pinned. They load like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from trainers.config import DataChoice
from trainers.data.base import LoadedData
from trainers.data.labelled.descriptor import SourceDescriptor
from trainers.data.labelled.loader import load_source
from trainers.data.labelled.report import DataReport, inspect_source, peek_source
from trainers.data.reachable import away
from trainers.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Known:
    """One dataset: where it is, how to read it, what to call its levels."""

    name: str
    title: str
    sentence: str
    hub: str
    licence: str | None = None
    subset: str | None = None
    train_split: str | None = None
    test_split: str | None = None
    image_column: str = "image"
    label_columns: tuple[str, ...] | None = ("label",)
    levels: tuple[str, ...] | None = ("class",)

    def load(self, choice: DataChoice, progress: Progress | None = None) -> LoadedData:
        """Load it, see ``trainers.data.load_data``."""
        asked, levels = self.pinned(choice), self._levels(choice)
        return load_source(asked, progress, name=self.name, title=self.title, licence=self.licence, levels=levels)

    def inspect(self, choice: DataChoice) -> DataReport:
        """Report on it, see ``trainers.data.inspect_data``."""
        report = inspect_source(self.pinned(choice))
        if report.proposal is None:
            return report
        levels = self._levels(choice)
        named = levels if levels and len(levels) == len(report.levels) else report.levels
        return replace(report, title=self.title, levels=named, proposal=replace(report.proposal, source=self.name))

    def _levels(self, choice: DataChoice) -> tuple[str, ...] | None:
        """Return its names of the levels, where its own columns are read."""
        return self.levels if self.label_columns is None or choice.label_columns in (None, self.label_columns) else None

    def peek(self, choice: DataChoice, count: int) -> Tensor:
        """Read a few of its images, see ``trainers.data.peek_data``."""
        return peek_source(self.pinned(choice), count)

    def missing(self, _parameters: object) -> str | None:
        """Return why it cannot be had now; None: it is on this machine, or can be fetched."""
        from trainers.data.labelled.hub import is_here

        return None if is_here(self.hub, self.subset) else away()

    def descriptor(self, order: int) -> SourceDescriptor:
        """Return the entry of the catalogue."""
        return SourceDescriptor(
            name=self.name,
            title=self.title,
            sentence=self.sentence,
            licence=self.licence or "see its card",
            load=self.load,
            peek=self.peek,
            inspect=self.inspect,
            pinned=self.pinned,
            missing=self.missing,
            order=order,
        )

    def pinned(self, choice: DataChoice) -> DataChoice:
        """Return the choice with this dataset's own columns and splits wherever it leaves them open."""
        fields = ("subset", "image_column", "label_columns", "train_split", "test_split")
        return replace(
            choice, source=self.hub, **{name: getattr(choice, name) or getattr(self, name) for name in fields}
        )


# fmt: off
KNOWN = (
    Known(name="cifar100", title="CIFAR-100",
          sentence="60,000 tiny images of 100 things in 20 groups.",
          hub="uoft-cs/cifar100", licence="unknown", subset="cifar100",
          train_split="train", test_split="test", image_column="img",
          label_columns=("fine_label", "coarse_label"), levels=("class", "superclass")),
    Known(name="oxford_pets", title="Oxford Pets", sentence="7,349 images of 37 breeds of cats and dogs.",
          hub="timm/oxford-iiit-pet", licence="cc-by-sa-4.0", train_split="train", test_split="test",
          label_columns=("label", "label_cat_dog"), levels=("breed", "species")),
    Known(name="in_shop", title="DeepFashion In-Shop",
          sentence="52,591 shop images of clothes in nested categories; the tree is read from its columns.",
          hub="Marqo/deepfashion-inshop", train_split="data", label_columns=None, levels=None),
    Known(name="cub200", title="CUB-200 Birds", sentence="About 11,800 images of 200 bird species.",
          hub="bentrevett/caltech-ucsd-birds-200-2011", train_split="train", test_split="test", levels=("species",)),
    Known(name="stanford_cars", title="Stanford Cars",
          sentence="Images of 196 car models; the training half of the dataset, divided by model.",
          hub="Multimodal-Fatima/StanfordCars_train", levels=("model",)),
    Known(name="flowers102", title="Oxford Flowers", sentence="Images of 102 kinds of flowers.",
          hub="dpdl-benchmark/oxford_flowers102", train_split="train", test_split="test", levels=("flower",)),
    Known(name="food101", title="Food-101", sentence="101,000 images of 101 dishes, some labels wrong on purpose.",
          hub="ethz/food101", train_split="train", test_split="validation", levels=("dish",)),
    Known(name="omniglot", title="Omniglot",
          sentence="32,460 handwritten characters of 50 alphabets, 20 drawings of each.", hub="GATE-engine/omniglot",
          train_split="full", levels=("character",)),
    Known(name="fashion_mnist", title="Fashion-MNIST", sentence="70,000 small grey images of 10 kinds of clothes.",
          hub="zalando-datasets/fashion_mnist", train_split="train", test_split="test"),
)
# fmt: on

DESCRIPTORS = tuple(known.descriptor(order=200 + index) for index, known in enumerate(KNOWN))
