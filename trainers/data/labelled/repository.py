"""A dataset's repository on the Hub: its commit and files, asked for once before anything else; and its image files."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from trainers.data import access
from trainers.data.hf_errors import explained
from trainers.data.hub_requests import LOOK_SECONDS, check_wanted
from trainers.data.labelled import label_tables
from trainers.data.labelled.files import SUFFIXES, Archive, File

FOREIGN = (".parquet", ".arrow", ".tar")
"""What only ``datasets`` reads, WebDataset among them."""
_TEXTS = (*label_tables.SUFFIXES, ".json", ".txt", ".mat")
MANY = 1000
"""Loose images from which on a zip is fetched sooner: each is three requests."""
_MOST_LISTS = 50
_PART = 206
_AT_ONCE = 1 << 17  # bytes of a zip file that are fetched at a time


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
        """Its image files."""
        return self.ending(SUFFIXES)

    @property
    def zips(self) -> list[str]:
        """Its zip files."""
        return self.ending((".zip",))

    @property
    def tables(self) -> list[str]:
        """Tables that are read beside images."""
        return self.ending(label_tables.SUFFIXES)

    @property
    def wanted(self) -> list[str]:
        """What is fetched to read it as a folder: images, zip files, and the outermost of tables and lists."""
        small = (path for path in self.ending(_TEXTS) if self.files[path] <= label_tables.MOST_BYTES)
        texts = sorted(small, key=lambda path: (path.count("/"), not path.endswith(label_tables.SUFFIXES), path))
        return [*self.images, *self.zips, *texts[:_MOST_LISTS]]

    def ending(self, suffixes: tuple[str, ...]) -> list[str]:
        """Return its files whose names end so (small letters), in order."""
        return sorted(path for path in self.files if PurePosixPath(path).suffix.lower() in suffixes)

    def plain(self, *, metadata: bool) -> bool | None:
        """Return whether it is read as a folder, not by ``datasets``; None: if its zip files hold images.

        Args:
            metadata: as of :func:`trainers.data.labelled.opening.open_folder`.
        """
        script = f"{self.name.rpartition('/')[2]}.py"
        if self.ending(FOREIGN) or script in self.files or (metadata and (self.tables or self.zips)):
            return False
        if len(self.images) > len(self.tables):  # a picture or two of a table's card are not its images
            return True
        return None if self.zips else False


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

    It is a :class:`trainers.data.labelled.files.FileSource`; ``encoding``: of names in its zip files.
    """

    repository: Repository
    encoding: str | None = None

    @property
    def path(self) -> Path:
        """Its name, for messages."""
        return Path(self.repository.name)

    def files(self) -> Iterator[File]:
        """Yield its image files; their time of change is that of no file."""
        return self.listed(SUFFIXES)

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

    def opened(self, file: File) -> Archive:
        """Open a zip file of it, of which no more is fetched than is looked at.

        Raises:
            DataError: as of :class:`trainers.data.labelled.files.Archive` and :func:`repository`.
        """
        path = "/".join(file.parts)
        stream = RemoteBytes(self.repository, path, file.size)
        return Archive(self.path / path, self.encoding, io.BufferedReader(stream, _AT_ONCE))


class RemoteBytes(io.RawIOBase):
    """A file of a repository of which parts are fetched as they are read.

    Args:
        size: of the file in bytes.
    """

    def __init__(self, repository: Repository, path: str, size: int) -> None:
        self._repository = repository
        self._path = path
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """Say that it is."""
        return True

    def seekable(self) -> bool:
        """Say that it is."""
        return True

    def tell(self) -> int:
        """Return the place in it."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in it, and return that."""
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fetch as many bytes as the buffer holds, or as there are.

        Raises:
            DataError: as of :func:`repository`.
        """
        count = min(len(buffer), self._size - self._at)
        if count <= 0:
            return 0
        data = self._fetch(self._at, count)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _fetch(self, start: int, count: int) -> bytes:
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

        name, sha = self._repository.name, self._repository.sha or None
        with explained(name):
            url = hf_hub_url(name, self._path, repo_type="dataset", revision=sha)
            headers = {**build_hf_headers(token=access.token()), "Range": f"bytes={start}-{start + count - 1}"}
            with get_session().stream("GET", url, headers=headers, follow_redirects=True) as answer:
                hf_raise_for_status(answer)
                if answer.status_code == _PART:
                    return b"".join(answer.iter_bytes())[:count]
        with fetched(self._repository, self._path).open("rb") as file:  # of a server that sends no parts
            file.seek(start)
            return file.read(count)


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
