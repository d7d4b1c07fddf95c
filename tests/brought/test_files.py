"""Embeddings in files: every form gives the same run, and what is wrong is a sentence."""

from __future__ import annotations

import csv
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import torch
from PIL import Image
from safetensors.numpy import save_file

from trainers.brought.files import read
from trainers.brought.levels import named_levels
from trainers.brought.opening import open_files
from trainers.brought.pictures import SIDE
from trainers.brought.tree import tree_of
from trainers.brought.writer import UNLABELLED
from trainers.cli.main import main
from trainers.errors import DataError, UserError
from trainers.metrics import evaluate
from trainers.runs import list_runs

COUNT, WIDTH = 60, 8


@pytest.fixture(scope="module")
def made() -> tuple[np.ndarray, dict[str, list[str]]]:
    """Embeddings around 12 species of 4 genera, and their labels."""
    draw = np.random.default_rng(0)
    species = np.repeat(np.arange(12), 5)
    rows = draw.normal(size=(12, WIDTH))[species] + 0.6 * draw.normal(size=(COUNT, WIDTH))
    return rows.astype(np.float32), {"species": [f"s{i}" for i in species], "genus": [f"g{i // 3}" for i in species]}


def _npy(path: Path, rows: np.ndarray, _labels: dict[str, list[str]]) -> None:
    np.save(path, rows)


def _npz(path: Path, rows: np.ndarray, labels: dict[str, list[str]]) -> None:
    np.savez(path, features=rows, **{name: np.array(values) for name, values in labels.items()})


def _parquet(path: Path, rows: np.ndarray, labels: dict[str, list[str]]) -> None:
    parquet.write_table(arrow.table({"embedding": list(rows), **labels}), path)


