"""A comparison as files of a dataset, and made into runs again: the same report; hostile files give nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.hub import opened
from explorer.server.library import Library
from tests.made_up_plan import LOST, make_plan, sweep
from trainers.config import DataChoice
from trainers.data.labelled.repository import Repository
from trainers.errors import DataError, RunError
from trainers.plans.planned import PlannedRun
from trainers.plans.report import report
from trainers.publishing import reopened
from trainers.publishing.comparison import ABOUT, CURVES, QUERIES, write_comparison
from trainers.publishing.reopened import BOUNDS, origin, reopen
from trainers.runs import RunFolder
from trainers.runs.records import Scalar

COMMIT = "a" * 40
Tamper = Callable[[Path], object]


def stand(planned: PlannedRun) -> str:
    return "failed" if planned.seed == 2 else "finished"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    root = tmp_path_factory.mktemp("runs")
    config = sweep("smooth_ap", "supcon_out", vary={"label_noise": [0.0, 0.2]})
    config = replace(config, run=replace(config.run, data=DataChoice(source="/home/ada/secret/birds")))  # type: ignore[call-arg]
    return make_plan(root, config, stand=stand, gains={"Smooth-AP": 0.03})


@pytest.fixture
def files(plan: RunFolder, tmp_path: Path) -> dict[str, Path]:
    to = tmp_path / "files"
    to.mkdir()
    return dict(write_comparison(plan, "ada/noise", to))


def again(files: dict[str, Path], root: Path) -> RunFolder:
    known = {name: path for name, path in files.items() if name in BOUNDS and path.exists()}
    return RunFolder.open(root, reopen(known, "ada/noise", COMMIT, root), read_only=True)


def test_what_is_opened_again_says_what_was_pushed_and_no_more(
    plan: RunFolder, files: dict[str, Path], tmp_path: Path
) -> None:
    run = next(path for path in plan.path.parent.iterdir() if (path / "probe.safetensors").exists())
    RunFolder(run).db.add_metrics([Scalar(arm=1, step=10, seconds=2.0, key="loss", value=0.1 + 0.2)])
    write_comparison(plan, "ada/noise", files[ABOUT].parent)
    made = again(files, tmp_path / "hub")
    assert report(made).markdown() == report(plan).markdown() and LOST in report(made).markdown()
    assert report(made).markdown().strip() in files["README.md"].read_text()
    assert origin(made) == f"ada/noise@{COMMIT}" and origin(plan) == "" and made.id != plan.id
    assert again(files, tmp_path / "hub").id == made.id
    numbers = [number for folder in opened.list_runs(tmp_path / "hub") for number in folder.scalars()]
    assert [number.value for number in numbers if number.key == "loss"] == [0.1 + 0.2]
    texts = "".join(path.read_text() for path in files.values() if path.suffix != ".parquet")
    assert "/home" not in texts and "secret" not in texts and '"birds"' in texts
    library = Library(tmp_path / "runs", tmp_path / "none", tmp_path / "hub")
    assert library.get(made.id).recorded and library.folders() == []


def test_there_is_nothing_to_push_before_a_run_has_finished(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap"), phase="running", stand=lambda _: "planned")
    with pytest.raises(RunError, match="has no results yet"):
        write_comparison(plan, "ada/noise", tmp_path)


def about(change: Callable[[dict[str, Any]], object]) -> Tamper:
    def tamper(folder: Path) -> None:
        values = json.loads((folder / ABOUT).read_text())
        change(values)
        (folder / ABOUT).write_text(json.dumps(values))

    return tamper


def table(**options: Any) -> Tamper:
    return lambda folder: pq.write_table(pq.read_table(folder / QUERIES), folder / QUERIES, **options)


def texts_in_it(folder: Path) -> None:
    columns = pq.read_table(folder / QUERIES)
    columns = columns.set_column(0, pa.field("run", pa.string(), nullable=False), [["x" * 10] * len(columns)])
    pq.write_table(columns, folder / QUERIES, compression="none", use_dictionary=False)


def number(**values: object) -> Tamper:
    def tamper(folder: Path) -> None:
        rows = list(csv.DictReader((folder / CURVES).read_text().splitlines()))
        rows[0] |= {name: str(value) for name, value in values.items()}
        with (folder / CURVES).open("w", newline="") as file:
            written = csv.DictWriter(file, rows[0])
            written.writeheader()
            written.writerows(rows)

    return tamper


HOSTILE: dict[str, tuple[Tamper, str]] = {
    "no JSON": (lambda folder: (folder / ABOUT).write_bytes(b"\x80\x04pickle"), "no comparison that can be opened"),
    "nested": (lambda folder: (folder / ABOUT).write_text("[" * 200_000), "no comparison that can be opened"),
    "another format": (about(lambda values: values.update(format="other")), "of another format"),
    "newer": (about(lambda values: values.update(version=99)), "is of version 99"),
    "unknown kind": (about(lambda values: values["settings"].update(kind="evil", version=2)), "no kind of run 'evil'"),
    "a run": (about(lambda values: values.update(settings=values["settings"]["run"] | {"version": 2})), "single run"),
    "many seeds": (about(lambda values: values["settings"].update(seeds=list(range(10**4)))), "at most|1 to 20 seeds"),
    "an id that leads out": (about(lambda values: values.update(id="../../../../etc/passwd0000")), "its id is none"),
    "an id of the future": (about(lambda values: values.update(id="7" + "Z" * 25)), "its id is none"),
    "a run twice": (about(lambda values: values["runs"].append(values["runs"][0])), "there twice"),
    "other runs": (about(lambda values: [run.update(name=f"x{n}") for n, run in enumerate(values["runs"])]), "ask for"),
    "still training": (about(lambda values: values["runs"][0].update(phase="running")), "'finished', 'failed'"),
    "labels without a name": (about(lambda values: values["probes"][0]["labels"][0].__setitem__(0, 10**6)), "a name"),
    "no such probe": (about(lambda values: values["runs"][0].update(probe=7)), "no comparison that can be opened"),
    "compressed": (table(compression="zstd", use_dictionary=False), "other columns|compressed"),
    "a dictionary": (table(compression="none", use_dictionary=True), "other columns|compressed"),
    "texts": (texts_in_it, "other columns"),
    "a cut table": (lambda folder: (folder / QUERIES).write_bytes(b"PAR1" + bytes(100)), "cannot be read"),
    "no table": (lambda folder: (folder / QUERIES).unlink(), "no comparison that can be opened"),
    "an arm too many": (number(arm=5), "losses that it does not have"),
    "no number": (number(value="nan"), "a number that is none"),
    "a text": (number(value="=cmd()"), "could not convert"),
    "a long step": (number(step="9" * 5000), "needs whole numbers"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_comparison_is_a_sentence_and_leaves_nothing(
    case: str, files: dict[str, Path], tmp_path: Path
) -> None:
    tamper, words = HOSTILE[case]
    tamper(files[ABOUT].parent)
    root = tmp_path / "hub"
    with pytest.raises(DataError, match=words) as refused:
        again(files, root)
    assert "ada/noise" in str(refused.value) and len(str(refused.value)) < 500
    assert not root.exists() or list(root.iterdir()) == []


def test_a_file_beyond_its_bound_is_not_read(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reopened.BOUNDS, CURVES, 100)
    with pytest.raises(DataError, match="larger than"):
        again(files, tmp_path / "hub")


def test_the_comparisons_opened_longest_ago_go_first(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "KEPT", 2)
    root, made = tmp_path / "hub", []
    kept = {name: path for name, path in files.items() if name in BOUNDS}
    comparisons = opened.OpenedComparisons(root)
    for commit in ("1" * 40, "2" * 40, "1" * 40, "3" * 40):
        commit_of = Repository(name="ada/noise", sha=commit, files={})
        monkeypatch.setattr(opened, "fetch", lambda *_, at=commit_of: (kept, at))
        made.append(comparisons.open("ada/noise", lambda *_: None))
    first, second, _, third = made
    plans = {folder.id for folder in opened.list_runs(root) if not folder.part_of}
    assert plans == {first, third} and second not in plans
    assert {folder.part_of for folder in opened.list_runs(root) if folder.part_of} == plans
