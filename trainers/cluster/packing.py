"""A run folder as bytes: what a trainer on another machine needs of it, and what it has written since."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from trainers.checkpoints.files import parts
from trainers.runs import RunFolder
from trainers.runs.records import RunState, Scalar
from trainers.training.start import SENT, of_seed, read_start
from trainers.training.weights_file import WeightsFile

NEEDED = (
    "config.json",
    "owner",
    "part_of",
    "plugins.json",
    "processes",
    "revision",
    "tracker",
    "probe.safetensors",
    "log.txt",
)
"""Files of a run that its trainer reads, beside its database and its checkpoints."""
WRITTEN = re.compile(
    r"(test_queries|untrained|probe)\.safetensors|revision|thumbs/[0-9]{3,6}\.webp|emb/[0-9]{6,9}\.safetensors"
    r"|ckpt/(last|previous)\.safetensors"
)
"""Files that a trainer writes, by their path in the folder."""
APPENDED = ("log.txt",)
ROWS = 20_000
"""Numbers that travel at once, at most."""

Files = Mapping[str, bytes]
Stamp = tuple[int, int]


@dataclass(frozen=True)
class Seen:
    """How much of a remote folder is known here.

    Attributes:
        number: id of its last number.
        snapshot: its last one.
        stamps: size and time (ns) of its files, by path.
        lengths: of the files that are appended to.
    """

    number: int = 0
    snapshot: int = -1
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Update:
    """What a trainer has written since, and how far all of it is known then.

    Attributes:
        tails: of the files that are appended to.
        code: exit status of the trainer; None: it trains.
    """

    files: Files
    tails: Files
    numbers: tuple[Scalar, ...]
    snapshots: tuple[tuple[int, int, float], ...]
    state: RunState
    code: int | None
    seen: Seen


def packed(folder: RunFolder) -> dict[str, bytes]:
    """Return the files that a trainer of the run needs, by their path below the folder of the runs: of the run itself,
    of the run whose encoder it starts from, and the file of weights that it starts from.

    Raises:
        UserError: that run or that file is not there.
    """
    runs = [folder]
    if start := getattr(folder.config.single, "start", None):
        named = folder.beside(read_start(start)[0])
        runs += list({run.id: run for run in (named, of_seed(named, folder.config.single.seed))}.values())
    files = {f"{run.id}/{name}": content for run in runs for name, content in _needed(run)}
    written = getattr(folder.config.single, "weights", None)
    if written and not folder.has_checkpoint:
        whole, *beside = parts(WeightsFile.of(written).noted().path)
        files[f"{folder.id}/{SENT}"] = whole.read_bytes()
        files |= {f"{folder.id}/{part.name}": part.read_bytes() for part in beside}
    return files


def unpack(files: Files, root: Path) -> None:
    """Write the files below the folder of the runs of another machine."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def written_since(folder: RunFolder, seen: Seen, code: int | None) -> Update:
    """Return what the trainer of a folder has written since.

    Rows are read before files: a snapshot is never told without its embeddings.
    """
    rows = folder.db.rows(
        "SELECT id, arm, step, seconds, key, value FROM metrics WHERE id > ? ORDER BY id LIMIT ?", (seen.number, ROWS)
    )
    snapshots = tuple(row for row in folder.snapshots() if row[0] > seen.snapshot)
    state = folder.db.state()
    files, stamps = {}, dict(seen.stamps)
    for name, path in _files(folder.path):
        with suppress(OSError):  # replaced or gone between the two: the next look sees it
            about = path.stat()
            if stamps.get(name) != (stamp := (about.st_size, about.st_mtime_ns)):
                files[name], stamps[name] = path.read_bytes(), stamp
    tails = {name: _tail(folder.path / name, seen.lengths.get(name, 0)) for name in APPENDED}
    lengths = {name: seen.lengths.get(name, 0) + len(tail) for name, tail in tails.items()}
    last = max((k for k, _, _ in snapshots), default=seen.snapshot)
    known = Seen(number=rows[-1][0] if rows else seen.number, snapshot=last, stamps=stamps, lengths=lengths)
    return Update(
        files=files,
        tails={name: tail for name, tail in tails.items() if tail},
        numbers=tuple(Scalar(arm=a, step=s, seconds=t, key=k, value=v) for _, a, s, t, k, v in rows),
        snapshots=snapshots,
        state=state,
        code=None if len(rows) == ROWS else code,  # there is more to come
        seen=known,
    )


def _needed(run: RunFolder) -> Iterator[tuple[str, bytes]]:
    for name in (*NEEDED, "ckpt/last.safetensors", "ckpt/previous.safetensors"):
        path = run.path / name
        if path.is_file():
            yield name, path.read_bytes()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "run.db"
        run.db.copy_to(copy)
        yield "run.db", copy.read_bytes()


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    for below in ("", "thumbs", "emb", "ckpt"):
        with suppress(OSError):
            for file in sorted((path / below).iterdir()):
                name = file.relative_to(path).as_posix()
                if WRITTEN.fullmatch(name) and file.is_file():
                    yield name, file


def _tail(path: Path, after: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(after)
            return file.read()
    except OSError:
        return b""
