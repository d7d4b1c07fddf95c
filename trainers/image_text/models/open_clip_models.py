"""The models that open_clip can build, such as CLIP and SigLIP, with weights from a tag, a file or a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainers.data.hub_requests import offline, online, quiet
from trainers.errors import UserError, brief
from trainers.image_text import small
from trainers.image_text.base import ImageTextModel, ModelDescriptor, ModelSize
from trainers.image_text.losses import LARGEST_LOG_SCALE, clip_loss, siglip_loss
from trainers.image_text.models._open_clip_source import (
    ModelSource,
    checkpoint,
    download,
    locate,
    missing,
    rewritten,
)
from trainers.parameters import parameter
from trainers.registry import importing

_WEIGHTS = (
    "A tag of open_clip's, or the path of a checkpoint (.safetensors, or one of open_clip's training). "
    "Unused for folders and repositories."
)


@dataclass(frozen=True, kw_only=True)
class OpenClipParameters:
    model: str = parameter(
        "ViT-B-32",
        help="A name open_clip knows, hf-hub:organisation/repository, or local-dir: and a folder.",
        main=True,
    )
    pretrained: str = parameter("laion2b_s34b_b79k", help=_WEIGHTS)


@dataclass(frozen=True, kw_only=True)
class ClipParameters:
    pretrained: str = parameter("openai", help=_WEIGHTS, main=True)


@dataclass(frozen=True, kw_only=True)
class SigLipParameters:
    pretrained: str = parameter("webli", help=_WEIGHTS, main=True)


class OpenClip(ImageTextModel):
    """A network of open_clip with its own pixel statistics, tokeniser and loss.

    The loss is the sigmoid loss if the network has a bias, as SigLIP has, else CLIP's.
    """

    image_tower = ("net.visual.",)
    net: Any

    def __init__(self, net: Any, tokeniser: Any, config: Mapping[str, Any]) -> None:
        seen = net.visual.preprocess_cfg
        super().__init__(
            side=_side(seen["size"]), context=int(tokeniser.context_length), mean=seen["mean"], std=seen["std"]
        )
        self.net = net
        self._tokeniser = tokeniser
        self.config = config

    def image_features(self, images: Tensor) -> Tensor:
        return self.net.encode_image(self.normalise(images))

    def text_features(self, tokens: Tensor) -> Tensor:
        return self.net.encode_text(tokens)

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        return self._tokeniser(list(texts))

    def lengths(self, texts: Sequence[str]) -> list[int]:
        if hasattr(self._tokeniser, "encode"):
            return [len(self._tokeniser.encode(text)) + 2 for text in texts]
        inner, clean = self._tokeniser.tokenizer, self._tokeniser.clean_fn  # transformers' own
        return [len(inner(clean(text), truncation=False).input_ids) for text in texts]

    def terms(self, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
        scale, bias = self.net.logit_scale.exp(), getattr(self.net, "logit_bias", None)
        if bias is not None:
            return {"siglip": siglip_loss(images, texts, scale, bias)}
        return {"clip": clip_loss(images, texts, scale)}

    def after_step(self) -> None:
        if getattr(self.net, "logit_bias", None) is None:  # SigLIP's scale is published without bounds
            with torch.no_grad():
                self.net.logit_scale.clamp_(0.0, LARGEST_LOG_SCALE)


def load(model: str, pretrained: str) -> OpenClip:
    """Load a model with its weights, float32 on the CPU; float16 weights are converted.

    Args:
        model: a name open_clip knows, ``hf-hub:organisation/repository`` or ``local-dir:folder``.
        pretrained: for a name alone: a tag of open_clip's or the path of a checkpoint.

    Raises:
        UserError: it cannot be found, downloaded or read, or does not fit; the message says what to do.
    """
    with quiet():
        source = locate(model, pretrained)
        with offline() if source.remote and not online() else nullcontext():
            net = _attempt("The weights", source, partial(_network, source))
            tokeniser = _attempt("The tokeniser", source, partial(_tokeniser, source))
    return OpenClip(
        net, tokeniser, {**source.config, "quick_gelu": source.quick_gelu or source.config.get("quick_gelu")}
    )


def _network(source: ModelSource) -> nn.Module:
    if not source.remote:
        file = checkpoint(source)
        if file.suffix != ".safetensors":
            with tempfile.TemporaryDirectory() as scratch:
                return _loaded(rewritten(source, file, Path(scratch)))
    return _loaded(source)


def _loaded(source: ModelSource) -> nn.Module:
    with importing():
        import open_clip

    # without weights this raises; create_model would return a random network
    return open_clip.create_model_from_pretrained(
        source.name,
        source.pretrained,
        force_quick_gelu=source.quick_gelu,
        image_mean=source.statistics.get("mean"),
        image_std=source.statistics.get("std"),
        return_transform=False,
        weights_only=True,
    )


def _tokeniser(source: ModelSource) -> Any:
    with importing():
        import open_clip

    if source.hf_tokenizer:
        return open_clip.get_tokenizer(source.name, trust_remote_code=False)
    context = int(source.text.get("context_length", 77))
    vocabulary = int(source.text.get("vocab_size", 49_408))
    if vocabulary == small.VOCABULARY:
        return small.small_tokeniser(context)
    tokeniser = open_clip.SimpleTokenizer(context_length=context, **(source.text.get("tokenizer_kwargs") or {}))
    if vocabulary != tokeniser.vocab_size:
        raise UserError(
            f"{source.name} has {vocabulary} word pieces; the available tokenisers have {tokeniser.vocab_size} and "
            f"{small.VOCABULARY}. Give a model with one of these, or name its tokeniser in hf_tokenizer_name."
        )
    return tokeniser


def _attempt(what: str, source: ModelSource, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except UserError:
        raise
    except Exception as error:  # open_clip, timm and transformers raise many kinds of errors
        from_where = "downloaded or loaded; check the network" if source.remote else "loaded; check the files"
        weights = f" ({source.pretrained})" if source.pretrained else ""
        raise UserError(f"{what} of {source.name}{weights} could not be {from_where}. ({brief(error)})") from error


def _side(size: Any) -> int:
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    if height != width:
        raise UserError(f"Only models of square images can be used here; this one takes {height} x {width} pixels.")
    return int(height)


_CLIP = "Learning Transferable Visual Models From Natural Language Supervision, Radford et al., ICML 2021"
_SIGLIP = "Sigmoid Loss for Language Image Pre-Training, Zhai et al., ICCV 2023"

DESCRIPTORS = (
    ModelDescriptor(
        name="clip_vit_b32",
        title="CLIP ViT-B/32",
        sentence="The published CLIP of 151 million weights, trained on 400 million images and their texts.",
        paper=_CLIP,
        parameters=ClipParameters,
        make=lambda chosen: load("ViT-B-32", chosen.pretrained),
        missing=lambda chosen: missing("ViT-B-32", chosen.pretrained),
        download=lambda chosen: download("ViT-B-32", chosen.pretrained),
        order=20,
    ),
    ModelDescriptor(
        name="siglip_b16",
        title="SigLIP ViT-B/16",
        sentence="CLIP's successor with a binary loss per pair, 203 million weights.",
        paper=_SIGLIP,
        parameters=SigLipParameters,
        make=lambda chosen: load("ViT-B-16-SigLIP", chosen.pretrained),
        missing=lambda chosen: missing("ViT-B-16-SigLIP", chosen.pretrained),
        download=lambda chosen: download("ViT-B-16-SigLIP", chosen.pretrained),
        size=lambda _: ModelSize(weights=203_000_000, kept=110_000_000),  # 196 patches where B/32 has 49
        order=21,
    ),
    ModelDescriptor(
        name="open_clip",
        title="Another open_clip model",
        sentence="Any model that open_clip builds, from its list, from the Hub or from a folder.",
        paper=_CLIP,
        parameters=OpenClipParameters,
        make=lambda chosen: load(chosen.model, chosen.pretrained),
        missing=lambda chosen: missing(chosen.model, chosen.pretrained),
        order=22,
        listed=False,  # "Add a model" names one
    ),
)