def _csv(path: Path, rows: np.ndarray, labels: dict[str, list[str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*labels, *(f"e{i}" for i in range(WIDTH))])
        writer.writerows(zip(*labels.values(), *rows.T.tolist(), strict=True))


def _safetensors(path: Path, rows: np.ndarray, _labels: dict[str, list[str]]) -> None:
    save_file({"embeddings": rows}, path)


WRITERS: dict[str, Callable[[Path, np.ndarray, dict[str, list[str]]], None]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".parquet": _parquet,
    ".csv": _csv,
    ".safetensors": _safetensors,
}


@pytest.mark.parametrize("ending", WRITERS)
def test_every_form_gives_the_same_embeddings_and_labels(ending: str, tmp_path: Path, made: Any) -> None:
    rows, labels = made
    path = tmp_path / f"x{ending}"
    WRITERS[ending](path, rows, labels)
    table = read(path)
    assert np.allclose(table.embeddings, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-6)
    if ending not in (".npy", ".safetensors"):
        assert named_levels(table.columns, ["genus", "species"]).columns == labels


def test_counted_columns_of_labels_are_no_embeddings(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("level1,level2,embedding\n" + '1,2,"[0.5, 0.5]"\n3,4,"0 1"\n5,6,"1,0"\n')
    table = read(tmp_path / "x.csv")
    assert table.embeddings.shape == (3, 2) and table.embeddings[1].tolist() == [0, 1]
    assert list(table.columns) == ["level1", "level2"]


def test_a_run_has_the_numbers_that_the_metrics_give_and_is_listed(tmp_path: Path, made: Any, capsys) -> None:
    rows, labels = made
    for name, scale in (("first", 0.0), ("second", 0.4)):
        noisy = rows + scale * np.random.default_rng(1).normal(size=rows.shape).astype(np.float32)
        _parquet(tmp_path / f"{name}.parquet", noisy, labels)
    pictures = tmp_path / "images"
    pictures.mkdir()
    for i in range(COUNT):
        Image.new("RGB", (20, 30), (i * 4, 0, 0)).save(pictures / f"{i:03}.png")
    files = [str(tmp_path / "first.parquet"), str(tmp_path / "second.parquet")]
    runs = ["--runs", str(tmp_path / "r")]
    assert main(["open", *files, "--labels", "genus", "species", "--images", str(pictures), *runs]) == 0
    said = capsys.readouterr().out
    run = list_runs(tmp_path / "r")[0]
    probe = run.probe()
    assert probe is not None and probe.hierarchy.levels == ("species", "genus") and run.state().phase == "finished"
    assert len(probe.labels) == COUNT and probe.sheets == 1
    codes = np.array([np.unique(values, return_inverse=True)[1] for values in labels.values()]).T
    expected = evaluate(torch.from_numpy(rows), torch.from_numpy(codes), metrics=["R_at_1", "HAP"])
    numbers = run.newest("test/R_at_1", "test/HAP")
    assert numbers[0, "test/R_at_1"] == pytest.approx(expected["R_at_1"])
    assert numbers[0, "test/HAP"] == pytest.approx(expected["HAP"])
    assert numbers[1, "test/R_at_1"] < numbers[0, "test/R_at_1"]  # type: ignore[operator]
    assert "first" in said and "second" in said and "R_at_1" in said
    assert main(["mistakes", "last", *runs]) == 0
    assert main(["compare", "last", *runs]) == 0
    assert "second" in capsys.readouterr().out
    assert main(["resume", "last", *runs]) == 0, "there is nothing to do"
    assert list_runs(tmp_path / "r")[0].state().phase == "finished"


def test_without_labels_there_is_a_map_and_a_sentence(tmp_path: Path, made: Any) -> None:
    np.save(tmp_path / "plain.npy", made[0])
    run = open_files(tmp_path / "r", [tmp_path / "plain.npy"])
    probe = run.probe()
    assert probe is not None and probe.hierarchy.names == (("no label",),)
    assert probe.notes == ("60 embeddings of 8 numbers, no labels.", UNLABELLED)
    assert run.newest("R_at_1") == {} and len(run.snapshots()) == 1


def test_files_are_steps_of_one_model_when_asked(tmp_path: Path, made: Any) -> None:
    for step in range(3):
        np.save(tmp_path / f"{step}.npy", made[0] * (step + 1) + step)
    run = open_files(tmp_path / "r", [tmp_path / f"{step}.npy" for step in range(3)], steps=True, name="mine")
    assert run.config.arms == 1 and [step for _, step, *_ in run.snapshots()] == [0, 1, 2]


def _broken(change: Callable[[np.ndarray], Any]) -> Callable[[Path, np.ndarray], None]:
    return lambda path, rows: np.save(path / "x.npy", change(rows))


def _with(rows: np.ndarray, value: float) -> np.ndarray:
    changed = rows.copy()
    changed[3] = value
    return changed


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (_broken(lambda rows: _with(rows, np.nan)), "finite numbers"),
        (_broken(lambda rows: _with(rows, np.inf)), "finite numbers"),
        (_broken(lambda rows: _with(rows, 0)), "not all of them 0"),
        (_broken(lambda rows: rows[0]), "shape"),
        (_broken(lambda rows: rows[:2]), "3 to"),
        (_broken(lambda rows: rows[:, None]), "shape"),
        (_broken(lambda rows: rows.astype("U9")), "shape"),
        (lambda path, rows: np.save(path / "x.npy", rows.astype(object), allow_pickle=True), "a pickle"),
        (lambda path, _rows: (path / "x.npy").write_bytes(pickle.dumps([1])), "a pickle"),
        (lambda path, _rows: (path / "x.npy").write_bytes(b""), "cannot be read"),
        (lambda path, _rows: (path / "x.parquet").write_bytes(b"PAR1 no"), "cannot be read"),
        (lambda path, _rows: (path / "x.safetensors").write_bytes(b"\xff" * 40), "cannot be read"),
        (lambda path, _rows: (path / "x.npz").write_bytes(b"PK no"), "cannot be read"),
        (lambda path, _rows: (path / "x.csv").write_text("a,b\n1,2\n3\n"), "Line 3"),
        (lambda path, _rows: (path / "x.csv").write_text("a,b\nx,y\nx,y\nx,y\n"), "column of embeddings"),
        (
            lambda path, rows: parquet.write_table(arrow.table({"x": rows[:, 0], "y": rows[:, 1]}), path / "x.parquet"),
            "column of embeddings",
        ),
        (lambda path, _rows: (path / "x.pkl").write_bytes(b"x"), "ends in .npy"),
        (lambda path, _rows: (path / "x.npy").mkdir(), "There is no file"),
    ],
)
def test_what_is_wrong_is_a_sentence_and_leaves_no_run(
    write: Callable[[Path, np.ndarray], object], said: str, tmp_path: Path, made: Any
) -> None:
    write(tmp_path, made[0])
    with pytest.raises(UserError, match=said):
        open_files(tmp_path / "r", [next(tmp_path.glob("x.*"))])
    assert list_runs(tmp_path / "r") == []


