"""The answer to the page's first question, recorded: a first visit need not wait until two models have read 20,000
sentences.

The photo is drawn and painted over anew at every visit; what the models say about exactly these pixels is read from
``assets/recorded_answers/first.json``. It holds digests of everything it was made of and of what it tells: where one
thing differs, the record is passed over and the models are asked. A test asks them, too.

python -m explorer.object_removal.recorded    # makes the record anew: after a change to the models, scenes, words or
ranking
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.object_removal.datasets import DRAWN
from explorer.object_removal.first import CHOSEN, FILL, OPENING, TAKEN, K
from explorer.settings import ASSETS
from trainers.data.synthetic.scenes import DrawnScenes, code_digest, drawing_of
from trainers.object_removal.vocabulary import ADDED, TABLE

if TYPE_CHECKING:
    from explorer.object_removal.models import Models
    from explorer.object_removal.query import Question
    from explorer.object_removal.removal import Filled

RECORD = ASSETS / "recorded_answers" / "first.json"
TOLD = ("notes", "words", "models")
"""The parts of a reply that are recorded."""


class Recorded:
    """The recorded answer.

    Args:
        models: those that are asked.
        path: of the record; None: there is none, and every question is asked.
    """

    def __init__(self, models: Models, path: Path | None = RECORD) -> None:
        self._models = models
        self._path = path
        self._read = False
        self._record: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def is_about(self, question: Question) -> bool:
        """Whether this is the page's first question."""
        scene, group, wanted = question.photo.scene, question.photo.group, question.wanted
        return (
            self._path is not None
            and group is not None
            and group.name == DRAWN == question.group
            and scene is not None
            and scene.image_id == OPENING
            and drawing_of(scene) is not None
            and wanted.classes == (TAKEN,)
            and (question.fill, question.models, question.k) == (FILL, CHOSEN, K)
        )

    def told(self, filled: Filled) -> dict[str, Any] | None:
        """What the models say about the photo before and after; None if it was recorded for other pixels, by other
        models or with other words."""
        with self._lock:
            if not self._read:
                self._record, self._read = self._open(), True
        record = self._record
        if record is None or record["pixels"] != pixels_digest(filled):
            return None
        return {name: record[name] for name in TOLD}

    def _open(self) -> dict[str, Any] | None:
        made_of = ingredients(self._models)
        try:
            record = json.loads((self._path or Path()).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        whole = isinstance(record, dict) and {"made_of", "pixels", "digest", *TOLD} <= record.keys()
        if not whole or record["digest"] != told_digest(record):
            return None
        return record if made_of is not None and record["made_of"] == made_of else None


def ingredients(models: Models) -> str | None:
    """Digest of the scenes, the word tables and the weights; None if the models are not those that ship."""
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


def pixels_digest(filled: Filled) -> str:
    """Of the photo as models see it, before and after."""
    mark = hashlib.blake2b(digest_size=16)
    for pixels in (filled.original, filled.pixels):
        mark.update(repr(pixels.shape).encode() + pixels.tobytes())
    return mark.hexdigest()


def told_digest(record: Mapping[str, Any]) -> str:
    """Of what is told: a reply is passed on as it is, so not a letter of it may be another."""
    told = json.dumps([record[name] for name in TOLD], sort_keys=True)
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def record() -> dict[str, Any]:
    """Ask the models, which takes some seconds, and return what is to be recorded."""
    from explorer.object_removal.fields import Fields
    from explorer.object_removal.service import Objects
    from explorer.server.library import Library
    from explorer.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(runs=Path(folder), recorded=Path(folder))
        objects = Objects(settings, Library(settings.runs, settings.recorded), record=None)
        try:
            ref, taken = objects.first()
            asked = {"photo": ref, "remove": {"classes": [taken]}, "fill": FILL, "models": list(CHOSEN), "k": K}
            question = objects.answers.read(Fields(asked))
            reply = objects.answers.answer(question, patience=600.0, hurry=600.0)
            filled = objects.fills.take_out(question.photo, question.wanted, question.fill)
            told = {name: reply[name] for name in TOLD}
            made_of, pixels = ingredients(objects.models), pixels_digest(filled)
            return {"made_of": made_of, "pixels": pixels, "digest": told_digest(told), **told}
        finally:
            objects.close()


def main() -> None:
    """Write the record."""
    RECORD.write_text(json.dumps(record(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {RECORD.name}")


if __name__ == "__main__":
    main()
