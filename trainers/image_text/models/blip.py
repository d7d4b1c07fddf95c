"""BLIP for retrieval, through the optional transformers library; it cannot be fine-tuned here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from trainers.data import hf_transformers
from trainers.errors import UserError
from trainers.image_text.base import Download, ImageTextModel, ModelDescriptor
from trainers.parameters import parameter
from trainers.registry import importing

_PUBLISHED = "Salesforce/blip-itm-base-coco"
CONTEXT = 35  # what the published retrieval models were trained with


@dataclass(frozen=True, kw_only=True)
class BlipParameters:
    weights: str = parameter(
        _PUBLISHED,
        help="A repository of the Hub, or a folder with a BLIP retrieval model.",
        main=True,
    )


class Blip(ImageTextModel):
    """BLIP's two contrastive towers."""

    net: Any

    def __init__(self, net: Any, tokeniser: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__(side=int(net.config.vision_config.image_size), context=CONTEXT, mean=mean, std=std)
        self.net = net
        self._tokeniser = tokeniser

    def image_features(self, images: Tensor) -> Tensor:
        return self.net.vision_proj(self._patches(images)[:, 0])

    def text_features(self, tokens: Tensor) -> Tensor:
        read = self.net.text_encoder(input_ids=tokens, attention_mask=self._mask(tokens))
        return self.net.text_proj(read.last_hidden_state[:, 0])

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        return self._tokeniser(
            list(texts), padding="max_length", truncation=True, max_length=self.context, return_tensors="pt"
        ).input_ids

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(self._tokeniser(text, truncation=False).input_ids) for text in texts]

    def terms(self, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
        raise UserError(
            "BLIP is not trained here: its loss needs a momentum copy of both towers, a queue and the matching head, "
            "and 220 million weights. Choose CLIP, SigLIP or VSE++ for fine-tuning."
        )

    def _patches(self, images: Tensor) -> Tensor:
        return self.net.vision_model(pixel_values=self.normalise(images)).last_hidden_state

    def _mask(self, tokens: Tensor) -> Tensor:
        return (tokens != self._tokeniser.pad_token_id).long()


def _load(where: str) -> Blip:
    with importing():
        from transformers import AutoTokenizer, BlipForImageTextRetrieval, BlipImageProcessor

    tokeniser = AutoTokenizer.from_pretrained(where, trust_remote_code=False)
    seen = BlipImageProcessor.from_pretrained(where)
    net = hf_transformers.load_network(BlipForImageTextRetrieval, where)
    return Blip(net, tokeniser, mean=seen.image_mean, std=seen.image_std)


def _download(where: str) -> Download | None:
    """Return what has to be fetched of the published model; None: nothing, or it is another."""
    from huggingface_hub import try_to_load_from_cache

    if where != _PUBLISHED or isinstance(try_to_load_from_cache(where, "config.json"), str):
        return None
    return Download(repository=where, file="model.safetensors", megabytes=895, licence="bsd-3-clause")


DESCRIPTOR = ModelDescriptor(
    name="blip",
    title="BLIP ViT-B",
    sentence="The contrastive towers of BLIP's retrieval model; it cannot be fine-tuned here.",
    paper="BLIP: Bootstrapping Language-Image Pre-training, Li et al., ICML 2022",
    parameters=BlipParameters,
    make=lambda chosen: hf_transformers.fetch("BLIP", chosen.weights, _load),
    missing=lambda chosen: hf_transformers.missing(chosen.weights),
    download=lambda chosen: _download(chosen.weights),
    trainable=False,
    order=30,
)
