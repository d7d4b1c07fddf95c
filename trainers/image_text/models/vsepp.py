"""VSE++ at a small size: a convolutional and a recurrent network, trained with the hardest negative.

The published model has VGG19 and each dataset's own list of words; this one is trained from scratch, so its image tower
is small and its words are CLIP's most frequent byte pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from trainers.image_text import small
from trainers.image_text.base import ModelDescriptor, ModelSize
from trainers.image_text.losses import MARGIN, hardest_triplet_loss
from trainers.image_text.small import SmallModel
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class VseParameters:
    dim: int = parameter(128, low=16, high=1024, help="Numbers in an embedding.")
    width: int = parameter(24, low=4, high=128, help="Channels of the first block of the image network.")
    words: int = parameter(128, low=16, high=512, help="Numbers in the vector of a word piece.")
    margin: float = parameter(MARGIN, low=0.0, high=1.0, help="By how much a pair has to beat the hardest other one.")
    side: int = parameter(64, choices=(32, 64, 96, 128), help="Side of the images it takes, pixels.")


class ImageTower(nn.Module):
    """Five blocks of convolution, batch normalisation and pooling; float ``[B, 3, S, S]`` to ``[B, D]``."""

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        channels = [3, *(width * step for step in (1, 2, 4, 8, 8))]
        pairs = list(pairwise(channels))
        self.blocks = nn.Sequential(*(self._block(*pair, pool=pair != pairs[-1]) for pair in pairs))
        self.out = nn.Linear(channels[-1], dim)

    @staticmethod
    def _block(before: int, after: int, *, pool: bool) -> nn.Sequential:
        layers = [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers, *([nn.MaxPool2d(2)] if pool else []))

    def forward(self, images: Tensor) -> Tensor:
        return self.out(self.blocks(images).mean((2, 3)))


class CaptionTower(nn.Module):
    """A bidirectional recurrent network over the word pieces; int64 ``[B, context]`` to ``[B, D]``."""

    def __init__(self, words: int, dim: int) -> None:
        super().__init__()
        self.words = nn.Embedding(small.VOCABULARY, words)
        self.read = nn.GRU(words, dim, batch_first=True, bidirectional=True)
        nn.init.uniform_(self.words.weight, -0.1, 0.1)

    def forward(self, texts: Tensor) -> Tensor:
        used = texts.argmax(1) + 1  # the end token has the largest number; what follows is padding
        packed = pack_padded_sequence(self.words(texts), used.cpu(), batch_first=True, enforce_sorted=False)
        _, last = self.read(packed)
        return last.mean(0)  # the two directions, each after its last word


class Vse(SmallModel):
    """Both towers, with the loss of the hardest negative. Their attributes name the weights in checkpoints."""

    image_tower = ("photos.",)

    def __init__(self, parameters: VseParameters) -> None:
        super().__init__(side=parameters.side)
        self.photos = ImageTower(parameters.width, parameters.dim)
        self.sentences = CaptionTower(parameters.words, parameters.dim)
        self._margin = parameters.margin

    def image_features(self, images: Tensor) -> Tensor:
        return self.photos(self.normalise(images))

    def text_features(self, tokens: Tensor) -> Tensor:
        return self.sentences(tokens)

    def terms(self, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
        return {"triplet": hardest_triplet_loss(images, texts, self._margin)}


DESCRIPTOR = ModelDescriptor(
    name="vsepp",
    title="VSE++, small",
    sentence="A small convolutional and a recurrent network trained from scratch with the hardest negative.",
    paper="VSE++: Improving Visual-Semantic Embeddings with Hard Negatives, Faghri et al., BMVC 2018",
    parameters=VseParameters,
    make=Vse,
    natural_images=False,
    trained=False,
    learning_rate=1e-3,
    size=lambda _: ModelSize(weights=1_600_000, side=64, kept=1_500_000),
    order=10,
)
