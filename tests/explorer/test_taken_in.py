"""A downloaded run and files of embeddings that are dropped on one's own page are runs; on a public page nothing is."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from explorer.exports.archive import zip_chunks
from explorer.server.run import Run
from explorer.server.visitors import Caller
from tests.explorer.page import FormPage
from tests.tiny import tiny_config, write_images
from trainers.errors import DataError, RunError
from trainers.runs import RunFolder, list_runs

SOMEBODY = Caller(address="1.2.3.4")
CLASSES = np.repeat(np.arange(6), 5)
EMBEDDINGS = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    made = FormPage(tmp_path)
    yield made
    made.scheduler.close()


def drop(page: FormPage, **files: bytes) -> dict[str, str]:
    key = page.drops.begin(SOMEBODY)
    content = [(name.replace("__", "."), 0, len(data)) for name, data in files.items()]
    page.drops.add(key, content, b"".join(files.values()))
    return page.drops.end(key)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def table(form: str) -> bytes:
    frame = pd.DataFrame({"species": [f"s{c}" for c in CLASSES], "label": [f"c{c // 2}" for c in CLASSES]})
    file = io.BytesIO()
    if form == "parquet":
        frame.assign(embedding=list(EMBEDDINGS)).to_parquet(file)
    else:
        frame.join(pd.DataFrame(EMBEDDINGS, columns=[f"e{i}" for i in range(8)])).to_csv(file, index=False)
    return file.getvalue()


def test_a_download_is_a_run_again(page: FormPage, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "elsewhere", tiny_config(write_images(tmp_path / "images")))
    content = b"".join(zip_chunks(Run(folder), weights=False))
    assert drop(page, run__zip=content) == {"run": folder.id}
    with pytest.raises(DataError, match="is here already"):
        drop(page, run__zip=content)
    assert [run.id for run in list_runs(page.settings.runs)] == [folder.id]
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()], "nothing of it is kept twice"


@pytest.mark.parametrize("form", ["npy", "parquet", "csv"])
def test_embeddings_are_a_run(page: FormPage, form: str) -> None:
    content = npy(EMBEDDINGS) if form == "npy" else table(form)
    run = drop(page, **{f"birds__{form}": content})["run"]
    folder = RunFolder.open(page.settings.runs, run)
    assert folder.state().phase == "finished" and folder.embeddings(0)[0].shape == (30, 8)
    assert ("R_at_1" in {scalar.key for scalar in folder.scalars()}) == (form != "npy")


def test_several_files_are_several_models(page: FormPage) -> None:
    run = drop(page, a__npy=npy(EMBEDDINGS), b__npy=npy(EMBEDDINGS[:, ::-1].copy()))["run"]
    assert RunFolder.open(page.settings.runs, run).config.arms == 2


@pytest.mark.parametrize("form", ["labels__csv", "metadata__tsv", "photos"])
def test_labels_and_images_dropped_beside_embeddings_are_theirs(page: FormPage, form: str) -> None:
    words = "\n".join(["species\tgenus", *(f"s{one}\tg{one // 2}" for one in CLASSES)])
    given = {form if form != "photos" else "b__csv": words.replace("\t", "\t" if "tsv" in form else ",").encode()}
    if form == "photos":
        image = next(write_images(page.settings.runs.parent / "images").rglob("*.png")).read_bytes()
        given |= {f"photos/{at}__png": image for at in range(30)}
    folder = RunFolder.open(page.settings.runs, drop(page, birds__npy=npy(EMBEDDINGS), **given)["run"])
    probe = folder.probe()
    assert probe is not None and probe.hierarchy.levels == ("species", "genus")
    assert probe.notes[0].startswith("30 embeddings of 8 numbers, levels species (6), genus (3)")
    assert ("in the order of their names, 0.png to 29.png" in probe.notes[0]) == (form == "photos")


def test_images_and_tables_of_images_are_images(page: FormPage) -> None:
    image = next(write_images(page.settings.runs.parent / "images").rglob("*.png")).read_bytes()
    pictures = io.BytesIO()
    pd.DataFrame({"image": [{"bytes": image, "path": None}] * 4, "label": [0, 0, 1, 1]}).to_parquet(pictures)
    assert "source" in drop(page, a__png=image, labels__csv=b"file,label\na.png,0\n")
    assert "source" in drop(page, train__parquet=pictures.getvalue())
    boxes = io.BytesIO()
    rows = {"image": [{"bytes": image, "path": None}] * 4, "label": [0, 0, 1, 1], "bbox": [[0.0, 1.0, 2.0, 3.0]] * 4}
    pd.DataFrame(rows).to_parquet(boxes)
    assert "source" in drop(page, train__parquet=boxes.getvalue())
    assert "source" in drop(page, labels__csv=b"file,label\na.png,0\n")


def test_what_cannot_be_read_is_a_sentence(page: FormPage) -> None:
    for name, content, words in (
        ("a__npy", npy(np.full((9, 4), np.nan, np.float32)), "not.*number|finite|NaN"),
        ("a__npy", npy(np.array([{}, {}, {}], dtype=object)), "pickle|object|Object"),
        ("a__safetensors", b"\x80\x04pickle", "cannot be read"),
        ("a__csv", b"label,embedding\n" + b"a,[ 0.1 0.2 ... 0.3]\n" * 9, "are not in the file"),
    ):
        with pytest.raises((DataError, RunError), match=words):
            drop(page, **{name: content})
    assert list_runs(page.settings.runs) == []


def test_on_a_public_page_they_are_not_received(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    page = FormPage(tmp_path, public=True)
    try:
        assert ".npy" not in page.drops.json()["endings"] and not page.drops.json()["runs"]
        with pytest.raises(Exception, match="was needed"):
            drop(page, a__npy=npy(EMBEDDINGS))
        folder = RunFolder.create(tmp_path / "elsewhere", tiny_config(write_images(tmp_path / "images")))
        assert "source" in drop(page, run__zip=b"".join(zip_chunks(Run(folder), weights=False)))
        assert list_runs(page.settings.runs) == []
    finally:
        page.scheduler.close()
