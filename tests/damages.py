"""Everything that can be wrong with a run folder, as a table: a name, and what does the damage to a folder.

The folder is one of :func:`tests.synthetic.make_run` with its database closed. What is done stays below the folder or
beside it under ``<id>.elsewhere``; nothing needs a special right.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

Damage = Callable[[Path], None]
FILES = (
    "config.json",
    "run.db",
    "probe.safetensors",
    "thumbs/000.webp",
    "emb/000001.safetensors",
    "layout/000001.safetensors",
    "ckpt/last.safetensors",
    "owner",
    "lock",
    "log.txt",
    "output.txt",
    "ballast",
)
HUGE = 10**400


def elsewhere(folder: Path) -> Path:
    """A file outside of the folder, which links point to and nobody may read, change or remove."""
    path = folder.parent / f"{folder.name}.elsewhere"
    if not path.exists():
        path.write_text("not of this run")
    return path


# ------------------------------------------------------------- what lies there


def missing(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)


def empty(path: Path) -> None:
    missing(path)
    path.write_bytes(b"")


def half(path: Path) -> None:
    content = path.read_bytes() if path.is_file() else b"half of it"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content[: len(content) // 2])


def garbage(path: Path) -> None:
    missing(path)
    path.write_bytes(np.random.default_rng(0).bytes(4096))


def not_utf8(path: Path) -> None:
    missing(path)
    path.write_bytes(b'{"data": "\xff\xfe\x80"}')


def huge(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.truncate(2**40)


def a_folder(path: Path) -> None:
    missing(path)
    path.mkdir()
    (path / "inside").write_text("x")


def a_pipe(path: Path) -> None:
    missing(path)
    os.mkfifo(path)


def a_link_loop(path: Path) -> None:
    missing(path)
    path.symlink_to(path.name)


def a_broken_link(path: Path) -> None:
    missing(path)
    path.symlink_to("nowhere")


def a_socket(path: Path) -> None:
    missing(path)
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as made:
        folder = os.open(path.parent, os.O_RDONLY)
        made.bind(f"/proc/self/fd/{folder}/{path.name}" if Path("/proc/self/fd").is_dir() else str(path))
        os.close(folder)


def unreadable(path: Path) -> None:
    if path.exists():
        path.chmod(0)


ALIKE = (
    (missing, a_broken_link),
    (empty, half, garbage, not_utf8),
    (a_folder, a_pipe, a_link_loop, a_socket),
    (unreadable,),
)
"""Kinds of damage in classes: nothing there, other bytes, no regular file, no right to read."""
KINDS = tuple(kind for alike in ALIKE for kind in alike)


def _at(name: str, harm: Callable[[Path], None]) -> Damage:
    def damage(folder: Path) -> None:
        harm(folder / name)
        if name == "config.json":  # what has none yet and is seconds old is being made
            _age(folder)

    return damage


def _age(folder: Path) -> None:
    long_ago = time.time() - 3600
    os.utime(folder, (long_ago, long_ago))


# --------------------------------------------------------------- whole folders


def emptied(folder: Path) -> None:
    missing(folder)
    folder.mkdir()
    _age(folder)


def _linked_outside(name: str, folder: Path) -> None:
    missing(folder / name)
    (folder / name).symlink_to(elsewhere(folder))


def _moved_and_linked(name: str, folder: Path) -> None:
    place = folder.parent / f"{folder.name}.moved"
    (folder / name).rename(place)
    (folder / name).symlink_to(place)


def names_that_are_no_text(folder: Path) -> None:
    Path(os.fsdecode(bytes(folder / "emb") + b"/\xff\xfe.safetensors")).write_bytes(b"x")


FOLDERS: Mapping[str, Damage] = {
    "vanished": missing,
    "emptied": emptied,
    "folder is a file": empty,
    "folder is a link loop": a_link_loop,
    "folder is a link to a file": partial(_linked_outside, ""),
    "folder is a pipe": a_pipe,
    "folder is a link to a run": partial(_moved_and_linked, ""),
    "names that are no text": names_that_are_no_text,
    "links to itself": lambda folder: (folder / "again").symlink_to("."),
    "unreadable": unreadable,
}


# ---------------------------------------------------------------- configuration


def _config(change: Callable[[dict[str, Any]], object]) -> Damage:
    def damage(folder: Path) -> None:
        values = json.loads((folder / "config.json").read_text())
        changed = change(values)
        (folder / "config.json").write_text(json.dumps(values if changed is None else changed))

    return damage


def _config_text(text: str) -> Damage:
    return lambda folder: (folder / "config.json").write_text(text) and None


def _set(**values: object) -> Damage:
    return _config(lambda config: config.update(values))


CONFIGS: Mapping[str, Damage] = {
    "config is a list": _config(lambda _: [1, 2]),
    "config is null": _config_text("null"),
    "config is nested 100,000 deep": _config_text("[" * 100_000),
    "config has a number of 5,000 digits": _config_text('{"dim": ' + "9" * 5000 + "}"),
    "config is of another program": _config_text('{"name": "left-pad", "version": "1.3.0"}'),
    "config lacks the data": _config(lambda config: config.pop("data") and None),
    "config has an unknown setting": _set(wings=2),
    "losses are text": _set(losses="smooth_ap"),
    "losses are a hundred": _set(losses=[{"name": "smooth_ap", "parameters": {}}] * 100),
    "a loss has a list as its parameters": _set(losses=[{"name": "happier", "parameters": [1]}]),
    "a loss parameter is 1e999": _config_text(
        '{"data": {}, "losses": [{"name": "happier", "parameters": {"alpha": 1e999}}]}'
    ),
    "a loss is unknown": _set(losses=[{"name": "magic", "parameters": {}}] * 2),
    "dim is text": _set(dim="64"),
    "steps are huge": _set(steps=HUGE),
    "minutes are NaN": _set(minutes=float("nan")),
    "device is null": _set(device=None),
    "data has a number as its source": _set(data={"source": 5}),
    "data has text as its label columns": _set(data={"label_columns": "ab"}),
    "data has a lone surrogate in its source": _set(data={"source": "\ud800"}),
    "mend is text": _set(mend="yes"),
    "mend has unknown recipes": _set(
        mend={"scenes": {}, "model": {"name": "tiny_clip"}, "recipes": [{"wings": 2}, {"wings": 3}]}
    ),
    "one loss fewer than arms": _set(losses=[{"name": "smooth_ap", "parameters": {}}]),
}


# --------------------------------------------------------------------- database


def _sql(*statements: str, values: tuple[object, ...] = ()) -> Damage:
    def damage(folder: Path) -> None:
        with contextlib.closing(sqlite3.connect(folder / "run.db")) as connection, connection:
            for statement in statements:
                connection.execute(statement, values)

    return damage


def _overwritten(start: int) -> Damage:
    def damage(folder: Path) -> None:
        with (folder / "run.db").open("r+b") as file:
            file.seek(start)
            file.write(np.random.default_rng(1).bytes(3000))

    return damage


_STATE = "UPDATE state SET "
_ANY_ROWS = "DROP INDEX metrics_once"  # as folders had it before numbers were unique
_METRIC = "INSERT INTO metrics (arm, step, seconds, key, value)"
_FRAME = "INSERT INTO frames VALUES (77, 0, 1, 1, 1, 'pca')"
DATABASES: Mapping[str, Damage] = {
    **{f"state: {column} is {shown}": _sql(f"{_STATE}{column} = ?", values=(value,)) for column, shown, value in (
        ("phase", "null", None), ("phase", "unknown", "dancing"), ("phase", "bytes", b"\xff"), ("phase", "a number", 7),
        ("step", "null", None), ("step", "text", "many"), ("step", "negative", -3), ("step", "2^62", 2**62),
        ("step", "bytes", b"\x00"), ("step", "half", 1.5), ("seconds", "text", "long"), ("seconds", "null", None),
        ("seconds", "infinite", float("inf")), ("planned_steps", "text", "many"),
        ("planned_steps", "infinite", float("inf")),
        ("message", "bytes", b"\xff\xfe"), ("message", "null", None), ("error", "bytes", b"\xff"),
        ("error", "a number", 3),
        ("updated", "text", "today"), ("updated", "infinite", float("-inf")), ("updated", "null", None),
    )},
    "state: text that is no UTF-8": _sql(f"{_STATE}message = CAST(x'fffe80' AS TEXT)"),
    "state: no row": _sql("DELETE FROM state"),
    **{f"no table {table}": _sql(f"DROP TABLE {table}") for table in (
        "state", "metrics", "snapshots", "frames", "control")},
    "a table lacks a column": _sql("ALTER TABLE state DROP COLUMN error"),
    "a table without end": _sql(
        "DROP TABLE metrics",
        "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS id, 0 AS arm, 0 AS step, 0 AS seconds, 'loss' AS key, 1.0 AS value FROM n",
    ),
    "another version": _sql("PRAGMA user_version = 99"),
    "an arm beyond the losses": _sql(f"{_METRIC} VALUES (9, 1, 1, 'R_at_1', 1)"),
    "an arm below zero": _sql(f"{_METRIC} VALUES (-1, 1, 1, 'R_at_1', 1)"),
    "an arm that is text": _sql(f"{_METRIC} VALUES ('x', 1, 1, 'R_at_1', 1)"),
    "a value that is text": _sql("UPDATE metrics SET value = 'high'"),
    "a value that is infinite": _sql("UPDATE metrics SET value = ?", values=(float("inf"),)),
    "values that are null": _sql("UPDATE metrics SET value = NULL"),
    "a key that is null": _sql("UPDATE metrics SET key = NULL"),
    "a step that is text": _sql(_ANY_ROWS, "UPDATE metrics SET step = 'one'"),
    "a snapshot whose step is text": _sql("UPDATE snapshots SET step = 'one'"),
    "no snapshots": _sql("DELETE FROM snapshots"),
    "a frame whose limit is null": _sql('UPDATE frames SET "limit" = NULL'),
    "a frame whose limit is zero": _sql('UPDATE frames SET "limit" = 0'),
    "a frame whose method is bytes": _sql("UPDATE frames SET method = x'ff'"),
    "a frame whose arm is 7": _sql("UPDATE frames SET arm = 7 WHERE arm = 1"),
    "a frame whose number is text": _sql("UPDATE frames SET k = 'k' || k"),
    "a frame without a file": _sql("INSERT INTO snapshots VALUES (77, 7, 7)", _FRAME),
    "a command that is bytes": _sql("INSERT INTO control (command, sent) VALUES (x'ff', 1)"),
    "a database of another program": lambda folder: (missing(folder / "run.db"), _sql("CREATE TABLE t (a)")(folder))[0],
    "a header overwritten": _overwritten(0),
    "a page overwritten": _overwritten(4096),
    "a log of garbage": _at("run.db-wal", garbage),
    "a log that is a pipe": _at("run.db-wal", a_pipe),
    "an index that is a folder": _at("run.db-shm", a_folder),
    "a journal of garbage": _at("run.db-journal", garbage),
}  # fmt: skip


# ---------------------------------------------------------------------- tensors


def _header_of(path: Path) -> dict[str, Any]:
    size = int.from_bytes(path.read_bytes()[:8], "little")
    return json.loads(path.read_bytes()[8 : 8 + size])


def _about(**changes: object) -> Damage:
    """The probe's description, changed."""

    def damage(folder: Path) -> None:
        path = folder / "probe.safetensors"
        about = json.loads(_header_of(path)["__metadata__"]["about"]) | changes
        save_file(load_file(path), path, {"about": json.dumps(about)})

    return damage


