"""What people write on a run: its name, a note and tags, in ``label.json`` of its folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from trainers.errors import RunError
from trainers.runs.atomic_files import write_bytes
from trainers.runs.regular import read_regular

FILE = "label.json"
NAME, NOTE, TAG, TAGS = 120, 2000, 40, 12
"""Most letters of a name, a note and a tag; most tags."""
_BYTES = 2**15


@dataclass(frozen=True, kw_only=True)
class Label:
    """Empty where nothing is written."""

    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()

    def checked(self) -> Label:
        """Return it without blanks around the texts and with each tag once.

        Raises:
            RunError: a text is too long, or there are too many tags.
        """
        tags = tuple(dict.fromkeys(" ".join(tag.split()) for tag in self.tags if tag.strip()))
        made = Label(name=" ".join(self.name.split()), note=self.note.strip(), tags=tags)
        if len(made.name) > NAME or len(made.note) > NOTE or len(tags) > TAGS or any(len(tag) > TAG for tag in tags):
            raise RunError(
                f"A name of at most {NAME} letters, a note of at most {NOTE:,} and at most {TAGS} tags of {TAG} "
                f"letters were needed; got {len(made.name)}, {len(made.note)}, and {len(tags)} tags."
            )
        return made


def read_label(folder: Path) -> Label:
    """Read the label of a run; an empty one where there is none, or none that can be read."""
    try:
        values = json.loads(read_regular(folder / FILE, _BYTES).decode())
        name, note, tags = values.get("name", ""), values.get("note", ""), values.get("tags", [])
        if isinstance(name, str) and isinstance(note, str) and all(isinstance(tag, str) for tag in tags):
            return Label(name=name, note=note, tags=tuple(tags)).checked()
    except (OSError, ValueError, RecursionError, AttributeError, TypeError, RunError):
        pass
    return Label()


def write_label(folder: Path, label: Label) -> Label:
    """Write the label of a run and return it as it is kept.

    Raises:
        RunError: as of :meth:`Label.checked`.
    """
    kept = label.checked()
    write_bytes(folder / FILE, json.dumps(asdict(kept)).encode(), home=folder)
    return kept
