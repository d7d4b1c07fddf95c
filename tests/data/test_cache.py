"""Decoded sets on disk: instant the second time, made anew when damaged, bounded, and never needed."""

from __future__ import annotations

import errno
import os

import pytest
import torch
from safetensors.torch import load_file

from tests.data.world import picture, write_tree
from trainers.config import DataChoice
from trainers.data import load_data
from trainers.data.labelled import image_store, loader
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
    assert torch.equal(load_file(entry / "train.safetensors")["images"], first.train.images)


def test_another_choice_or_content_is_another_entry(own, tmp_path, decodes):
    first = load(own)
    assert load(own, seed=3).fingerprint != first.fingerprint
    (own / "a" / "0.png").write_bytes(picture(77))
    changed = load(own)
    assert changed.fingerprint != first.fingerprint and len(entries(tmp_path)) == 3 and len(decodes) == 6


@pytest.mark.parametrize("name", ["train.safetensors", "labels.safetensors", "about.json"])
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


def test_without_a_cache_it_loads_all_the_same(own, tmp_path, monkeypatch, decodes):
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

    monkeypatch.setattr(image_store.os, "posix_fallocate", full)
    data = load(own)
    assert len(data.train) == 8
    assert data.notes[-1] == "The decoded images could not be kept on disk (No space left on device)."
    assert entries(tmp_path) == []


def test_the_bound_removes_the_longest_unused(own, tmp_path, monkeypatch):
    for seed in range(3):
        load(own, seed=seed)
    for place, entry in enumerate(entries(tmp_path)):
        for file in entry.iterdir():
            os.utime(file, (1000 + place, 1000 + place))
    oldest = entries(tmp_path)[0]
    size = sum(file.stat().st_size for file in oldest.iterdir())
    monkeypatch.setenv("RANKSCOPE_CACHE_GB", str(3.5 * size / 1e9))
    load(own, seed=9)
    assert len(entries(tmp_path)) == 3 and oldest not in entries(tmp_path)


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


def test_a_setting_that_is_no_number_is_said(own, monkeypatch):
    monkeypatch.setenv("RANKSCOPE_MEMORY_GB", "lots")
    with pytest.raises(DataError, match="RANKSCOPE_MEMORY_GB needs a number of gigabytes; 'lots' came"):
        load(own)
