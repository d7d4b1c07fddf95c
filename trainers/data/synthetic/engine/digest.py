"""Digest of code that draws: what was drawn by other code must not be read from the disk."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_ENGINE = Path(__file__).parent


@cache
def code_digest(*sources: Path) -> str:
    """Return sha256, 16 hexadecimal digits, of the engine and of the given files or folders of Python code."""
    digest = hashlib.sha256()
    for source in (_ENGINE, *sources):
        for path in sorted(source.glob("*.py")) if source.is_dir() else (source,):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
