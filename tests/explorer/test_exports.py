"""Downloads, read back by the tools that people would use."""

from __future__ import annotations

import csv
import dataclasses
import gc
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open

from explorer.exports import EXPORTS
from explorer.exports import offered as offered_of
from explorer.exports.pages import curve_panels
from explorer.server.library import Library
from tests.explorer.page import Page
from tests.synthetic import alive, hierarchy, labels_of, make_run
from tests.waiting import wait
from trainers.cells import plain_cell
from trainers.hierarchy import Hierarchy
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.measures import MEASURES
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.runs.records import Scalar

SINGLE = {name for name in EXPORTS if not name.startswith(("table.", "report."))}
"""Downloads of a run; the others are of plans."""
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def _download(page: Page, folder: RunFolder, kind: str, query: str = "") -> bytes:
    reply = page.get(f"run/{folder.id}/download/{kind}{query}")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-disposition"] == f'attachment; filename="rankscope-{folder.id}-{kind}"'
    assert reply.headers["content-type"] == EXPORTS[kind].media_type
    return reply.content


def _rename(folder: RunFolder, name: str) -> None:
    """Give the first class of every level, and the second level itself, another name."""
    tree = hierarchy()
    renamed = Hierarchy(
        levels=(tree.levels[0], "arm", tree.levels[2]), names=tuple((name, *level[1:]) for level in tree.names)
    )
    probe = folder.probe()
    sheets = [folder.sheet_path(i).read_bytes() for i in range(probe.sheets)]
    folder.write_probe(dataclasses.replace(probe, hierarchy=renamed, data_title=name), sheets)


def test_the_zip_opens_again_as_a_run(page: Page, root: Path, tmp_path: Path) -> None:
    folder = make_run(root, points=60, frames=3, phase="running")
    write_bytes(folder.path / "ckpt" / "last.safetensors", b"weights")
    write_bytes(folder.path / "owner", b"digest")
    folder.log("something happened")
    with alive(folder):
        content = _download(page, folder, "run.zip")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
        archive.extractall(tmp_path / "elsewhere")
    with zipfile.ZipFile(io.BytesIO(_download(page, folder, "run.zip", "?weights=1"))) as archive:
        assert archive.read(f"{folder.id}/ckpt/last.safetensors") == b"weights"
    assert {name.split("/")[0] for name in names} == {folder.id} and len(names) == len(set(names))
    assert not any(part in name for name in names for part in ("lock", "-wal", "-shm", "owner", "ckpt"))
    again = RunFolder.open(tmp_path / "elsewhere", folder.id)
    assert again.state().phase == "interrupted" and again.frames() == [0, 1, 2]
    assert again.scalars() == folder.scalars()
    assert np.array_equal(again.frame(2).arms[1].xy, folder.frame(2).arms[1].xy)
    again.send("stop")
    recorded = Library(tmp_path / "none", tmp_path / "elsewhere")
    assert recorded.get(folder.id).recorded
    again.db.close()


def test_a_queued_run_can_be_zipped(page: Page, root: Path) -> None:
    folder = make_run(root, phase="queued")
    with zipfile.ZipFile(io.BytesIO(_download(page, folder, "run.zip"))) as archive:
        assert sorted(archive.namelist()) == [f"{folder.id}/config.json", f"{folder.id}/run.db"]


def test_metrics_are_plain_csv(page: Page, root: Path) -> None:
    folder = make_run(root, points=30, frames=2)
    folder.db.add_metrics([Scalar(arm=1, step=9, seconds=0.5, key="=HYPERLINK(0)", value=-0.25)])
    rows = list(csv.DictReader(io.StringIO(_download(page, folder, "metrics.csv").decode())))
    of_maps = [row for row in rows if row["key"].startswith("map_")]
    assert len(of_maps) == 2 * 2 * 2 and len(rows) == len(folder.scalars()) + len(of_maps)
    assert rows[-1 - len(of_maps)] == {
        "arm": "1", "loss": "HAPPIER", "step": "9", "seconds": "0.5", "key": "'=HYPERLINK(0)", "value": "-0.25"
    }  # fmt: skip
    table = pd.read_csv(io.BytesIO(_download(page, folder, "metrics.csv")))
    assert table.value.dtype == float


