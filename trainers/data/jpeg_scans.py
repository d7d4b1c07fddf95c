"""The scans of a JPEG file, counted by its markers before anything is unpacked (ITU-T T.81, annex B)."""

from __future__ import annotations

import re

MOST_SCANS = 32
"""Scans of a file that is unpacked: encoders write 1 to 15. Each goes over all coefficients, and one that refines
nothing takes a few bytes."""
_MARKER = re.compile(rb"\xff([^\x00\xff\xd0-\xd7])")  # not a byte of the data that happens to be 255, nor a restart
_END, _SCAN = 0xD9, 0xDA
_ALONE = (0x01, 0xD8)  # markers without a segment


def scans(data: bytes) -> int:
    """Count the scans of the first image in ``data``, up to one more than :data:`MOST_SCANS`.

    Previews inside the file's remarks, and what follows the image, do not count.
    """
    count, offset = 0, 2
    while count <= MOST_SCANS and (marker := _MARKER.search(data, offset)):
        code, offset = marker[1][0], marker.end()
        if code == _END:
            break
        count += code == _SCAN
        if code not in _ALONE:
            offset += int.from_bytes(data[offset : offset + 2], "big")
    return count
