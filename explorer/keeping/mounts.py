"""On what kind of file system a folder lies, by the table of mounts."""

from __future__ import annotations

import re
from pathlib import Path

from trainers.errors import RunError

TABLE = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb3",
        "smbfs",
    ]
)
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuse.overlayfs", "fuse.lxcfs"})  # containers without root


def file_system(folder: Path, table: Path = TABLE) -> str:
    """Return the type of file system that a folder lies on, or would; empty where there is no table of mounts."""
    try:
        lines = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    path, kind, depth = folder.resolve(), "", -1
    for line in lines:
        mount, _, source = line.partition(" - ")
        parts = mount.split()
        if len(parts) < 5 or not source:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), parts[4]))
        if path.is_relative_to(point) and len(point.parts) >= depth:  # of two at one point the later one is seen
            kind, depth = source.split()[0], len(point.parts)
    return kind


def check_local(runs: Path, table: Path = TABLE) -> None:
    """Refuse a folder of runs on a network file system, where SQLite and locks do not hold.

    Raises:
        RunError: with what to do.
    """
    kind = file_system(runs, table)
    if kind in _NETWORK or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE):
        raise RunError(
            f"Runs need a local disk, since their databases and locks fail on a network file system; {runs} is on one "
            f"({kind}). Choose a local folder with --runs, and name this one with --keep: runs are then copied there."
        )
