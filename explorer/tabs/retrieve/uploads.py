"""Images that visitors search with: kept in memory for a while, as the files that were sent unless they are heavy."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from explorer.server.http import GoneError, still_kept
from explorer.server.image_files import encoded, is_heavy, lightened
from explorer.server.library import MEGABYTE
from explorer.server.turns import Turns
from trainers.data.decode import decode_query
from trainers.data.lru_cache import Cache

LARGEST = 30 * MEGABYTE
"""Most bytes of an image file that a visitor sends."""
KEPT = 96 * MEGABYTE
HEAVY = 2 * MEGABYTE
"""A larger file is kept as a smaller one, as is one of many pixels: each search unpacks it again."""
SIDE = 1024
"""Shorter side of what is kept of a heavy one, pixels; encoders take at most a half of it."""
SHOWN = 320
"""Side of an upload on the page, pixels."""
_REF = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, kw_only=True)
class Upload:
    """An image file.

    Attributes:
        ref: cannot be guessed.
        data: its content, or a smaller file of the same image; see :data:`HEAVY`.
        shown: its centre square as a JPEG, what an encoder sees of it.
    """

    ref: str
    data: bytes
    shown: bytes


class Uploads:
    """Keeps the uploads used last, of each visitor a share. Nothing is written to disk.

    Args:
        turns: in which uploads are unpacked; None: those of this tab alone.
    """

    def __init__(self, turns: Turns | None = None) -> None:
        self.turns = turns or Turns()
        self._kept: Cache[Upload] = Cache(limit=KEPT, cost=lambda upload: len(upload.data) + len(upload.shown))

    def add(self, data: bytes, visitor: str = "") -> Upload:
        """Keep an image file.

        Args:
            visitor: whose share of the room it takes.

        Raises:
            DataError: it is no image that can be used; says why.
        """
        with self.turns.reading(visitor, data):
            pixels = decode_query(data, channels=3, side=SHOWN)[0].numpy()
            kept = lightened(data, SIDE) if len(data) > HEAVY or is_heavy(data) else data
        upload = Upload(ref=secrets.token_hex(16), data=kept, shown=encoded(pixels))
        return self._kept.get(upload.ref, lambda: upload, visitor)

    def get(self, ref: str) -> Upload:
        """Return an upload.

        Raises:
            GoneError: there is none, or no longer.
        """
        if not _REF.fullmatch(ref):
            raise GoneError(f"There is no image {ref[:40]!r}.")
        return still_kept(self._kept, ref, "Your image is no longer kept here. Choose the file again.")
