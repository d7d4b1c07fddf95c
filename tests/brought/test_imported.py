"""A download opens in another installation as what it was; of a hostile one nothing is taken."""

from __future__ import annotations

import dataclasses
import io
import json
import sqlite3
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from explorer.exports.archive import zip_chunks
from explorer.server.run import Run
from explorer.settings import ASSETS
from tests.made_up_plan import make_plan, sweep
from tests.tiny import tiny_config, write_images
from tests.training.reopened import numbers
from trainers.brought.imported import import_zip, is_download
from trainers.cli.main import main
from trainers.errors import DataError
from trainers.plans.report import report
from trainers.runs import RunFolder, list_runs
from trainers.worker import Worker

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    home = tmp_path_factory.mktemp("here")
    folder = RunFolder.create(home / "runs", tiny_config(write_images(home / "images"), snapshot_steps=3), owner="ada")
    assert Worker(folder).run().phase == "finished"
    return folder


def packed(folder: RunFolder, *, weights: bool = True) -> bytes:
    return b"".join(zip_chunks(Run(folder), weights=weights))


@pytest.fixture(scope="module")
def files(trained: RunFolder) -> Files:
    with zipfile.ZipFile(io.BytesIO(packed(trained))) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def write(path: Path, content: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def test_a_run_is_itself_again_and_nobodys(trained: RunFolder, tmp_path: Path) -> None:
    file = tmp_path / "run.zip"
    file.write_bytes(packed(trained))
    assert is_download(file)
    (run_id,) = import_zip(file, tmp_path / "runs")
    made = RunFolder.open(tmp_path / "runs", run_id)
    assert (
        made.id == trained.id
        and made.owner == ""
        and made.state() == dataclasses.replace(trained.state(), updated=made.state().updated)
    )
    assert numbers(made) == numbers(trained) and made.snapshots() == trained.snapshots()
    kept, again = trained.test_queries(), made.test_queries()
    assert kept and again and np.array_equal(kept.values, again.values, equal_nan=True)
    with pytest.raises(DataError, match="is here already"):
        import_zip(file, tmp_path / "runs")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [trained.id]


def test_a_sweep_comes_with_its_runs_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(tmp_path / "here", sweep("smooth_ap", "happier", seeds=2))
    file = tmp_path / "sweep.zip"
    file.write_bytes(packed(plan))
    assert main(["import", str(file), "--runs", str(tmp_path / "there"), "--json"]) == 0
    ids = json.loads(capsys.readouterr().out)["ids"]
    assert ids[0] == plan.id and len(ids) == len(list_runs(tmp_path / "here"))
    made = RunFolder.open(tmp_path / "there", plan.id)
    assert report(made).markdown() == report(plan).markdown()


def test_a_run_that_had_not_ended_waits_for_somebody_to_resume_it(
    files: Files, trained: RunFolder, tmp_path: Path
) -> None:
    for phase in ("queued", "running", "between slices"):
        file = write(
            tmp_path / f"{phase}.zip",
            prefixed(files | {"run.db": altered(files["run.db"], f"UPDATE state SET phase = '{phase}'")}, trained),
        )
        (run_id,) = import_zip(file, tmp_path / phase)
        assert RunFolder.open(tmp_path / phase, run_id).state().phase == "interrupted"


def prefixed(files: Files, folder: RunFolder) -> Files:
    return {f"{folder.id}/{name}": data for name, data in files.items()}


def altered(database: bytes, *statements: str) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as spare:
        path = Path(spare) / "run.db"
        path.write_bytes(database)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=DELETE")
        for statement in statements:
            connection.executescript(statement)
        connection.commit()
        connection.close()
        return path.read_bytes()


def sql(*statements: str) -> Callable[[Files], Files]:
    return lambda files: files | {"run.db": altered(files["run.db"], *statements)}


def put(name: str, data: bytes | str) -> Callable[[Files], Files]:
    return lambda files: files | {name: data.encode() if isinstance(data, str) else data}


def settings(**changes: object) -> Callable[[Files], Files]:
    return lambda files: put("config.json", json.dumps(json.loads(files["config.json"]) | changes))(files)


def tensors(name: str, change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Files], Files]:
    def tamper(files: Files) -> Files:
        held = {key: value.clone() for key, value in load(files[name]).items()}
        change(held)
        size = struct.unpack("<Q", files[name][:8])[0]
        about = json.loads(files[name][8 : 8 + size]).get("__metadata__")
        return files | {name: save(held, about)}

    return tamper


