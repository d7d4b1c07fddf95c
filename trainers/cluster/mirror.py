"""The run folder here, in which everybody reads, of a run that trains on another machine."""

from __future__ import annotations

from trainers.cluster.packing import APPENDED, WRITTEN, Written
from trainers.errors import RunError
from trainers.runs import RunFolder
from trainers.runs.files import write_bytes
from trainers.runs.records import PHASES
from trainers.runs.regular import open_regular


def rewind(folder: RunFolder) -> None:
    """Make a folder what its trainer makes of it: without what was written after its checkpoint. Only for the holder of
    its lock.
    """
    folder.take_over()
    checkpoint = folder.read_checkpoint()
    folder.rewind(0 if checkpoint is None else checkpoint[1]["step"])


def write(folder: RunFolder, written: Written, *, afresh: bool = False) -> None:
    """Write what a trainer elsewhere has written since: files first, then the rows that tell of them, its state last.

    Args:
        afresh: all of it is there once more, so that the log here is replaced.

    Raises:
        RunError: the folder cannot be written, or the state is none.
        OSError: a file of it cannot be.
    """
    if written.state.phase not in PHASES:
        raise RunError(f"The cluster sent {written.state.phase!r:.40} as the state of run {folder.id}, which is none.")
    for name, content in sorted(written.files.items(), reverse=True):  # the previous checkpoint before the last
        if WRITTEN.fullmatch(name):
            write_bytes(folder.path / name, content, home=folder.path, durable=name.startswith("ckpt"))
    for name, tail in ((name, tail) for name, tail in written.tails.items() if name in APPENDED):
        if afresh:
            write_bytes(folder.path / name, tail, home=folder.path)
            continue
        with open_regular(folder.path / name) as file:
            file.write(tail)
    folder.db.add_metrics(written.numbers)
    folder.db.write("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", written.snapshots)
    folder.db.set_state(written.state)
