"""Decoded sets on disk, so that a second start is instant. A damaged or half-written entry counts as absent.

An entry is a folder of ``train.safetensors``, ``test.safetensors`` (images), ``labels.safetensors`` and ``about.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor

from trainers.data import settings
from trainers.data.base import ImageSet, LoadedData
from trainers.data.labelled.image_store import allocate, read_images, seal
from trainers.hierarchy import Hierarchy

FORMAT = 2
_ENTRY_FILES = ("train.safetensors", "test.safetensors", "labels.safetensors", "about.json")
_SLICE = 64 * 1024 * 1024


def entry_key(*parts: object) -> str:
    """One name for everything that decides the decoded result."""
    return hashlib.blake2b(json.dumps([FORMAT, *map(repr, parts)]).encode(), digest_size=16).hexdigest()


def fingerprint(data: dict[str, ImageSet], hierarchy: Hierarchy) -> str:
    """Hash of names, labels and pixels in their order."""
    digest = hashlib.blake2b(json.dumps([hierarchy.levels, hierarchy.names]).encode(), digest_size=16)
    for part in data.values():
        digest.update(f"{tuple(part.images.shape)}{tuple(part.labels.shape)}".encode())
        digest.update(part.labels.contiguous().numpy())
        flat = part.images.reshape(-1).numpy()
        for start in range(0, len(flat), _SLICE):  # hashing large pieces lets other threads run
            digest.update(flat[start : start + _SLICE])
    return digest.hexdigest()


def read(key: str, name: str) -> LoadedData | None:
    """The entry, checked; None if there is none. A damaged one is removed."""
    root = _root()
    folder = None if root is None else root / key
    if folder is None or not (folder / "about.json").is_file():
        return None
    try:
        found = _read(folder, name)
    except (OSError, ValueError, KeyError, TypeError, IndexError, RuntimeError, SafetensorError):
        shutil.rmtree(folder, ignore_errors=True)
        return None
    _touch(folder)
    return found


def begin() -> Path | None:
    """A new folder to write an entry into; None if the cache is off or its place cannot be written."""
    root = _root()
    if root is None:
        return None
    try:
        root.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    except OSError:
        return None


def commit(folder: Path, key: str, data: LoadedData) -> None:
    """Complete the entry whose image files are in ``folder`` and give it its name.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    from safetensors.torch import save_file

    save_file({"train": data.train.labels, "test": data.test.labels}, folder / "labels.safetensors")
    about = {
        "title": data.title,
        "licence": data.licence,
        "levels": data.hierarchy.levels,
        "names": data.hierarchy.names,
        "notes": data.notes,
        "fingerprint": data.fingerprint,
        "before_cap": {"train": data.train.before_cap, "test": data.test.before_cap},
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    target = folder.parent / key
    shutil.rmtree(target, ignore_errors=True)  # what is there was absent or damaged when it was looked for
    try:
        folder.rename(target)
    except OSError:
        if not target.exists():  # otherwise another process was first, with the same content
            raise
        shutil.rmtree(folder, ignore_errors=True)
    _evict(spare=target)


def store(key: str, data: LoadedData) -> None:
    """Keep a set that is whole in memory; nothing happens where the cache is off or its disk is full."""
    folder = begin()
    if folder is None:
        return
    try:
        for name, part in (("train", data.train), ("test", data.test)):
            path, shape = folder / f"{name}.safetensors", tuple(part.images.shape)
            images = allocate(shape, path)
            images[:] = part.images.numpy()
            images.base.flush()
            seal(path, shape)
        commit(folder, key, data)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)


def _root() -> Path | None:
    folder = settings.cache_folder()
    return None if folder is None else folder / "images"


def _read(folder: Path, name: str) -> LoadedData:
    from safetensors.torch import load_file

    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    labels = load_file(folder / "labels.safetensors")
    size = sum((folder / f"{part}.safetensors").stat().st_size for part in ("train", "test"))
    mapped = size > settings.memory_bytes()
    hierarchy = Hierarchy(levels=tuple(about["levels"]), names=tuple(tuple(names) for names in about["names"]))
    sets = {
        part: ImageSet(
            images=read_images(folder / f"{part}.safetensors", mapped=mapped),
            labels=labels[part],
            before_cap=int(about["before_cap"][part]),
        )
        for part in ("train", "test")
    }
    for part in sets.values():
        _check(part.labels, hierarchy, len(part.images))
    # Mapped sets are too large to be read whole at every start; their sizes and labels are checked all the same.
    if not mapped and fingerprint(sets, hierarchy) != about["fingerprint"]:
        raise ValueError("the content changed")
    return LoadedData(
        name=name,
        title=about["title"],
        hierarchy=hierarchy,
        train=sets["train"],
        test=sets["test"],
        fingerprint=about["fingerprint"],
        notes=tuple(about["notes"]),
        licence=about["licence"],
    )


def _check(labels: Tensor, hierarchy: Hierarchy, count: int) -> None:
    if labels.shape != (count, hierarchy.depth) or labels.dtype != torch.int64 or not count:
        raise ValueError("labels do not fit the images")
    for level, names in enumerate(hierarchy.names):
        if int(labels[:, level].min()) < 0 or int(labels[:, level].max()) >= len(names):
            raise ValueError("a label has no name")


def _touch(folder: Path) -> None:
    try:
        os.utime(folder / "about.json")
    except OSError:  # a cache that can only be read stays in use
        return


def _evict(spare: Path) -> None:
    """Remove the entries longest unused until the bound holds; never the one just made."""
    folder = settings.cache_folder()
    if folder is None:
        return
    entries = []
    for place in (*folder.glob("images/*"), *folder.glob("arrow/*")):
        if place.is_dir() and place != spare:
            files = [path.stat() for path in place.rglob("*") if path.is_file()]
            entries.append((max((s.st_mtime for s in files), default=0.0), sum(s.st_size for s in files), place))
    total = sum(size for _, size, _ in entries) + sum((spare / name).stat().st_size for name in _ENTRY_FILES)
    for _, size, place in sorted(entries):
        if total <= settings.cache_bytes():
            return
        shutil.rmtree(place, ignore_errors=True)
        total -= size
