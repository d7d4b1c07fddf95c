"""The base class and the descriptor of image-text models: two towers into one space, and their loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from trainers.parameters import Choice
from trainers.registry import Descriptor


class ImageTextModel(nn.Module):
    """Maps images and captions to raw embeddings; losses and metrics normalise them to unit length.

    Images are resized to a square: a crop could cut off the removed object.

    Attributes:
        side: of the square images, pixels.
        context: most tokens of a caption, start and end counted; longer captions are cut.
        encodes: names of the methods that encode a batch in training, row by row but for batch statistics.
        image_tower: what the names of the tensors begin with that :meth:`image_features` needs; empty: all of them.
    """

    encodes: ClassVar[tuple[str, ...]] = ("image_features", "text_features")
    image_tower: ClassVar[tuple[str, ...]] = ()
    mean: Tensor
    std: Tensor

    def __init__(self, *, side: int, context: int, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.side = side
        self.context = context
        self.register_buffer("mean", torch.tensor(tuple(mean)).reshape(1, -1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(tuple(std)).reshape(1, -1, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Encode as :meth:`image_features` does: the model is an encoder of images, too."""
        return self.image_features(images)

    def image_features(self, images: Tensor) -> Tensor:
        """Encode images float ``[B, 3, side, side]`` in 0..1 as raw embeddings float ``[B, D]``."""
        raise NotImplementedError

    def text_features(self, tokens: Tensor) -> Tensor:
        """Encode int64 ``[B, context]`` tokens that :meth:`tokenise` gave as raw embeddings float ``[B, D]``."""
        raise NotImplementedError

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        """Turn texts into tokens int64 ``[N, context]`` on the CPU, cut and padded."""
        raise NotImplementedError

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens that each caption needs, start and end counted, before anything is cut."""
        raise NotImplementedError

    def terms(self, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
        """Compute the model's own loss in named parts, of raw embeddings ``[B, D]`` twice; row i belongs to row i.

        Raises:
            UserError: the model cannot be trained here.
        """
        raise NotImplementedError

    def after_step(self) -> None:
        """Clamp parameters that have bounds, such as a temperature; called after every optimiser step."""

    def normalise(self, images: Tensor) -> Tensor:
        """Shift and scale pixels as the weights expect."""
        return (images - self.mean) / self.std


@dataclass(frozen=True, kw_only=True)
class ModelSize:
    """The size of a model, known before it is loaded; the defaults are those of CLIP ViT-B/32.

    Attributes:
        weights: number of parameters.
        side: of its square images, pixels.
        kept: numbers that an image with its caption keeps for the backward pass, roughly.
    """

    weights: int = 151_000_000
    side: int = 224
    kept: int = 30_000_000


@dataclass(frozen=True, kw_only=True)
class Download:
    """Weights that are fetched when the model is first used: the Hub's repository and file, megabytes, licence."""

    repository: str
    file: str
    megabytes: int
    licence: str

    @property
    def facts(self) -> str:
        """Size and licence."""
        return f"{self.megabytes} MB, {self.licence}"

    @property
    def command(self) -> str:
        """The command that fetches them where there is a network."""
        return f"hf download {self.repository} {self.file}"

    def come(self) -> float:
        """Return how many megabytes of what is being fetched lie in the Hub's cache."""
        from huggingface_hub import constants

        blobs = Path(constants.HF_HUB_CACHE) / f"models--{self.repository.replace('/', '--')}" / "blobs"
        sizes = []
        for path in blobs.glob("*.incomplete"):
            with suppress(OSError):  # it is finished meanwhile
                sizes.append(path.stat().st_size)
        return max(sizes, default=0) / 1e6


@dataclass(frozen=True, kw_only=True)
class ModelDescriptor(Descriptor):
    """One entry of the registry of image-text models.

    Attributes:
        paper: where it comes from.
        make: called with checked parameters; may draw weights from torch's global generator.
        encoder: from checked parameters to the entry of :data:`trainers.encoders.ENCODERS` that is its image tower but
            for a projection, and that its attribute ``encoder`` holds; None: it has another image tower.
        trainable: whether it can be fine-tuned here.
        natural_images: whether it was trained on photographs; false: it knows the drawn scenes only.
        trained: false: it starts from random weights and must be trained here before it is of use.
        learning_rate: a default for fine-tuning.
        size: from checked parameters, a guess for a model that the user names; a run's memory is estimated from it.
        shipped: file of the weights that come with the program, if any.
        download: from checked parameters to what has to be fetched first; None: nothing, or it is not known.
    """

    paper: str
    make: Callable[[Any], ImageTextModel]
    encoder: Callable[[Any], Choice] | None = None
    trainable: bool = True
    natural_images: bool = True
    trained: bool = True
    learning_rate: float = 2e-6
    size: Callable[[Any], ModelSize] = lambda _: ModelSize()
    shipped: Path | None = None
    download: Callable[[Any], Download | None] = lambda _: None

    def build(self, parameters: Mapping[str, Any]) -> ImageTextModel:
        """Load or make the model, on the CPU.

        Raises:
            ParameterError: a parameter is wrong.
            UserError: weights or libraries are missing; the message says what to install or point to.
        """
        return self.make(self.checked(parameters))