def first(key: str, value: torch.Tensor) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda held: held.update({key: value})


EMB, QUERIES, WEIGHTS = "emb/000001.safetensors", "test_queries.safetensors", "ckpt/last.safetensors"


def cut(name: str) -> Callable[[Files], Files]:
    return lambda files: files | {name: files[name][:-9]}


WRONG: dict[str, tuple[Callable[[Files], Files], str]] = {
    "a name that leads out": (put("../../evil.txt", "x"), "no file of a run"),
    "an absolute name": (put("/etc/evil.txt", "x"), "no file of a run"),
    "a backslash": (put("..\\evil.txt", "x"), "no file of a run"),
    "a drive": (put("C:evil.txt", "x"), "no file of a run"),
    "two folders deep": (put("emb/deep/000001.safetensors", "x"), "no file of a run"),
    "a pickle": (put("model.pkl", b"\x80\x04."), "no file of a run"),
    "a checkpoint of torch": (put("ckpt/last.pt", b"\x80\x04."), "no file of a run"),
    "a script": (put("config.py", "import os"), "no file of a run"),
    "a page": (put("page.html", "<script>"), "no file of a run"),
    "a shared library": (put("emb/evil.so", b"\x7fELF"), "no file of a run"),
    "a hidden file": (put(".lock", "x"), "no file of a run"),
    "a line break": (put("log.txt\n", "x"), "no file of a run"),
    "a direction mark": (put("a\u202egnp.txt", "x"), "no file of a run"),
    "a side file": (put("run.db-wal", b"\0" * 64), "no file of a run"),
    "a long name": (put("a" * 300 + ".txt", ""), "no file of a run"),
    "no database": (lambda files: {k: v for k, v in files.items() if k != "run.db"}, "run.db|has no"),
    "no settings": (lambda files: {k: v for k, v in files.items() if k != "config.json"}, "no download of a run"),
    "a database that is none": (put("run.db", b"\0" * 4096), "damaged|run.db|other tables"),
    "a cut database": (lambda files: files | {"run.db": files["run.db"][:5000]}, "damaged|malformed|other tables"),
    "a trigger": (sql("CREATE TRIGGER t AFTER INSERT ON metrics BEGIN DELETE FROM metrics; END"), "views or triggers"),
    "a view": (sql("CREATE VIEW v AS SELECT * FROM metrics"), "views or triggers"),
    "another table": (sql("CREATE TABLE evil (a)"), "other tables"),
    "a view in place of a table": (
        sql("ALTER TABLE metrics RENAME TO m", "CREATE VIEW metrics AS SELECT * FROM m"), "views or triggers"),
    "a virtual table": (sql("CREATE VIRTUAL TABLE f USING fts5(a)"), "other tables"),
    "a generated column": (sql("ALTER TABLE metrics ADD COLUMN g GENERATED ALWAYS AS (step) VIRTUAL"), "other tables"),
    "a default that calls": (sql("ALTER TABLE control ADD COLUMN d DEFAULT (1)"), "other tables|near"),
    "an index on an expression": (sql("CREATE INDEX i ON metrics (abs(step))"), "other tables"),
    "no state": (sql("DELETE FROM state"), "state is missing"),
    "an unknown phase": (sql("UPDATE state SET phase = '<b>'"), "phase needs one of"),
    "another version": (sql("PRAGMA user_version = 99"), "format 99"),
    "a step of text": (sql("UPDATE metrics SET step = 'x' WHERE id = 1"), "step"),
    "a negative step": (sql("UPDATE snapshots SET step = -1"), "step"),
    "an arm too many": (sql("UPDATE metrics SET arm = 5 WHERE id = 1"), "arm 5"),
    "a snapshot of text": (sql("UPDATE snapshots SET seconds = 'x'"), "seconds"),
    "a message of bytes": (sql("UPDATE state SET message = x'ff'"), "message"),
    "settings of another kind": (settings(kind="evil"), "no kind of run 'evil'"),
    "settings of a newer version": (settings(version=99), "newer version"),
    "a setting that is none": (settings(evil=1), "cannot be read|evil"),
    "a loss that is none": (settings(losses=7), "cannot be read"),
    "no losses": (settings(losses=[]), "arms|losses"),
    "many losses": (settings(losses=[{"name": "smooth_ap", "parameters": {}}] * 99), "99 arms"),
    "nested settings": (put("config.json", "[" * 100_000), "cannot be read|configuration"),
    "settings that are no text": (put("config.json", b"\xff\xfe\0"), "configuration|UTF-8|decode"),
    "settings too long": (put("config.json", b" " * (2**20 + 1)), "config"),
    "a cut probe": (cut("probe.safetensors"), "probe.safetensors"),
    "a probe of pickle": (put("probe.safetensors", b"\x80\x04pickle"), "probe.safetensors"),
    "labels of another shape": (tensors("probe.safetensors", first("labels", torch.zeros(4))), "label|shape|probe"),
    "labels without a name": (tensors("probe.safetensors", lambda held: held["labels"].fill_(10**6)), "name"),
    "embeddings that are cut": (cut(EMB), "000001"),
    "embeddings of pickle": (put(EMB, b"\x80\x04pickle"), "000001"),
    "embeddings without a name": (tensors(EMB, lambda held: held.clear()), "embedding|arm|000001|none"),
    "results that are cut": (cut(QUERIES), "test_queries"),
    "results of another shape": (tensors(QUERIES, first("values", torch.zeros(2))), "shape|values|wrong"),
}  # fmt: skip