def test_files_of_other_rows_columns_and_pictures_that_are_not_there_are_told(tmp_path: Path, made: Any) -> None:
    rows, labels = made
    np.save(tmp_path / "a.npy", rows)
    np.save(tmp_path / "b.npy", rows[:-1])
    _parquet(tmp_path / "c.parquet", rows, labels)
    with pytest.raises(DataError, match=r"60 rows, as in a.npy, were needed in every file; b.npy has 59"):
        open_files(tmp_path / "r", [tmp_path / "a.npy", tmp_path / "b.npy"])
    with pytest.raises(DataError, match="Did you mean 'genus'"):
        open_files(tmp_path / "r", [tmp_path / "c.parquet"], labels=["gennus"])
    with pytest.raises(DataError, match="There is no column 'z'"):
        open_files(tmp_path / "r", [tmp_path / "c.parquet"], column="z")
    with pytest.raises(DataError, match="folder of images was needed"):
        open_files(tmp_path / "r", [tmp_path / "a.npy"], images=tmp_path / "none")
    (tmp_path / "some").mkdir()
    with pytest.raises(DataError, match="An image for each of 60 rows"):
        open_files(tmp_path / "r", [tmp_path / "a.npy"], images=tmp_path / "some")
    assert list_runs(tmp_path / "r") == []


def test_a_path_in_a_table_leads_nowhere_but_below_the_folder(tmp_path: Path, made: Any) -> None:
    rows, labels = made
    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "secret.png")
    Image.new("RGB", (8, 8), "blue").save(tmp_path / "images" / "ok.png")
    paths = ["ok.png", "../secret.png", str(tmp_path / "secret.png"), *["none.png"] * (COUNT - 3)]
    parquet.write_table(arrow.table({"embedding": list(rows), "path": paths, **labels}), tmp_path / "x.parquet")
    run = open_files(tmp_path / "r", [tmp_path / "x.parquet"], labels=["species"], images=tmp_path / "images")
    probe = run.probe()
    assert probe is not None and probe.notes[1:] == (f"{COUNT - 1} rows have no image.",)
    assert "images of images by path (1 of 60)" in probe.notes[0]


def test_where_there_are_no_images_the_name_of_the_class_stands(tmp_path: Path, made: Any) -> None:
    rows, _ = made
    names = ["pelican", "鳥", "gull"]
    labels = [names[row % 3] for row in range(len(rows))]
    parquet.write_table(arrow.table({"embedding": list(rows), "species": labels}), tmp_path / "x.parquet")
    run = open_files(tmp_path / "r", [tmp_path / "x.parquet"], labels=["species"])
    sheet, probe = np.array(Image.open(io.BytesIO(run.sheet(0))).convert("RGB")), run.probe()
    assert probe is not None and probe.notes == ("60 embeddings of 8 numbers (column embedding), level species (3).",)
    tiles = [sheet[:SIDE, at * SIDE : (at + 1) * SIDE].astype(int) for at in range(4)]
    dark = [(tile.sum(2) < 200).sum() for tile in tiles]
    assert dark[0] > 20 and dark[2] > 20 and dark[1] == 0, "no letters that the font does not have"
    assert abs(tiles[0] - tiles[3]).mean() < 3 < abs(tiles[0] - tiles[2]).mean()


def test_a_tree_tells_classes_of_one_name_apart_and_takes_levels_in_any_order() -> None:
    group, of = ["a", "a", "b", "b", "b"], ["x", "y", "x", "x", "z"]
    for labels in ({"group": group, "class": of}, {"class": of, "group": group}):
        ids, tree = tree_of(labels, 5)
        assert tree.levels == ("class", "group") and tree.names == (("x", "y", "x", "z"), ("a", "b"))
        assert ids.tolist() == [[0, 0], [1, 0], [2, 1], [2, 1], [3, 1]]
    with pytest.raises(DataError, match="A class for each of 3 images was needed; got 2"):
        tree_of({"class": ["x", "y"]}, 3)
    with pytest.raises(DataError, match="Every image needs a class; 1 have none"):
        tree_of({"class": ["x", None, "y"]}, 3)