def test_the_encoders_come_as_one_file_per_arm(page: Page, root: Path, tmp_path: Path) -> None:
    folder, bare = make_run(root, points=30, frames=1), make_run(root, points=30, frames=1)
    reply = page.get(f"run/{bare.id}/download/encoders.zip")
    assert reply.status_code == 404 and "no checkpoint" in reply.json()["error"]
    config = dataclasses.replace(folder.config, losses=(Choice(name="smooth_ap"), Choice(name="../../up")))
    write_bytes(folder.path / "config.json", config.to_json().encode())
    tensors = {
        f"arm{arm}/encoder/{name}": torch.full((2,), float(arm)) for arm in range(2) for name in ("body.w", "head.w")
    }
    folder.write_checkpoint(tensors | {"arm0/optimiser/0/step": torch.ones(())}, {"step": 25, "images": [3, 32]})
    with zipfile.ZipFile(io.BytesIO(_download(page, folder, "encoders.zip"))) as archive:
        assert archive.namelist() == ["0_smooth_ap.safetensors", "1__up.safetensors"]
        archive.extractall(tmp_path)
    for arm, name in enumerate(archive.namelist()):
        with safe_open(tmp_path / name, framework="pt") as file:
            about = file.metadata()
            assert list(file.keys()) == ["body.w"] and file.get_tensor("body.w").tolist() == [arm, arm]
        assert (about["run"], about["arm"], about["step"], about["side"]) == (folder.id, str(arm), "25", "32")
        assert json.loads(about["encoder"]) == {"name": "conv4", "parameters": {}}


def test_each_run_offers_what_it_has(page: Page, root: Path, tmp_path: Path) -> None:
    run, other = make_run(root, points=30, frames=1), RunFolder.create(root, FinetuningConfig())
    recorded = make_run(tmp_path / "recorded", points=30, frames=1)
    cards = {card["id"]: card for card in page.cards()}
    none = {"encoders.zip", "models.zip"}
    for folder, lacking in ((run, set()), (other, {"encoders.zip"}), (recorded, none)):
        offered = page.get(f"run/{folder.id}").json()["downloads"]
        assert offered == cards[folder.id]["downloads"]
        optional = {name for name in SINGLE if name.startswith("film.")} | {"untrained.csv"}
        assert SINGLE - set(offered) - optional == lacking and set(offered) <= SINGLE
        assert all(EXPORTS[name].title == title for name, title in offered.items())
    reply = page.get(f"run/{other.id}/download/encoders.zip")
    assert reply.status_code == 404 and "has no download 'encoders.zip'" in reply.json()["error"]
    recorded.write_checkpoint({}, {"step": 1})
    recorded.db.close()
    again = Library(root, tmp_path / "recorded")
    assert "encoders.zip" in offered_of(again.get(recorded.id))
    again.close()


@pytest.mark.parametrize("images", [7, "x", [3], [True, 2], {"side": 1}, [[1]]])
def test_a_damaged_checkpoint_is_one_sentence(page: Page, root: Path, images: object) -> None:
    folder = make_run(root, points=30, frames=1)
    folder.write_checkpoint({"arm0/encoder/body.w": torch.ones(2)}, {"step": 25, "images": images})
    reply = page.get(f"run/{folder.id}/download/encoders.zip")
    assert reply.status_code == 200 if images == [3] else folder.id in reply.json()["error"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\n=1", "＝1+1", "＋1", "－1", "＠x"])
def test_formulas_become_text(text: str) -> None:
    assert plain_cell(text) == f"'{text}"
    assert plain_cell("loss") == "loss"


def test_coordinates_read_back(page: Page, root: Path) -> None:
    folder = make_run(root, points=60, frames=3)
    table = pd.read_parquet(io.BytesIO(_download(page, folder, "coordinates.parquet")))
    assert len(table) == 3 * 2 * 60
    assert list(table.columns) == [
        "k", "step", "arm", "loss", "point", "row", "product", "kind", "aisle", "x", "y"
    ]  # fmt: skip
    frame = folder.frame(2)
    last = table[(table.k == 2) & (table.arm == 1)]
    expected = (frame.arms[1].xy / 65535.0 * 2 - 1) * frame.limit
    np.testing.assert_allclose(last[["x", "y"]].to_numpy(), expected, atol=1e-5)
    labels = labels_of(60)
    assert last["product"].tolist() == [f"product {i}" for i in labels[:, 0]]
    assert set(last.loss) == {"HAPPIER"} and set(last.step) == {50}


def test_embeddings_read_back(page: Page, root: Path) -> None:
    folder = make_run(root, points=60, frames=3)
    folder.embeddings_path(2).unlink()
    table = pd.read_parquet(io.BytesIO(_download(page, folder, "embeddings.parquet")))
    assert len(table) == 2 * 60 and set(table.k) == {1}
    vectors = np.stack(table[table.arm == 0].vector.to_list())
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, folder.embeddings(1)[0].astype(np.float32))
    assert table.x.notna().all()