def test_what_packing_again_adds_is_left_in_the_zip(tmp_path: Path, trained: RunFolder, files: Files) -> None:
    run = {f"{trained.id}/{name}": data for name, data in files.items()}
    mac = {f"__MACOSX/{trained.id}/._config.json": b"\0\5\x16\7", f"{trained.id}/.DS_Store": b"x", ".DS_Store": b"x"}
    here = {f"{trained.id}/{name}": b"x" for name in ("ballast", "lock", "owner", "tracker")}
    file = write(tmp_path / "again.zip", mac | run | here)
    assert is_download(file)
    (again,) = import_zip(file, tmp_path / "elsewhere")
    names = {path.name for path in (tmp_path / "elsewhere" / again).rglob("*")}
    assert not names & {"ballast", "owner", "tracker", ".DS_Store", "._config.json"}
    assert not (path := tmp_path / "elsewhere" / again / "lock").exists() or path.read_bytes() != b"x"


@pytest.mark.parametrize("case", WRONG)
def test_a_hostile_zip_is_a_sentence_and_leaves_nothing(
    case: str, files: Files, trained: RunFolder, tmp_path: Path
) -> None:
    tamper, words = WRONG[case]
    root = tmp_path / "runs"
    with pytest.raises(DataError, match=words) as refused:
        import_zip(write(tmp_path / "run.zip", prefixed(tamper(files), trained)), root)
    assert str(refused.value).startswith("run.zip cannot be imported: ") and len(str(refused.value)) < 700
    assert list(root.iterdir()) == [] and sorted(path.name for path in tmp_path.iterdir()) == ["run.zip", "runs"]


def whole(names: Callable[[str], dict[str, bytes]]) -> Callable[[Path, RunFolder, Files], Path]:
    return lambda path, folder, files: write(path, prefixed(files, folder) | names(folder.id))


def linked(path: Path, folder: RunFolder, files: Files) -> Path:
    write(path, prefixed(files, folder))
    with zipfile.ZipFile(path, "a") as archive:
        about = zipfile.ZipInfo(f"{folder.id}/log2.txt")
        about.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(about, "/etc/passwd")
    return path


def twice(path: Path, folder: RunFolder, files: Files) -> Path:
    write(path, prefixed(files, folder))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(f"{folder.id}/run.db", b"another")
    return path


def larger(path: Path, folder: RunFolder, files: Files) -> Path:
    """Its directory says that a file of a megabyte has ten bytes."""
    bomb = prefixed(files | {"log.txt": b"a" * 2**20}, folder)
    data = bytearray(write(path, bomb).read_bytes())
    at = data.rindex(f"{folder.id}/log.txt".encode()) - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    path.write_bytes(data)
    return path


def broken(path: Path, folder: RunFolder, files: Files) -> Path:
    """Its settings are no DEFLATE stream."""
    data = bytearray(write(path, prefixed(files, folder)).read_bytes())
    at = data.index(f"{folder.id}/config.json".encode())
    data[at + 40 : at + 80] = b"\xff" * 40
    path.write_bytes(data)
    return path


