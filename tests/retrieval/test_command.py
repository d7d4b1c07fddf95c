"""``python -m trainers retrieve``, and galleries that may not be opened."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from pyarrow import parquet

from trainers.cli.main import main
from trainers.runs import RunFolder


def called(run: RunFolder, *flags: str) -> int:
    return main(["retrieve", run.id, "--runs", str(run.path.parent), *flags])


def test_json_csv_and_files_hold_the_same(run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(run, "--row", "3", "--k", "4", "--json", "--index", "hnsw:links=8") == 0
    answer = json.loads(capsys.readouterr().out)
    rows = [result["row"] for arm in answer["arms"] for result in arm["ranking"]["results"]]
    assert len(rows) == 8 and answer["arms"][0]["index"]["name"] == "hnsw"
    assert called(run, "--row", "3", "--k", "4", "--csv", "--out", str(tmp_path / "a.parquet")) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [int(line["row"]) for line in table] == rows
    assert parquet.read_table(tmp_path / "a.parquet").column("row").to_pylist() == rows
    assert called(run, "--row", "3", "--k", "4", "--out", str(tmp_path / "a.csv")) == 0
    assert [int(line["row"]) for line in csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text()))] == rows


def test_class_names_are_text_to_every_program(
    tmp_path: Path, run: RunFolder, images: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    shutil.copytree(images, tmp_path / "images")
    for number, name in enumerate(["=1+1", "@SUM(A1)", "-2", "a\udce9", "<b>", "\tx"]):
        (tmp_path / "images" / "test" / f"group{number % 2}" / f"colour{number + 8:02d}").rename(
            tmp_path / "images" / "test" / f"group{number % 2}" / name
        )
    gallery = ["--row", "3", "--k", "35", "--gallery", f"dataset:{tmp_path / 'images'}"]
    for file in ("a.csv", "a.parquet"):
        assert called(run, *gallery, "--out", str(tmp_path / file)) == 0
    printed = capsysbinary.readouterr().out
    assert b"a\\xe9 < group1" in printed
    named = parquet.read_table(tmp_path / "a.parquet").column("classes").to_pylist()
    lines = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text(encoding="utf-8"))))
    assert {"=1+1 < group0", "a\\xe9 < group1", "<b> < group0"} <= set(named)
    assert [line["classes"] for line in lines] == [f"'{name}" if name[0] in "=@-\t" else name for name in named]
    assert called(run, *gallery, "--csv") == 0
    assert b",'=1+1 < group0" in capsysbinary.readouterr().out


def test_what_cannot_be_done_is_said(run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.png").write_text("no image")
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(2**33)
    for flags, words in (
        (["--image", str(tmp_path / "none.png")], "No such file"),
        (["--image", str(tmp_path / "huge.png")], "more than 100 MB"),
        (["--image", str(tmp_path / "text.png")], "not an image"),
        (["--row", "400"], "36 images, numbered from 0; got 400"),
        (["--row", "1", "--rerank", "magic"], "magic"),
        (["--row", "1", "--out", str(tmp_path / "a.txt")], ".csv or .parquet"),
        (["--row", "1", "--gallery", "dataset:/no/such/folder"], "does not exist"),
    ):
        assert called(run, *flags) == 1
        output = capsys.readouterr()
        assert words in output.err + output.out
    gone = run.id[:-1] + ("0" if run.id[-1] != "0" else "1")
    assert main(["retrieve", gone, run.id, "--row", "1", "--runs", str(run.path.parent)]) == 0
    assert f"There is no run {gone}" in capsys.readouterr().out


def test_strangers_search_only_what_is_offered(
    run: RunFolder, images: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANKSCOPE_PUBLIC", "on")
    for gallery in (f"dataset:{images}", "test"):  # also of a run that was set up elsewhere
        assert called(run, "--row", "1", "--gallery", gallery) == 1
        assert "cannot be opened here" in capsys.readouterr().err
    assert called(run, "--row", "1", "--gallery", "probe") == 0
