"""The common parts of the small models: captions as CLIP's most frequent byte pairs, and their transformer."""

from __future__ import annotations

import gzip
import io
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from trainers.image_text.base import ImageTextModel
from trainers.registry import importing

if TYPE_CHECKING:
    from open_clip import SimpleTokenizer


MERGES = 6000
VOCABULARY = 512 + MERGES + 2  # bytes, bytes that end a word, merges, start and end
PIECE = 1024  # captions; longer lists are not cached
_LOCK = threading.Lock()


@lru_cache(maxsize=4)
def small_tokeniser(context: int) -> SimpleTokenizer:
    """Make a tokeniser of :data:`VOCABULARY` ids for captions of ``context`` tokens, start and end counted.

    The merges are read from the table that open_clip installs; most frequent first.
    """
    with importing():
        from open_clip.tokenizer import SimpleTokenizer, default_bpe

    with gzip.open(default_bpe(), "rt", encoding="utf-8") as file:
        head = [next(file) for _ in range(MERGES + 1)]  # the first line is a version
    table = io.BytesIO(gzip.compress("".join(head).rstrip("\n").encode()))
    return SimpleTokenizer(bpe_path=table, context_length=context)


def tokenise(texts: Sequence[str], context: int) -> Tensor:
    """Turn captions into tokens int64 ``[N, context]``, zeros after the end token; longer ones are cut and keep it."""
    start, end = VOCABULARY - 2, VOCABULARY - 1
    tokens = torch.zeros(len(texts), context, dtype=torch.int64)
    for row, ids in enumerate(_ids(texts, context)):
        cut = (start, *ids, end)[:context]
        tokens[row, : len(cut)] = torch.tensor(cut)
        tokens[row, len(cut) - 1] = end
    return tokens


def lengths(texts: Sequence[str], context: int) -> list[int]:
    """Count the tokens that each caption needs, start and end counted."""
    return [len(ids) + 2 for ids in _ids(texts, context)]


def _ids(texts: Sequence[str], context: int) -> tuple[list[int], ...]:
    """Return the ids of the captions without start and end, uncut. The last ones are cached: a piece of a gallery is
    asked for its lengths and its tokens, by each of the compared models in turn.
    """
    if len(texts) > PIECE:
        return _tokenised(texts, context)
    with _LOCK:  # threads that wait want the same piece and find it in the cache
        return _read_before(tuple(texts), context)


def _tokenised(texts: Sequence[str], context: int) -> tuple[list[int], ...]:
    tokeniser = small_tokeniser(context)
    return tuple(tokeniser.encode(text) for text in texts)


_read_before = lru_cache(maxsize=2)(_tokenised)


CONTEXT = 32
MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)
PARTS = 4
TEXT: Mapping[str, Any] = MappingProxyType(
    {"context_length": CONTEXT, "vocab_size": VOCABULARY, "width": 128, "heads": 4, "layers": 3}
)
"""The text transformer, as open_clip writes it."""


class SmallModel(ImageTextModel):
    """A model for small square images and captions of at most :data:`CONTEXT` tokens."""

    def __init__(self, side: int) -> None:
        super().__init__(side=side, context=CONTEXT, mean=MEAN, std=STD)

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        return tokenise(texts, CONTEXT)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return lengths(texts, CONTEXT)


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
