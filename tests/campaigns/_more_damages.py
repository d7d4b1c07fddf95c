"""Damages that differ from run to run: files cut off and bits flipped at places that follow from the run's name."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.damages import FILES, Damage, missing


def _cut(path: Path, draws: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: draws.randrange(len(content) or 1)])


def _flipped(path: Path, draws: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    for _ in range(max(8, len(content) // 500)):
        content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
    path.write_bytes(content)


def _overwritten(path: Path, draws: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    start = draws.randrange(len(content))
    noise = draws.randbytes(draws.randrange(1, 4000))
    content[start : start + len(noise)] = noise
    path.write_bytes(content)


def _endless(path: Path, _draws: random.Random) -> None:
    missing(path)
    path.symlink_to("/dev/zero")


WAYS: Mapping[str, Callable[[Path, random.Random], None]] = {
    "cut off somewhere": _cut,
    "flipped bits": _flipped,
    "partly overwritten": _overwritten,
    "endless": _endless,
}


def queued(folder: Path) -> None:
    """Let the run wait for its turn."""
    with contextlib.closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        connection.execute("UPDATE state SET phase = 'queued'")


def _at(name: str, way: Callable[[Path, random.Random], None]) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        way(path, random.Random(folder.name))

    return damage


MORE: Mapping[str, Damage] = {f"{name}: {words}": _at(name, way) for name in FILES for words, way in WAYS.items()}
