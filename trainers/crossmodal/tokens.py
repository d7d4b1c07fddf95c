"""CLIP's byte-pair encoding with its commonest merges only: a small model need not carry 49,408 word vectors."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from open_clip import SimpleTokenizer

MERGES = 6000
VOCABULARY = 512 + MERGES + 2  # bytes, bytes that end a word, merges, start and end


@lru_cache(maxsize=4)
def small_tokeniser(context: int) -> SimpleTokenizer:
    """A tokeniser of :data:`VOCABULARY` ids for sentences of ``context`` tokens, start and end counted.

    The merges are read from the table that open_clip installs; it lists them commonest first.
    """
    from open_clip.tokenizer import SimpleTokenizer, default_bpe

    with gzip.open(default_bpe(), "rt", encoding="utf-8") as file:
        head = [next(file) for _ in range(MERGES + 1)]  # the first line is a version
    table = io.BytesIO(gzip.compress("".join(head).rstrip("\n").encode()))
    return SimpleTokenizer(bpe_path=table, context_length=context)


def tokenise(texts: Sequence[str], context: int) -> Tensor:
    """int64 ``[N, context]``; longer sentences are cut and keep their end token."""
    return small_tokeniser(context)(list(texts))


def lengths(texts: Sequence[str], context: int) -> list[int]:
    """Tokens that each sentence needs, start and end counted."""
    tokeniser = small_tokeniser(context)
    return [len(tokeniser.encode(text)) + 2 for text in texts]
