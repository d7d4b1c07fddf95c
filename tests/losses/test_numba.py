"""What is kept of compiled functions: damage, a full disk and two programs at once cost a compilation, no run."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from trainers.losses._numba import compiled, is_private


def halved(x):
    return x / 2


def _emptied(file: Path) -> None:
    file.write_bytes(b"")


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-200])


def _of_other_types(file: Path) -> None:
    """As two programs leave it that kept a function at once, each for its own types."""
    if file.suffix == ".nbc":
        other = file.parent.parent / "other"
        other.mkdir()
        numba.config.CACHE_DIR = str(other)
        compiled()(halved)(np.float32(3))
        file.write_bytes(next(other.rglob("*.nbc")).read_bytes())


@pytest.mark.parametrize("damage", [_emptied, _cut, _of_other_types], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_damaged_compiled_code_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None], suffix: str
) -> None:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    assert compiled()(halved)(3.0) == 1.5
    damage(next(folder.rglob(f"*.{suffix}")))
    numba.config.CACHE_DIR = str(folder)
    spoilt = damage is not _of_other_types or suffix == "nbc"
    for hits in (0 if spoilt else 1, 1):
        function = compiled()(halved)
        assert function(5.0) == 2.5
        assert sum(function.stats.cache_hits.values()) == hits


def test_a_full_disk_keeps_nothing_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_data", full)
    for _ in range(2):  # the second time the index names what is not there
        assert compiled()(halved)(3.0) == 1.5
    assert not list(tmp_path.rglob("*.nbc"))


def test_nothing_is_compiled_where_numba_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    with pytest.raises(RuntimeError, match="NUMBA_DISABLE_JIT"):
        compiled()


def test_a_group_of_one_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    folder.chmod(0o775)
    if os.geteuid() == 0:
        os.chown(folder, -1, 77)  # any but the system's own group
    group = folder.stat().st_gid
    named = SimpleNamespace(pw_name="ada", pw_gid=group)
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: named)
    for members, private in (([], True), (["ada"], True), (["eve"], False)):
        entry = SimpleNamespace(gr_name="ada", gr_gid=group, gr_mem=members)
        monkeypatch.setattr("grp.getgrgid", lambda _gid, entry=entry: entry)
        assert is_private(folder) == private
