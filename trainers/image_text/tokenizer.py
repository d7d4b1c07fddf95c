"""CLIP's byte-pair encoding with its most frequent merges only, for models too small for 49,408 word vectors."""

from __future__ import annotations

import gzip
import io
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

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
        return _read(texts, context)
    with _LOCK:  # threads that wait want the same piece and find it in the cache
        return _read_before(tuple(texts), context)


def _read(texts: Sequence[str], context: int) -> tuple[list[int], ...]:
    tokeniser = small_tokeniser(context)
    return tuple(tokeniser.encode(text) for text in texts)


_read_before = lru_cache(maxsize=2)(_read)
