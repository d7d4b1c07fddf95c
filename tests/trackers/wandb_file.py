"""Reads what Weights & Biases writes offline: records in the log format of LevelDB, each a protocol buffer."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BLOCK, _FILE_HEADER, _HEADER = 32768, 7, struct.Struct("<IHB")
_FULL, _LAST = 1, 4


def records(path: Path) -> Iterator[Any]:
    """Yield the records of a file in order."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, at, whole = path.read_bytes(), _FILE_HEADER, b""
    assert content[:4] == b":W&B"
    while at + _HEADER.size <= len(content):
        if _BLOCK - at % _BLOCK < _HEADER.size:  # the rest of a block is empty
            at += _BLOCK - at % _BLOCK
            continue
        _, length, kind = _HEADER.unpack_from(content, at)
        at += _HEADER.size
        whole += content[at : at + length]
        at += length
        if kind in (_FULL, _LAST):
            record = Record()
            record.ParseFromString(whole)
            yield record
            whole = b""