def test_a_level_called_like_a_column_keeps_both(page: Page, root: Path) -> None:
    folder = make_run(root, points=60, frames=1)
    _rename(folder, "=cmd()")
    table = pd.read_parquet(io.BytesIO(_download(page, folder, "coordinates.parquet")))
    assert set(table.arm) == {0, 1} and table["label 1 (arm)"][0] == "=cmd()"


@pytest.mark.parametrize("kind", ["coordinates.parquet", "embeddings.parquet", "replay.html"])
def test_too_early_is_said(page: Page, root: Path, kind: str) -> None:
    for folder in (make_run(root, phase="queued"), make_run(root, points=30, frames=0, phase="running")):
        reply = page.get(f"run/{folder.id}/download/{kind}")
        assert reply.status_code == 404 and folder.id in reply.json()["error"]


def test_nothing_is_left_in_the_temporary_folder(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    folder = make_run(root, points=30, frames=1)
    folder.write_checkpoint({f"arm{arm}/encoder/body.weight": torch.ones(2) for arm in range(2)}, {"step": 25})
    page = Page(root, tmp_path / "recorded", tmp_path / "assets")
    sent = {name for name in SINGLE - {"models.zip", "untrained.csv"} if EXPORTS[name].make is None}  # it has none
    for kind in sent:
        _download(page, folder, kind)
    page.get(f"run/{make_run(root, phase='queued').id}/download/replay.html")
    (kept,) = spare.iterdir()
    assert sorted(path.name.split("-", 1)[1] for path in kept.iterdir()) == sorted(sent - {"run.zip"})
    page.library.close()
    del page
    # a thread of the client may still hold the last answer
    wait(lambda: gc.collect() >= 0 and not any(spare.iterdir()), words="nothing is left")


@pytest.mark.parametrize("kind", ["replay.html", "curves.html"])
def test_pages_stand_alone_and_names_stay_text(page: Page, root: Path, kind: str) -> None:
    folder = make_run(root, points=60, frames=2, arms=3)
    _rename(folder, HOSTILE)
    text = _download(page, folder, kind).decode()
    assert text.startswith("<!doctype html>") and "Plotly.newPlot" in text
    assert HOSTILE not in text and "<script>alert" not in text and "<img src=x" not in text
    assert not re.search(r"<(script|link)[^>]+(src|href)=", text), "nothing is fetched"
    if kind == "replay.html":
        assert "keeps only some of the nearest neighbours" in text and "30% on the map of Smooth-AP" in text


def test_curves_show_what_there_is(page: Page, root: Path) -> None:
    folder = make_run(root, points=60, frames=3)
    extra = {"loss": float("inf"), "floor_R_at_1": 0.125}
    folder.db.add_metrics(Scalar(arm=0, step=99, seconds=1.0, key=key, value=value) for key, value in extra.items())
    panels = curve_panels(folder.scalars(), 2, MEASURES, tuple(folder.probe().hierarchy.levels))
    assert list(panels)[:6] == ["R@1", "mAP@R", "H-AP", "Loss", "R@1 on training images", "NDCG"]
    assert "AP, kind" in panels and "Loss term: ranking" in panels and "R@1 on training images" in panels
    assert panels["Loss"][0] == ([0, 25, 50], pytest.approx([1.0, 0.6, 0.2]))
    assert not any("test" in title or "bare pixels" in title or "images on the map" in title for title in panels)
    text = _download(page, folder, "curves.html").decode()
    assert "without any training: 0.125" in text and "<td>0.8800</td>" in text
    assert "no final test yet" in _download(page, make_run(root, phase="queued"), "curves.html").decode()
