"""This program as one file, so that a job trains with the code that checked its run, changes on this machine included.

The file is the same for the same code: nothing in it depends on when, where or by whom it is written.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

PROGRAM = "program.tar.gz"
_ROOT = Path(__file__).resolve().parents[2]
_PARTS = ("requirements.txt", "trainers", "assets/models", "assets/vocabularies")
"""What training needs; the page, the documentation and the recordings stay."""


def write_program(path: Path) -> Path:
    """Write the program to ``path`` as a compressed archive; returns ``path``."""
    with (
        path.open("wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for source in _sources():
            content = source.read_bytes()
            entry = tarfile.TarInfo(source.relative_to(_ROOT).as_posix())
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return path


def _sources() -> Iterator[Path]:
    for part in _PARTS:
        whole = _ROOT / part
        for path in [whole] if whole.is_file() else sorted(whole.rglob("*")):
            hidden = any(name.startswith(".") for name in path.relative_to(_ROOT).parts)
            if path.is_file() and not hidden and "__pycache__" not in path.parts:
                yield path
