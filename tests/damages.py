"""What can become of a run folder: truncated, overwritten, replaced and missing files, and worse.

Every entry of :data:`DAMAGES` changes one folder. What is random in it follows from the folder's name, so that the
same run is always damaged in the same way.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]
DEEP = "[" * 100_000
NEVER = random.Random(0)  # for ways in which nothing is random


def _gone(path: Path, draws: random.Random = NEVER) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _truncated(path: Path, draws: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: draws.randrange(len(content) or 1)])


def _flipped(path: Path, draws: random.Random) -> None:
    content = bytearray(path.read_bytes()) or bytearray(1)
    for _ in range(max(8, len(content) // 500)):
        content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
    path.write_bytes(content)


def _empty(path: Path, draws: random.Random = NEVER) -> None:
    path.write_bytes(b"")


def _noise(path: Path, draws: random.Random = NEVER) -> None:
    _gone(path)
    path.write_bytes(draws.randbytes(3000))


def _loop(path: Path, draws: random.Random = NEVER) -> None:
    _gone(path)
    path.symlink_to(path.name)


def _dangling(path: Path, draws: random.Random = NEVER) -> None:
    _gone(path)
    path.symlink_to("nowhere")


def _pipe(path: Path, draws: random.Random = NEVER) -> None:
    _gone(path)
    os.mkfifo(path)


def _folder(path: Path, draws: random.Random = NEVER) -> None:
    _gone(path)
    path.mkdir()
    (path / "inside").write_text("")


def _device(path: Path, draws: random.Random = NEVER) -> None:
    _gone(path)
    path.symlink_to("/dev/zero")


WAYS: dict[str, Callable[[Path, random.Random], None]] = {
    "is missing": _gone,
    "is cut off": _truncated,
    "has flipped bits": _flipped,
    "is empty": _empty,
    "is noise": _noise,
    "links to itself": _loop,
    "links to nothing": _dangling,
    "is a pipe": _pipe,
    "is a folder": _folder,
    "is endless": _device,
}
FILES = {
    "config.json": tuple(WAYS),
    "owner": tuple(WAYS),
    "run.db": tuple(WAYS),
    "probe.safetensors": tuple(WAYS),
    "thumbs/000.webp": tuple(WAYS),
    "emb/000002.safetensors": tuple(WAYS),
    "layout/000002.safetensors": tuple(WAYS),
    "log.txt": ("is noise", "is a pipe", "is a folder", "links to itself"),
    "lock": ("is a folder", "links to itself", "is a pipe", "is noise"),
    "run.db-wal": ("is a folder", "is noise", "is a pipe", "links to itself"),
    "run.db-shm": ("is a folder", "is noise", "is a pipe"),
    "output.txt": ("is a folder", "is a pipe", "links to itself"),
}
FOLDERS = {name: ("is missing", "links to itself", "is noise", "is a pipe") for name in ("thumbs", "emb", "layout")}
CONFIGS = {
    "not UTF-8": b"\xff\xfe{\x00}",
    "null": b"null",
    "a list": b"[]",
    "a number": b"1e999",
    "nested a hundred thousand deep": DEEP.encode(),
    "an unknown loss": json.dumps({"losses": [{"name": "no_such_loss", "parameters": {}}]}).encode(),
    "losses of a wrong type": b'{"losses": 7}',
    "no losses": b'{"losses": []}',
    "a number for the images": b'{"data": 3}',
    "a lone surrogate": b'{"data": {"source": "\\ud800"}}',
    "a number too large for a float": b'{"minutes": 1' + b"0" * 400 + b"}",
    "a field that nobody knows": b'{"colour": "blue"}',
}
STATEMENTS = {
    "lacks the table of states": "DROP TABLE state",
    "lacks the table of numbers": "DROP TABLE metrics",
    "lacks the table of frames": "DROP TABLE frames",
    "lacks the table of snapshots": "DROP TABLE snapshots",
    "lacks the table of commands": "DROP TABLE control",
    "has no state": "DELETE FROM state",
    "has an unknown phase": "UPDATE state SET phase='asleep'",
    "has no phase": "UPDATE state SET phase=NULL",
    "has a phase of bytes": "UPDATE state SET phase=x'ff00'",
    "has text for a step": "UPDATE state SET step='many', seconds='long', updated='then'",
    "has null for its numbers": "UPDATE state SET step=NULL, seconds=NULL, updated=NULL",
    "has infinite seconds": "UPDATE state SET seconds=9e999",
    "has numbers of arms that are not there": "UPDATE metrics SET arm=arm+77",
    "has text for numbers": "UPDATE metrics SET value='high'",
    "has numbers without a key": "UPDATE metrics SET key=NULL",
    "has text for frames": "UPDATE frames SET k='first' WHERE k=0",
    "has frames of too many arms": 'INSERT INTO frames SELECT k, arm + 9, "limit", quality, drift, method FROM frames',
    "has snapshots at negative steps": "UPDATE snapshots SET step=-5",
    "is of another version": "PRAGMA user_version=99",
    "is queued": "UPDATE state SET phase='queued'",
    "claims to train": "UPDATE state SET phase='running'",
}


def _in(name: str, way: Callable[[Path, random.Random], None]) -> Damage:
    return lambda run: way(run / name, random.Random(run.name))


def _written(content: bytes) -> Damage:
    return lambda run: (run / "config.json").write_bytes(content) and None


def _executed(sql: str) -> Damage:
    def damage(run: Path) -> None:
        with contextlib.closing(sqlite3.connect(run / "run.db")) as connection, connection:
            connection.execute(sql)

    return damage


def _queued(damage: Damage) -> Damage:
    """The same to a run that waits for its turn."""

    def both(run: Path) -> None:
        _executed("UPDATE state SET phase='queued'")(run)
        damage(run)

    return both


def _all() -> dict[str, Damage]:
    found: dict[str, Damage] = {}
    for table in (FILES, FOLDERS):
        for name, ways in table.items():
            found |= {f"{name} {way}": _in(name, WAYS[way]) for way in ways}
    found |= {f"config.json is {what}": _written(content) for what, content in CONFIGS.items()}
    found |= {f"run.db {what}": _executed(sql) for what, sql in STATEMENTS.items()}
    found["owner is not UTF-8"] = lambda run: (run / "owner").write_bytes(b"\xff\xfe") and None
    waiting = [name for name in found if name.startswith(("config.json", "owner", "lock"))]
    return found | {f"while it waits, {name}": _queued(found[name]) for name in waiting}


DAMAGES: dict[str, Damage] = _all()
"""By what it does, in words."""
