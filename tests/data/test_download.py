"""A download of several files without a network: what it says, and when it gives up."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from trainers.data.hf_logging import ThrottledError
from trainers.data.labelled.download import PATIENCE_SECONDS, Download
from trainers.data.labelled.repository import Repository
from trainers.errors import DataError

FILES = {f"data/{n}.parquet": 1_000_000 * (n + 1) for n in range(3)}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A cache that holds the first file already."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots" / "sha" / "data").mkdir(parents=True)
    (tmp_path / "snapshots" / "sha" / "data" / "0.parquet").touch()
    (tmp_path / "blobs" / "of-another-commit").write_bytes(bytes(5000))
    return tmp_path


def run(copy: Path, fetch: object, monkeypatch: pytest.MonkeyPatch, still: float = 5.0) -> list[tuple[str, float]]:
    told: list[tuple[str, float]] = []
    monkeypatch.setattr("trainers.data.labelled.download.fetched", fetch)
    repository = Repository(name="some/set", sha="sha", files=FILES)
    Download(repository, FILES, copy, lambda text, share: told.append((text, share)), still).run()
    return told


def test_bytes_and_files_count_what_was_there_and_nothing_of_other_commits(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    told = run(copy, lambda _, path: asked.append(path), monkeypatch)
    assert sorted(asked) == ["data/1.parquet", "data/2.parquet"]
    assert told[-1] == ("Downloading some/set: 6.0 MB of 6.0 MB, 3 of 3 files", 0.99)


def test_a_part_that_grows_moves_the_bar_and_one_that_does_not_ends_it(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()

    def fetch(_: Repository, path: str) -> None:
        (copy / "blobs" / f"{Path(path).stem}.incomplete").write_bytes(bytes(250_000))
        never.wait(3)

    with pytest.raises(DataError, match=r"'some/set' has stood still for 0\.5 s at 1\.5 MB of 6\.0 MB"):
        run(copy, fetch, monkeypatch, still=0.5)
    never.set()


def test_a_throttling_that_lasts_longer_than_a_window_is_said(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(_: Repository, __: str) -> None:
        error = ThrottledError("asked too often")
        error.seconds = PATIENCE_SECONDS + 1
        raise error

    with pytest.raises(ThrottledError):
        run(copy, fetch, monkeypatch)
