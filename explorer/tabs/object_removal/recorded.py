"""The answer to the page's first query, recorded: a first visit need not wait until two models have encoded 20,000
captions.

The image is drawn and filled at every visit; what the models retrieve for exactly these pixels is read from
``assets/recorded_answers/first.json``. The file holds digests of what it was made of and of its content: where one of
them differs, the record is ignored and the models are asked. ``python -m tests.make.recorded_answer`` writes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from explorer.settings import ASSETS
from explorer.tabs.object_removal.bodies import K
from explorer.tabs.object_removal.datasets import DRAWN
from explorer.tabs.object_removal.first import CHOSEN, TAKEN
from explorer.tabs.object_removal.models import Models
from explorer.tabs.object_removal.removal import FilledImage
from trainers.data.synthetic.scenes import DrawnScenes, code_digest
from trainers.object_removal.removal import Target
from trainers.object_removal.vocabulary import ADDED, TABLE

RECORD = ASSETS / "recorded_answers" / "first.json"
TOLD = ("notes", "words", "models")
"""The parts of a reply that are recorded."""


class Recorded:
    """The recorded answer.

    Args:
        models: those that are asked.
        path: of the record; None: there is none.
    """

    def __init__(self, models: Models, path: Path | None = RECORD) -> None:
        self._models = models
        self._path = path

    def answer(self, dataset: str, filled: FilledImage, models: Sequence[str], k: int) -> dict[str, Any] | None:
        """Return what the models retrieve before and after; None unless exactly this was recorded: the page's first
        query, its pixels, models and words.
        """
        if (dataset, filled.target) != (DRAWN, Target(classes=(TAKEN,))):
            return None
        if (tuple(models), k) != (CHOSEN, K):
            return None
        record = self._record
        if record is None or record["pixels"] != pixels_digest(filled):
            return None
        return {name: record[name] for name in TOLD}

    @cached_property
    def _record(self) -> dict[str, Any] | None:
        """What the file holds; None if there is none, or it was made of something else."""
        if self._path is None:
            return None
        made_of = ingredients(self._models)
        try:
            record = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        whole = isinstance(record, dict) and {"made_of", "pixels", "digest", *TOLD} <= record.keys()
        if not whole or record["digest"] != told_digest(record):
            return None
        return record if made_of is not None and record["made_of"] == made_of else None


def ingredients(models: Models) -> str | None:
    """Hash the scenes, the word tables and the weights; None if the models are not those that ship."""
    mark = hashlib.blake2b(f"{code_digest()} {DrawnScenes()!r}".encode(), digest_size=16)
    files = [TABLE, ADDED, *(models.shipped(name) for name in CHOSEN)]
    try:
        for file in files:
            if file is None:
                return None
            mark.update(hashlib.blake2b(file.read_bytes()).digest())
    except OSError:
        return None
    return mark.hexdigest()


def pixels_digest(filled: FilledImage) -> str:
    """Hash the image as models see it, before and after."""
    mark = hashlib.blake2b(digest_size=16)
    for pixels in (filled.original, filled.pixels):
        mark.update(repr(pixels.shape).encode() + pixels.tobytes())
    return mark.hexdigest()


def told_digest(record: Mapping[str, Any]) -> str:
    """Hash what is told: a reply is passed on as it is, so it must not differ in one letter."""
    text = json.dumps([record[name] for name in TOLD], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