def locked(path: Path, folder: RunFolder, files: Files) -> Path:
    data = bytearray(write(path, prefixed(files, folder)).read_bytes())
    at = data.rindex(f"{folder.id}/run.db".encode()) - 46
    data[at + 8] |= 1
    path.write_bytes(data)
    return path


ODD: dict[str, tuple[Callable[[Path, RunFolder, Files], Path], str]] = {
    "another folder": (whole(lambda _: {"evil/config.json": b"{}"}), "no file of a run"),
    "a file at the top": (whole(lambda _: {"readme.txt": b""}), "no file of a run"),
    "a run of the future": (whole(lambda _: {f"7{'Z' * 25}/config.json": b"{}"}), "a time to come"),
    "half a run beside it": (whole(lambda _: {f"00{'0' * 24}/run.db": b""}), "no download of a run"),
    "a broken run beside it": (whole(lambda _: {f"00{'0' * 24}/config.json": b"{}"}), "run.db"),
    "a link": (linked, "no file of a run"),
    "a file twice": (twice, "in it twice"),
    "a file that is larger than it says": (larger, "larger than the zip says|CRC|no zip file"),
    "a broken file": (broken, "no zip file"),
    "a password": (locked, "password"),
    "no zip": (lambda path, _folder, _files: (path.write_bytes(b"PK\x03\x04nothing"), path)[1], "no zip file"),
    "an empty zip": (lambda path, _folder, _files: write(path, {}), "no download of a run"),
    "images": (lambda path, _folder, _files: write(path, {"cats/1.png": b"x"}), "no file of a run"),
    "a cut zip": (lambda path, folder, files: (path.write_bytes(packed(folder)[:-2000]), path)[1], "no zip file"),
    "many runs": (whole(lambda _: {f"00{n:024d}/config.json": b"{}" for n in range(601)}), "600 are read"),
}


@pytest.mark.parametrize("case", ODD)
def test_an_odd_zip_is_a_sentence_and_leaves_nothing(
    case: str, files: Files, trained: RunFolder, tmp_path: Path
) -> None:
    make, words = ODD[case]
    root = tmp_path / "runs"
    with pytest.raises(DataError, match=words):
        import_zip(make(tmp_path / "run.zip", trained, files), root)
    assert list(root.iterdir()) == []


def test_what_is_larger_than_the_disk_is_refused_before_it_is_unpacked(
    files: Files, trained: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainers.brought.imported.MOST_BYTES", 1000)
    with pytest.raises(DataError, match="there is room for 1,000"):
        import_zip(write(tmp_path / "run.zip", prefixed(files, trained)), tmp_path / "runs")


def test_two_runs_that_name_each_other_are_runs_of_their_own(files: Files, trained: RunFolder, tmp_path: Path) -> None:
    one, other = f"00{'0' * 23}1", f"00{'0' * 23}2"
    both = {f"{one}/{name}": data for name, data in (files | {"part_of": other.encode()}).items()}
    both |= {f"{other}/{name}": data for name, data in (files | {"part_of": one.encode()}).items()}
    import_zip(write(tmp_path / "run.zip", both), tmp_path / "runs")
    assert [folder.part_of for folder in list_runs(tmp_path / "runs")] == ["", ""]


def test_names_from_elsewhere_are_shown_as_they_are(files: Files, trained: RunFolder, tmp_path: Path) -> None:
    label = {"name": "<img src=x onerror=alert(1)>", "note": "${7*7}", "tags": ["{{7*7}}"]}
    file = write(tmp_path / "run.zip", prefixed(files | {"label.json": json.dumps(label).encode()}, trained))
    (run_id,) = import_zip(file, tmp_path / "runs")
    from trainers.runs.label import read_label

    assert read_label(tmp_path / "runs" / run_id).name == label["name"]


@pytest.mark.parametrize("kind", ["metric_learning", "finetuning"])
def test_recordings_are_taken_in_with_their_maps(kind: str, tmp_path: Path) -> None:
    runs = list_runs(ASSETS / "recorded", read_only=True)
    recorded = next(folder for folder in runs if folder.config.kind == kind and not folder.part_of)
    file = tmp_path / "run.zip"
    file.write_bytes(packed(recorded))
    assert import_zip(file, tmp_path / "runs") == [recorded.id]
    made = RunFolder.open(tmp_path / "runs", recorded.id)
    assert made.frames() == recorded.frames() and numbers(made) == numbers(recorded)