def _tensors(name: str, change: Callable[[dict[str, np.ndarray]], object], about: str | None = None) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        metadata = _header_of(path).get("__metadata__", {})
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path, metadata if about is None else {"about": about})

    return damage


def _header(folder: Path) -> None:
    path = folder / "emb" / "000001.safetensors"
    path.write_bytes((2**62).to_bytes(8, "little") + path.read_bytes()[8:])


PROBE, EMB, MAP = "probe.safetensors", "emb/000001.safetensors", "layout/000001.safetensors"
TENSORS: Mapping[str, Damage] = {
    "probe: no description": _tensors(PROBE, lambda _: None, about="{}"),
    "probe: a description that is no JSON": _tensors(PROBE, lambda _: None, about="{"),
    "probe: levels are a number": _about(levels=3),
    "probe: too few names": _about(names=[["a"], ["b"], ["c"]]),
    "probe: the title is null": _about(data_title=None),
    "probe: notes are text": _about(notes="note"),
    "probe: tiles of no size": _about(tile=0),
    "probe: sheets are huge": _about(sheets=HUGE),
    "probe: no labels": _tensors(PROBE, lambda t: t.pop("labels")),
    "probe: labels of one dimension": _tensors(PROBE, lambda t: t.update(labels=t["labels"][:, 0].copy())),
    "probe: labels are fractions": _tensors(PROBE, lambda t: t.update(labels=t["labels"].astype(np.float32))),
    "probe: labels without names": _tensors(PROBE, lambda t: t.update(labels=t["labels"] + 999)),
    "probe: labels below zero": _tensors(PROBE, lambda t: t.update(labels=t["labels"] - 5)),
    "probe: half of the points": _tensors(PROBE, lambda t: t.update({k: v[:5].copy() for k, v in t.items()})),
    "probe: no points": _tensors(PROBE, lambda t: t.update({k: v[:0].copy() for k, v in t.items()})),
    "embeddings: a header of 4 exabytes": _header,
    "embeddings: one arm": _tensors(EMB, lambda t: t.pop("arm1")),
    "embeddings: one dimension": _tensors(EMB, lambda t: t.update(arm0=t["arm0"][0].copy())),
    "embeddings: NaN": _tensors(EMB, lambda t: t["arm0"].fill(np.nan)),
    "embeddings: half of the points": _tensors(EMB, lambda t: t.update({k: v[:5].copy() for k, v in t.items()})),
    "map: one arm": _tensors(MAP, lambda t: t.pop("xy1")),
    "map: three dimensions": _tensors(MAP, lambda t: t.update(xy0=np.zeros((48, 3), np.uint16))),
    "map: neighbours beyond the points": _tensors(MAP, lambda t: t["nn0"].fill(60_000)),
    "map: half of the points": _tensors(MAP, lambda t: t.update({k: (v % 5)[:5].copy() for k, v in t.items()})),
}


