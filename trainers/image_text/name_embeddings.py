"""Embeddings of the names of classes: what they mean, by a text tower, or how they are written."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from trainers.data.lru_cache import Cache
from trainers.image_text.base import ImageTextModel
from trainers.image_text.encoding import encode_texts
from trainers.image_text.models import MODELS
from trainers.parameters import Choice

TOWER = Choice(name="clip_vit_b32")
"""The model whose text tower is used."""
WAYS = {"meaning": "What the names mean: CLIP's text tower", "words": "Words and letters they share: no weights needed"}
"""How names can be compared, with titles."""
_PROMPT = "a photo of a {}"
_KEPT = 64 * 2**20  # bytes of the embeddings that are kept
_COLUMNS = 1024  # that words and trigrams are hashed to
_WORD = 3.0  # what a whole word weighs, a trigram being 1


class NameEncoder:
    """Embeds names; those that a text tower made last are kept, so that a second look at the same names is quick."""

    def __init__(self, model: ImageTextModel | None = None) -> None:
        self._model = model
        self._kept: Cache[np.ndarray] = Cache(limit=_KEPT, cost=lambda row: int(row.nbytes))

    def __call__(self, names: Sequence[str], by: str, tower: Choice = TOWER) -> np.ndarray:
        """Embed names as unit rows float64 [N, D].

        Args:
            by: of :data:`WAYS`.
            tower: for ``meaning``; the model that was given to this encoder takes its place.

        Raises:
            UserError: the model cannot be had.
        """
        if by == "words":
            return _by_words(names)
        key = repr(tower)
        rows = {name: self._kept.find((key, name)) for name in dict.fromkeys(names)}
        new = [name for name, row in rows.items() if row is None]
        if new:
            model = self._model or MODELS[tower.name].build(tower.parameters).eval()
            made = encode_texts(model, [_PROMPT.format(plain(name)) for name in new]).double().numpy()
            made /= np.linalg.norm(made, axis=1, keepdims=True)
            for name, row in zip(new, made, strict=True):
                rows[name] = self._kept.get((key, name), row.copy)
        return np.stack([row for name in names if (row := rows[name]) is not None])


def plain(name: str) -> str:
    """Return a name in words: ``red_Apple-2`` is ``red Apple 2``."""
    return re.sub(r"[\W_]+", " ", name).strip() or name


def _by_words(names: Sequence[str]) -> np.ndarray:
    """Embed names by their words and the trigrams of these; rare ones weigh more."""
    counted = [_parts(name) for name in names]
    often = Counter(part for parts in counted for part in parts)
    unit = np.zeros((len(names), _COLUMNS))
    for row, parts in zip(unit, counted, strict=True):
        for part, weight in parts.items():
            column = zlib.crc32(part.encode())
            row[column % _COLUMNS] += weight * np.log((1 + len(names)) / often[part]) * (1 if column >> 31 else -1)
    lengths = np.linalg.norm(unit, axis=1, keepdims=True)
    return np.divide(unit, lengths, out=np.full_like(unit, _COLUMNS**-0.5), where=lengths > 0)


def _parts(name: str) -> dict[str, float]:
    parts: dict[str, float] = {}
    for word in re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain(name)).lower().split():
        parts[f" {word} "] = _WORD
        padded = f" {word} "
        parts.update({padded[at : at + 3]: 1.0 for at in range(len(padded) - 2) if len(padded) > 3})
    return parts
