"""A dataset's repository on the Hub: its commit and files, asked for once before anything else; and its image files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from trainers.data import access
from trainers.data.hf_errors import explained
from trainers.data.hf_logging import LOOK_SECONDS
from trainers.data.hub_step import check_wanted
from trainers.data.labelled.files import SUFFIXES, File

TABLES = (".parquet", ".arrow", ".csv", ".tsv", ".json", ".jsonl", ".tar")
"""What ``datasets`` reads better than we do, WebDataset among them."""
MANY = 1000
"""Loose images from which on a zip is fetched sooner: each is three requests."""


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A repository at one commit.

    Attributes:
        name: ``owner/name``.
        sha: of the commit.
        files: bytes by path, hidden files left out.
    """

    name: str
    sha: str
    files: Mapping[str, int]

    @property
    def images(self) -> list[str]:
        """Its image files, if it holds no tables and no zip file."""
        kinds = {PurePosixPath(path).suffix.lower() for path in self.files}
        if kinds & {*TABLES, ".zip", ".py"}:
            return []
        return sorted(path for path in self.files if PurePosixPath(path).suffix.lower() in SUFFIXES)

    @property
    def archive(self) -> str | None:
        """Its zip file, if that is all that holds images."""
        kinds = Counter(PurePosixPath(path).suffix.lower() for path in self.files)
        if kinds[".zip"] != 1 or any(kinds[kind] for kind in (*TABLES, ".py", *SUFFIXES)):
            return None
        return next(path for path in self.files if path.lower().endswith(".zip"))


def repository(name: str, revision: str | None) -> Repository:
    """Ask the Hub for a dataset's commit and files; one request, which is not repeated.

    Raises:
        DataError: it is missing, private, gated or throttled, or the Hub has a fault or does not answer.
    """
    from huggingface_hub import HfApi

    with explained(name):
        about = HfApi(token=access.token()).dataset_info(
            name, revision=revision, timeout=LOOK_SECONDS, files_metadata=True
        )
    files = {file.rfilename: file.size or 0 for file in about.siblings or []}
    shown = {path: size for path, size in files.items() if not any(part.startswith(".") for part in path.split("/"))}
    return Repository(name=name, sha=about.sha or "", files=shown)


@dataclass(frozen=True, kw_only=True)
class RemoteFolder:
    """The image files of a repository, each fetched when it is read.

    It is a :class:`trainers.data.labelled.files.FileSource`.
    """

    repository: Repository

    @property
    def path(self) -> Path:
        """Its name, for messages."""
        return Path(self.repository.name)

    def files(self) -> Iterator[File]:
        """Yield its image files; their time of change is that of no file."""
        for path in self.repository.images:
            yield File(parts=tuple(path.split("/")), size=self.repository.files[path], changed=0)

    def listed(self, suffixes: tuple[str, ...] | None) -> Iterator[File]:
        """Yield its files whose names end so (small letters); None: all."""
        for path, size in sorted(self.repository.files.items()):
            if suffixes is None or PurePosixPath(path).suffix.lower() in suffixes:
                yield File(parts=tuple(path.split("/")), size=size, changed=0)

    def others(self) -> Counter[str]:
        """Count its other files by what ends their names."""
        images = set(self.repository.images)
        return Counter(PurePosixPath(path).suffix.lower() for path in self.repository.files if path not in images)

    def notes(self) -> list[str]:
        """Say nothing: names on the Hub are UTF-8, and it has no links."""
        return []

    def read(self, file: File) -> bytes | None:
        """Fetch a file; None if it is gone."""
        path = fetched(self.repository, "/".join(file.parts))
        return path.read_bytes()


def fetched(repository: Repository, path: str) -> Path:
    """Fetch one file, or return the copy of it that is there.

    Raises:
        DataError: as of :func:`repository`.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils import tqdm

    class Watched(tqdm):
        """Is told of every part that has come, and ends the download where nobody waits for it any more."""

        def update(self, n: float | None = 1) -> bool | None:
            check_wanted(self)
            return super().update(n)

    with explained(repository.name):
        return Path(
            hf_hub_download(
                repository.name,
                path,
                repo_type="dataset",
                revision=repository.sha or None,
                token=access.token(),
                tqdm_class=Watched,
            )
        )
