"""Decoded sets on disk: instant the second time, made anew when damaged, bounded, and never needed."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest
import torch

from tests.data.world import picture, write_tree
from trainers.config import DataChoice
from trainers.data import cache as disk
from trainers.data import load_data
from trainers.data.labelled import loader
from trainers.errors import DataError


@pytest.fixture
def own(tmp_path):
    write_tree(tmp_path / "own", ["a", "b", "c", "d"], 4)
    return tmp_path / "own"


def load(folder, **values):
    return load_data(DataChoice(source=str(folder), image_size=16, **values))


def entries(tmp_path):
    return sorted(path for path in (tmp_path / "cache" / "images").iterdir())


@pytest.fixture
def decodes(monkeypatch):
    """How often a split was decoded."""
    calls = []
    real = loader.decode_all

    def counted(*arguments):
        calls.append(1)
        return real(*arguments)

    monkeypatch.setattr(loader, "decode_all", counted)
    return calls


def test_a_second_start_decodes_nothing(own, tmp_path, decodes):
    first = load(own)
    assert len(decodes) == 2
    again = load(own)
    assert len(decodes) == 2 and again.fingerprint == first.fingerprint and again.hierarchy == first.hierarchy
    assert torch.equal(again.train.images, first.train.images) and torch.equal(again.test.labels, first.test.labels)
    assert again.notes == first.notes and again.name == str(own)
    (entry,) = entries(tmp_path)
    assert np.array_equal(np.load(entry / "train.npy"), first.train.images.numpy())


def test_another_choice_or_content_is_another_entry(own, tmp_path, decodes):
    first = load(own)
    assert load(own, seed=3).fingerprint != first.fingerprint
    (own / "a" / "0.png").write_bytes(picture(77))
    changed = load(own)
    assert changed.fingerprint != first.fingerprint and len(entries(tmp_path)) == 3 and len(decodes) == 6


@pytest.mark.parametrize("name", ["train.npy", "train_labels.npy", "about.json"])
@pytest.mark.parametrize("how", ["cut", "flip", "gone"])
def test_a_damaged_entry_is_made_anew(own, tmp_path, decodes, name, how):
    first = load(own)
    file = entries(tmp_path)[0] / name
    content = bytearray(file.read_bytes())
    if how == "gone":
        file.unlink()
    else:
        content[-1] ^= 0xFF
        file.write_bytes(content[: len(content) // 2] if how == "cut" else content)
    again = load(own)
    assert again.fingerprint == first.fingerprint and torch.equal(again.train.images, first.train.images)
    assert len(decodes) == 4
    load(own)
    assert len(decodes) == 4


def test_without_a_cache_it_loads_all_the_same(own, monkeypatch, decodes):
    first = load(own)
    monkeypatch.setenv("RANKSCOPE_CACHE", "off")
    assert load(own).fingerprint == first.fingerprint and len(decodes) == 4


def test_a_place_that_cannot_be_written_is_no_obstacle(own, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "file"))
    assert len(load(own).train) == 8


def test_a_full_disk_is_noted(own, tmp_path, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk.os, "posix_fallocate", full)
    data = load(own)
    assert len(data.train) == 8
    assert data.notes[-1] == "The decoded images could not be kept on disk (No space left on device)."
    assert entries(tmp_path) == []


def test_large_sets_are_mapped(own, monkeypatch):
    resident_data = load(own)
    monkeypatch.setenv("RANKSCOPE_MEMORY_GB", "0.000001")
    again = load(own)
    assert torch.equal(again.train.images, resident_data.train.images)
    fresh = load(own, seed=4)
    assert "read from disk as they are needed" in fresh.notes[-1]
    assert fresh.train.images[torch.tensor([3, 1])].shape == (2, 3, 16, 16)
    monkeypatch.setenv("RANKSCOPE_CACHE", "off")
    with pytest.raises(DataError, match="no disk to put them on"):
        load(own)


# ----------------------------------------------------------------------------------------------- any arrays by key


def test_what_was_written_is_read():
    tensors = {"a": torch.rand(3, 2).half(), "b": torch.arange(5), "none": torch.zeros(0, 4)}
    assert disk.write("kind", "key", tensors, {"texts": ["a", "b"], "n": 1.5})
    entry = disk.read("kind", "key")
    assert entry.about == {"texts": ["a", "b"], "n": 1.5} and list(entry.tensors) == list(tensors)
    assert all(torch.equal(entry.tensors[name], tensor) for name, tensor in tensors.items())
    assert all(entry.tensors[name].dtype == tensor.dtype for name, tensor in tensors.items())
    assert disk.read("kind", "other") is None and disk.read("other", "key") is None


def test_keys_tell_contents_apart():
    contents = [(), ("a",), ("a", "b"), ("ab",), (b"a",), (1,), ("1",), (("a", "b"),), (None,)]
    keys = [disk.content_key(parts) for parts in contents]
    assert len(set(keys)) == len(contents) and keys == [disk.content_key(parts) for parts in contents]
    assert all(len(key) == 32 and int(key, 16) >= 0 for key in keys)


def test_an_array_that_lost_rows_is_whole(tmp_path):
    values = np.arange(4000, dtype=np.uint8).reshape(1000, 4)
    with disk.draft("kind") as draft:
        draft.allocate("rows", values.shape)[...] = values
        draft.shorten("rows", 7)
        assert np.array_equal(draft.read(10**6)["rows"], values[:7])
        draft.commit("key")
    assert np.array_equal(np.load(tmp_path / "cache" / "kind" / "key" / "rows.npy"), values[:7])
    assert torch.equal(disk.read("kind", "key").tensors["rows"], torch.from_numpy(values[:7]))


def test_one_bound_covers_all_kinds_and_what_lies_about(tmp_path, monkeypatch):
    """Entries of several kinds, a working copy of ``datasets`` and a file of an earlier version: oldest first."""
    cache = tmp_path / "cache"
    old = cache / "features" / "earlier.safetensors"
    copy = cache / "arrow" / "0123" / "parquet" / "data.arrow"
    for place in (old, copy):
        place.parent.mkdir(parents=True)
        place.write_bytes(bytes(100_000))
    for kind in ("pairs", "captions"):
        disk.write(kind, "key", {"a": torch.zeros(100_000, dtype=torch.uint8)})
    ages = (old, cache / "arrow" / "0123", cache / "captions" / "key", cache / "pairs" / "key")
    for second, place in enumerate(ages):
        os.utime(place, (1000 + second, 1000 + second))
    for gigabytes, left in ((0.0004, 3), (0.0003, 2), (0.0002, 1)):
        monkeypatch.setenv("RANKSCOPE_CACHE_GB", str(gigabytes))
        disk.evict()
        assert [place.exists() for place in ages] == [False] * (4 - left) + [True] * left


def test_reading_counts_as_use(tmp_path, monkeypatch):
    for second, key in enumerate(("a", "b")):
        disk.write("kind", key, {"x": torch.zeros(10_000)})
        os.utime(tmp_path / "cache" / "kind" / key, (1000 + second, 1000 + second))
    disk.read("kind", "a")
    monkeypatch.setenv("RANKSCOPE_CACHE_GB", "0.00006")
    disk.evict()
    assert disk.read("kind", "b") is None and disk.read("kind", "a") is not None


def test_what_is_in_use_is_never_evicted(tmp_path, monkeypatch):
    """A mapped entry as long as its tensor lives, one that is being written, and a working copy that is being read."""
    disk.write("kind", "mapped", {"x": torch.arange(5000)})
    entry = disk.read("kind", "mapped", map_above=0)
    copy = tmp_path / "cache" / "arrow" / "0123"
    copy.mkdir(parents=True)
    (copy / "data.arrow").write_bytes(bytes(5000))
    monkeypatch.setenv("RANKSCOPE_CACHE_GB", "0.000001")
    rows = entry.tensors["x"][10:]
    del entry
    with disk.draft("kind") as draft, disk.in_use(copy):
        draft.allocate("x", (5000,))
        disk.evict()
        assert (copy / "data.arrow").exists() and disk.read("kind", "mapped") is not None
        draft.commit("written")
        assert disk.read("kind", "written") is not None
    assert int(rows[0]) == 10
    del rows
    disk.evict()
    assert not copy.exists() and disk.read("kind", "mapped") is None and disk.read("kind", "written") is None


def test_a_discarded_draft_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), disk.draft("kind") as draft:
        draft.allocate("x", (5,))
        raise KeyboardInterrupt
    assert list((tmp_path / "cache" / "kind").iterdir()) == []