def _named(name: str, kind: Callable[[Path], None]) -> str:
    return f"{name}: {kind.__name__.replace('_', ' ')}"


def _table() -> dict[str, Damage]:
    table = {_named(name, kind): _at(name, kind) for name in FILES for kind in KINDS}
    table |= {f"{name}: a link outside": partial(_linked_outside, name) for name in FILES}
    table |= {f"{name}: huge": _at(name, huge) for name in ("config.json", "owner", "thumbs/000.webp", "log.txt")}
    for name in ("thumbs", "emb", "layout", "ckpt"):
        table |= {_named(f"{name}/", kind): _at(name, kind) for kind in (missing, a_pipe, a_link_loop)}
        table[f"{name}/: a file"] = _at(name, empty)
    table |= {f"{name}/: a link": partial(_moved_and_linked, name) for name in ("thumbs", "emb", "layout")}
    return table | FOLDERS | CONFIGS | DATABASES | TENSORS


DAMAGES: Mapping[str, Damage] = _table()
"""Name of each kind of damage, and the function that does it to a run folder."""


def _one_of_each() -> dict[str, Damage]:
    """Of each class one kind at every file, in turn; of each column one wrong value; all else."""
    left_out = {_named(name, kind) for name in FILES for kind in KINDS}
    for turn, name in enumerate(FILES):
        left_out -= {_named(name, alike[turn % len(alike)]) for alike in ALIKE}
    columns = [name for name in DATABASES if name.startswith("state: ") and " is " in name]
    first = {name.partition(" is ")[0]: name for name in reversed(columns)}
    left_out |= {*columns} - {*first.values()}
    return {name: damage for name, damage in DAMAGES.items() if name not in left_out}


ONE_OF_EACH: Mapping[str, Damage] = _one_of_each()
"""The same without those that another stands for."""
