"""A comparison as files of a dataset, and made into runs again: the same report; hostile files give nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.hub import opened
from explorer.server.library import Library
from tests.made_up_plan import LOST, make_plan, sweep
from trainers.config import DataChoice
from trainers.data.labelled.repository import Repository
from trainers.errors import DataError, RunError
from trainers.plans.planned import PlannedRun
from trainers.plans.report import report
from trainers.publishing.comparison import RUNS, origin, reopen, write_comparison
from trainers.runs import RunFolder
from trainers.runs.atomic_files import read_tensors, write_tensors
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
    return RunFolder.open(root, reopen(files[RUNS], "ada/noise", COMMIT, root), read_only=True)


def test_what_is_opened_again_says_what_was_pushed_and_no_more(
    plan: RunFolder, files: dict[str, Path], tmp_path: Path
) -> None:
    run = next(path for path in plan.path.parent.iterdir() if (path / "probe.safetensors").exists())
    RunFolder(run).db.add_metrics([Scalar(arm=1, step=10, seconds=2.0, key="loss", value=0.1 + 0.2)])
    write_comparison(plan, "ada/noise", files[RUNS].parent)
    made = again(files, tmp_path / "hub")
    assert report(made).markdown() == report(plan).markdown() and LOST in report(made).markdown()
    assert report(made).markdown().strip() in files["README.md"].read_text()
    assert origin(made) == f"ada/noise@{COMMIT}" and origin(plan) == "" and made.id != plan.id
    assert again(files, tmp_path / "hub").id == made.id
    numbers = [number for folder in opened.list_runs(tmp_path / "hub") for number in folder.scalars()]
    assert [number.value for number in numbers if number.key == "loss"] == [0.1 + 0.2]
    content = b"".join(path.read_bytes() for path in files.values())
    assert b"/home" not in content and b"secret" not in content and b"birds" in content
    library = Library(tmp_path / "runs", tmp_path / "none", tmp_path / "hub")
    assert library.get(made.id).recorded and library.folders() == []


def test_there_is_nothing_to_push_before_a_run_has_finished(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap"), phase="running", stand=lambda _: "planned")
    with pytest.raises(RunError, match="has no results yet"):
        write_comparison(plan, "ada/noise", tmp_path)


def packed(change: Callable[[dict[str, Any], dict[str, str]], object]) -> Tamper:
    """Change the tensors and the texts."""

    def tamper(folder: Path) -> None:
        tensors, described = read_tensors(folder / RUNS)
        change(tensors, described)
        write_tensors(folder / RUNS, tensors, described)

    return tamper


def about(change: Callable[[dict[str, Any]], object], part: str = "about") -> Tamper:
    def tamper(_: dict[str, Any], described: dict[str, str]) -> None:
        values = json.loads(described[part])
        change(values)
        described[part] = json.dumps(values)

    return packed(tamper)


def number(column: int, value: float) -> Tamper:
    return packed(lambda tensors, _: tensors["0/numbers/rows"][0].__setitem__(column, value))


def tensor(name: str, value: Any) -> Tamper:
    return packed(lambda tensors, _: tensors.update({name: value}))


HOSTILE: dict[str, tuple[Tamper, str]] = {
    "no tensors": (lambda folder: (folder / RUNS).write_bytes(b"\x80\x04pickle"), "no comparison that can be opened"),
    "cut": (lambda folder: (folder / RUNS).write_bytes((folder / RUNS).read_bytes()[:-9]), "no comparison that can"),
    "nested": (packed(lambda _, texts: texts.update(about="[" * 200_000)), "no comparison that can be opened"),
    "long": (packed(lambda _, texts: texts.update(about=" " * 2**24)), "too long"),
    "another format": (packed(lambda _, texts: texts.update(format="other")), "of another format"),
    "newer": (about(lambda values: values.update(version=99)), "is of version 99"),
    "unknown kind": (about(lambda values: values["settings"].update(kind="evil", version=2)), "no kind of run 'evil'"),
    "a run": (about(lambda values: values.update(settings=values["settings"]["run"] | {"version": 2})), "single run"),
    "many seeds": (about(lambda values: values["settings"].update(seeds=list(range(10**4)))), "at most|1 to 20 seeds"),
    "an id that leads out": (about(lambda values: values.update(id="../../../../etc/passwd0000")), "its id is none"),
    "an id of the future": (about(lambda values: values.update(id="7" + "Z" * 25)), "its id is none"),
    "a run twice": (about(lambda values: values["runs"].append(values["runs"][0])), "there twice"),
    "other runs": (about(lambda values: [run.update(name=f"x{n}") for n, run in enumerate(values["runs"])]), "ask for"),
    "no runs": (about(lambda values: values.update(runs=7)), "no comparison that can be opened"),
    "still training": (about(lambda values: values["runs"][0].update(phase="running")), "finished, failed, stopped"),
    "a label without a name": (packed(lambda tensors, _: tensors["0/probe/labels"][0].fill_(10**6)), "a name"),
    "a probe with files": (about(lambda values: values.update(files=["/etc/passwd"]), "0/probe/about"), "of files"),
    "cut results": (packed(lambda tensors, _: tensors.pop("0/queries/rows")), "no comparison that can be opened"),
    "an arm too many": (number(0, 5), "losses that it does not have"),
    "half a step": (number(1, 0.5), "losses that it does not have"),
    "a long step": (number(1, 1e300), "losses that it does not have"),
    "no such key": (number(3, 10**6), "losses that it does not have"),
    "no number": (number(4, float("nan")), "a number that is none"),
    "no time": (number(2, float("inf")), "a number that is none"),
    "another shape": (tensor("0/numbers/rows", torch.zeros(4, dtype=torch.float64)), "wrong shape"),
    "another type": (tensor("0/numbers/rows", torch.zeros(4, 5, dtype=torch.bfloat16)), "can be opened"),
    "many numbers": (tensor("0/numbers/rows", torch.zeros(2_000_001, 0, dtype=torch.float64)), "numbers"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_comparison_is_a_sentence_and_leaves_nothing(
    case: str, files: dict[str, Path], tmp_path: Path
) -> None:
    tamper, words = HOSTILE[case]
    tamper(files[RUNS].parent)
    root = tmp_path / "hub"
    with pytest.raises(DataError, match=words) as refused:
        again(files, root)
    assert "ada/noise" in str(refused.value) and len(str(refused.value)) < 500
    assert not root.exists() or list(root.iterdir()) == []


def test_the_comparisons_opened_longest_ago_go_first(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "KEPT", 2)
    root, made = tmp_path / "hub", []
    comparisons = opened.OpenedComparisons(root)
    for commit in ("1" * 40, "2" * 40, "1" * 40, "3" * 40):
        commit_of = Repository(name="ada/noise", sha=commit, files={})
        monkeypatch.setattr(opened, "fetch", lambda *_, at=commit_of: (files[RUNS], at))
        made.append(comparisons.open("ada/noise", lambda *_: None))
    first, second, _, third = made
    plans = {folder.id for folder in opened.list_runs(root) if not folder.part_of}
    assert plans == {first, third} and second not in plans
    assert {folder.part_of for folder in opened.list_runs(root) if folder.part_of} == plans
