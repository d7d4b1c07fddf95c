"""The disk cache: named arrays under a kind and a content key, with one size bound over all kinds.

An entry is the folder ``<cache>/<kind>/<key>``: one ``.npy`` file per array, other files that a library wrote, and
``about.json`` with the caller's JSON and the digests of all. Entries are written aside and renamed, so a half-written
one does not exist; a damaged one counts as absent and is removed. When the bound is exceeded, the entries unused for
longest are removed, except those that some process is writing or reading (each holds a shared lock on the entry's
``.lock``). ``arrow``, the working copies that ``datasets`` makes, counts towards the bound too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.data import settings
from trainers.runs.atomic_files import LOCK, discard, locked, release, scratch, sweep

FORMAT = 3
_ABOUT = "about.json"
_SLICE = 64 * 1024 * 1024  # bytes hashed at a time
_FILE_SLICE = 1024 * 1024  # and read at a time


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """An entry: ``tensors`` by name, on the CPU, ``about``, any JSON, and the paths of other ``files`` by name, whose
    content is as it was written.
    """

    tensors: dict[str, Tensor]
    about: Any
    files: Mapping[str, Path] = field(default_factory=dict)


def content_key(parts: Iterable[object]) -> str:
    """Hash everything that decides a content by blake2b, as 32 hexadecimal digits; bytes count as they are, all else by
    its ``repr``.
    """
    digest = hashlib.blake2b(repr(FORMAT).encode(), digest_size=16)
    for part in parts:
        content = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(f"\n{len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def read(kind: str, key: str, *, map_above: int | None = None, verified: bool = False) -> CacheEntry | None:
    """Read an entry; None if there is none, or a damaged one, which is removed.

    Args:
        map_above: bytes that may be held in memory, smallest arrays first; the rest is memory-mapped (private,
            writable) and its content is not verified. None: everything is held in memory.
        verified: the content of what is mapped is compared too, which takes a reading of its file.
    """
    root = settings.cache_folder()
    folder = None if root is None else root / kind / key
    if folder is None or not (folder / _ABOUT).is_file():
        return None
    with in_use(folder):
        try:
            stored = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            about, digests = stored["about"], stored["arrays"]
            others = stored.get("files", {})
            if stored["digest"] != _summary(about, digests, others):
                raise ValueError("about.json was changed")
            files = {name: folder / name for name in others}
            if any(_file_digest(files[name]) != digest for name, digest in others.items()):
                raise ValueError("a file was changed")
            return CacheEntry(tensors=_read_arrays(folder, digests, map_above, verified), about=about, files=files)
        except Exception:  # a damaged file can make json and numpy raise almost anything
            shutil.rmtree(folder, ignore_errors=True)
            return None


def write(kind: str, key: str, tensors: Mapping[str, Tensor], about: Any = None) -> bool:
    """Store arrays that are in memory; False where the cache is off, or cannot be written."""
    with draft(kind) as new:
        if new is None:
            return False
        try:
            for name, tensor in tensors.items():
                values = tensor.detach().cpu().numpy()
                new.allocate(name, values.shape, values.dtype)[...] = values
            new.commit(key, about)
        except OSError:
            return False
    return True


class Draft:
    """An entry that is being written; :func:`draft` makes it."""

    def __init__(self, folder: Path, committed: contextlib.ExitStack) -> None:
        self._folder = folder
        self._committed = committed  # what is in use until the draft's block ends
        self._arrays: dict[str, np.memmap] = {}
        self._files: list[str] = []

    def file(self, name: str) -> Path:
        """Return the path of a further file, which the caller writes before :meth:`commit`."""
        self._files.append(name)
        return self._folder / name

    def allocate(self, name: str, shape: Sequence[int], dtype: Any = np.uint8) -> np.memmap:
        """Make a new array, mapped from its file.

        Raises:
            OSError: the disk has no room. Asked for at once, because a full disk under a map ends the process.
        """
        path = self._folder / f"{name}.npy"
        self._arrays.pop(name, None)
        path.unlink(missing_ok=True)  # an earlier array of that name may still be mapped
        array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=tuple(map(int, shape)))
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        self._arrays[name] = array
        return array

    def shorten(self, name: str, count: int) -> None:
        """Keep only the first ``count`` rows of an array; what :meth:`allocate` returned is of no use after it."""
        array = self._arrays.pop(name)
        array.flush()
        path, offset, shape = self._folder / f"{name}.npy", array.offset, (count, *array.shape[1:])
        header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": shape}
        size = int(np.prod(shape)) * array.itemsize
        with path.open("r+b") as file:
            np.lib.format.write_array_header_1_0(file, header)  # numpy leaves room for longer and shorter row counts
            if file.tell() != offset:
                raise OSError(f"the header of {path.name} changed its length")
            with contextlib.suppress(OSError):  # Windows shortens no mapped file: what is too much is never read
                file.truncate(offset + size)
        self._arrays[name] = np.lib.format.open_memmap(path, mode="r+")

    def read(self, map_above: int) -> dict[str, Tensor]:
        """Return the arrays as :func:`read` gives them."""
        for array in self._arrays.values():
            array.flush()
        return _read_arrays(self._folder, dict.fromkeys(self._arrays), map_above)

    def commit(self, key: str, about: Any = None) -> None:
        """Give the entry its name, then remove what exceeds the bound.

        Raises:
            OSError: the disk is full or cannot be written.
        """
        digests = {}
        for name, array in self._arrays.items():
            array.flush()
            digests[name] = _digest(array)
        stored = {"about": about, "arrays": digests}
        others = {name: _file_digest(self._folder / name) for name in self._files}
        if others:
            stored["files"] = others
        stored["digest"] = _summary(about, digests, others)
        (self._folder / _ABOUT).write_text(json.dumps(stored), encoding="utf-8")
        target = self._folder.parent.parent / key
        if not (target / _ABOUT).is_file():
            shutil.rmtree(target, ignore_errors=True)  # the rest of a removed entry
        self._name(target)
        self._committed.enter_context(in_use(target))
        evict()

    def _name(self, target: Path) -> None:
        try:
            self._folder.rename(target)
        except OSError as error:
            if target.exists():  # another process was first, with the same content
                return
            if not isinstance(error, PermissionError):
                raise
            # Windows renames no folder with an open or mapped file in it, as the arrays are
            copy = self._folder.with_name("copy")
            shutil.copytree(self._folder, copy, ignore=shutil.ignore_patterns(LOCK))
            copy.rename(target)


@contextlib.contextmanager
def draft(kind: str) -> Iterator[Draft | None]:
    """Make a new entry, discarded at the end of the block unless it was committed; None where the cache is off or
    cannot be written.
    """
    root = settings.cache_folder()
    with contextlib.ExitStack() as stack:
        folder = None
        if root is not None:
            with contextlib.suppress(OSError):
                (root / kind).mkdir(parents=True, exist_ok=True)
                sweep(root / kind)
                folder = stack.enter_context(scratch(root / kind)) / "entry"
                folder.mkdir()
        yield None if folder is None else Draft(folder, stack)


@contextlib.contextmanager
def in_use(entry: Path) -> Iterator[None]:
    """Mark an entry as used now and protect it from eviction inside the block."""
    handle = _lock(entry)
    try:
        with contextlib.suppress(OSError):  # a cache that can only be read stays in use
            os.utime(entry)
        yield
    finally:
        if handle is not None:
            release(handle)


def hold(entry: Path, owner: object) -> None:
    """Protect an entry from eviction as long as ``owner`` lives."""
    handle = _lock(entry)
    if handle is not None:
        weakref.finalize(owner, release, handle)


def evict() -> None:
    """Remove the entries unused for longest until the bound holds; those that are in use stay."""
    root = settings.cache_folder()
    if root is None:
        return
    entries = []
    for entry_path in root.glob("*/*"):
        with contextlib.suppress(OSError):  # another process was faster
            files = [path.lstat() for path in (entry_path, *entry_path.rglob("*"))]
            entries.append((files[0].st_mtime, sum(file.st_size for file in files), entry_path))
    total = sum(size for _, size, _ in entries)
    for _, size, entry_path in sorted(entries):
        if total <= settings.cache_bytes():
            return
        if not entry_path.name.startswith(".") and _remove(entry_path):
            total -= size


def _remove(path: Path) -> bool:
    """Remove an entry that nobody uses; whether it is gone."""
    handle = _lock(path, shared=False)
    if handle is None:
        return False
    with contextlib.suppress(OSError):  # a file of an earlier version, or a lock of `datasets`
        path.unlink()
    discard(path, handle)
    return not path.exists()


def _lock(path: Path, *, shared: bool = True) -> int | None:
    """Lock what an entry consists of; None if another has it, or it may not be locked here."""
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            return locked(path, os.O_RDONLY, shared=shared)
        create = 0 if (path / LOCK).exists() else os.O_CREAT  # a cache that can only be read is locked all the same
        return locked(path / LOCK, os.O_RDONLY | create, shared=shared)
    except OSError:
        return None


def _read_arrays(
    folder: Path, digests: Mapping[str, str | None], map_above: int | None, verified: bool = False
) -> dict[str, Tensor]:
    """Read the arrays in the order of ``digests``; each that is held in memory is compared with its digest, unless
    None, and with ``verified`` each that is mapped.
    """
    paths = {name: folder / f"{name}.npy" for name in digests}
    sizes = {name: path.stat().st_size for name, path in paths.items()}
    held, tensors = 0, {}
    for name in sorted(paths, key=lambda name: sizes[name]):
        held += sizes[name]
        mapped = map_above is not None and held > map_above
        array = np.load(paths[name], mmap_mode="c" if mapped else None, allow_pickle=False)
        if not mapped and digests[name] not in (None, _digest(array)):
            raise ValueError(f"{name} was changed")
        if mapped:
            if verified and digests[name] != _file_digest(paths[name], array.offset):
                raise ValueError(f"{name} was changed")
            hold(folder, array)  # which the tensor keeps
        tensors[name] = torch.from_numpy(array)
    return {name: tensors[name] for name in digests}


def _summary(about: Any, arrays: Mapping[str, str], files: Mapping[str, str]) -> str:
    return _digest(json.dumps([about, arrays, files] if files else [about, arrays]).encode())


def _file_digest(path: Path, offset: int = 0) -> str:
    """Return the digest of a file's content from ``offset`` on."""
    with path.open("rb") as file:
        file.seek(offset)
        digest = hashlib.blake2b(digest_size=16)
        while slice_ := file.read(_FILE_SLICE):
            digest.update(slice_)
        return digest.hexdigest()


def _digest(content: bytes | np.ndarray) -> str:
    digest = hashlib.blake2b(digest_size=16)
    update(digest, np.frombuffer(content, np.uint8) if isinstance(content, bytes) else content)
    return digest.hexdigest()


def update(digest: hashlib.blake2b, array: np.ndarray) -> None:
    """Feed the bytes of an array to a digest, in slices: hashing large pieces lets other threads run."""
    flat = array.reshape(-1).view(np.uint8)
    for start in range(0, len(flat), _SLICE):
        digest.update(flat[start : start + _SLICE].data)
