"""The common parts of the small models: captions as CLIP's most frequent byte pairs, and their transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from trainers.image_text import tokenizer
from trainers.image_text.base import ImageTextModel

CONTEXT = 32
MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)
PARTS = 4
TEXT: Mapping[str, Any] = MappingProxyType(
    {"context_length": CONTEXT, "vocab_size": tokenizer.VOCABULARY, "width": 128, "heads": 4, "layers": 3}
)
"""The text transformer, as open_clip writes it."""


class SmallModel(ImageTextModel):
    """A model for small square images and captions of at most :data:`CONTEXT` tokens."""

    def __init__(self, side: int) -> None:
        super().__init__(side=side, context=CONTEXT, mean=MEAN, std=STD)

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        return tokenizer.tokenise(texts, CONTEXT)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return tokenizer.lengths(texts, CONTEXT)


def caption_features(net: nn.Module, tokens: Tensor) -> Tensor:
    """Embed captions with an open_clip network that has a causal text transformer, as its ``encode_text`` does.

    Args:
        net: a ``CLIP`` or a ``TextTransformer`` of open_clip.
        tokens: int64 ``[B, context]``.

    Returns:
        float ``[B, D]``, raw.
    """
    if tokens.device.type != "cpu" or len(tokens) < 2 * PARTS:
        return _read(net, tokens)
    # attention is causal, so tokens after the end token change nothing: on a CPU captions of similar length are
    # encoded together, up to the end of the longest
    ends = tokens.argmax(1) + 1
    order = ends.argsort()
    parts = [_read(net, tokens[rows, : int(ends[rows].max())]) for rows in order.chunk(PARTS)]
    return torch.cat(parts)[order.argsort()]


def _read(net: Any, tokens: Tensor) -> Tensor:
    """Encode tokens ``[B, L]`` with L at most the context."""
    length = tokens.shape[1]
    words = net.token_embedding(tokens) + net.positional_embedding[:length]
    read = net.ln_final(net.transformer(words, attn_mask=net.attn_mask[:length, :length]))
    return read[torch.arange(len(tokens), device=tokens.device), tokens.argmax(1)] @ net.text_projection
