"""The verb ``mistakes`` on made-up runs."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.synthetic import diverge, make_run
from trainers.cli.main import main
from trainers.errors import RunError
from trainers.hierarchy import Hierarchy
from trainers.metrics import evaluate
from trainers.retrieval.mistakes import MistakesOverTraining
from trainers.retrieval.probe_results import query_metrics
from trainers.runs import RunFolder


def test_it_prints_severities_confusions_and_disagreements(tmp_path: Path, capsys) -> None:
    folder = make_run(tmp_path, points=120, frames=2)
    assert main(["mistakes", folder.id, "--runs", str(tmp_path), "--frame", "0", "--class", "product 1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Made-up world, frame 0: 120 queries, 10 results of each\n")
    tables = [
        "Results by the finest level",
        "First results over the training",
        "Confusions that cost",
        "Classes named 'product 1'",
        "Queries whose AP",
    ]
    assert [printed.index(table) for table in tables] == sorted(printed.index(table) for table in tables)
    assert "STEP 0  STEP 25" in printed
    assert printed.count("first result, if wrong") == 2
    assert "SAME PRODUCT  SAME KIND  SAME AISLE  UNRELATED" in printed and "Last numbers" not in printed
    assert printed.count("product 11") >= 2


def test_a_run_whose_maps_were_never_drawn_has_its_training_too(run: RunFolder, capsys) -> None:
    assert not run.frames()
    assert main(["mistakes", run.id, "--runs", str(run.path.parent)]) == 0
    printed = capsys.readouterr().out
    assert "First results over the training" in printed and "STEP 0  STEP 3  STEP 6" in printed


def test_an_arm_that_diverged_is_named_and_the_others_are_shown(tmp_path: Path, capsys) -> None:
    folder, path = make_run(tmp_path, points=60, frames=2, layout=False), tmp_path / "queries.csv"
    diverge(folder, arm=0, first=1)
    assert main(["mistakes", folder.id, "--runs", str(tmp_path), "--csv", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "Smooth-AP has no results: its embeddings are not numbers" in printed
    assert printed.count("HAPPIER") >= 2 and "Queries whose" not in printed
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 60 and {row["arm"] for row in rows} == {"HAPPIER"}


def test_images_without_classes_have_no_mistakes(tmp_path: Path, capsys) -> None:
    folder = make_run(tmp_path, points=60, frames=1)
    probe, hierarchy = folder.probe(), Hierarchy(levels=("class",), names=(("none",),))
    folder.write_probe(dataclasses.replace(probe, hierarchy=hierarchy, labels=0 * probe.labels[:, :1]), [])
    assert main(["mistakes", folder.id, "--runs", str(tmp_path)]) == 1
    assert "have no classes" in capsys.readouterr().err
    for ask in (lambda: query_metrics(folder, 0), lambda: MistakesOverTraining(folder).series(5)):
        with pytest.raises(RunError, match="have no classes"):
            ask()


def test_the_file_has_a_line_per_arm_and_query(tmp_path: Path, capsys) -> None:
    folder = make_run(tmp_path, points=60, frames=2)
    path = tmp_path / "queries.csv"
    assert main(["mistakes", folder.id, "--runs", str(tmp_path), "--csv", str(path), "--k", "1"]) == 0
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 120 and {row["arm"] for row in rows} == {"Smooth-AP", "HAPPIER"}
    probe, vectors = folder.probe(), torch.from_numpy(folder.embeddings(1)[0].astype(np.float32))
    want = evaluate(vectors, torch.from_numpy(probe.labels).long(), metrics=["AP"], per_query=True)["AP"]
    assert [float(row["AP"]) for row in rows[:60]] == want.tolist()
    assert rows[5]["query_kind"] == probe.hierarchy.names[1][probe.labels[5, 1]]
    first = folder.frame(1).arms[0].neighbours[:, 0]
    assert [int(row["first_result"]) for row in rows[:60]] == first.tolist()
    assert [int(row["levels_shared"]) for row in rows[:60]] == (probe.labels[first] == probe.labels).sum(1).tolist()
    assert main(["mistakes", folder.id, "--runs", str(tmp_path), "--csv", str(tmp_path)]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_class_names_are_no_formulas_in_the_file(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=60, frames=1)
    probe = folder.probe()
    names = tuple(tuple(f"=1+{name}\udce9" for name in level) for level in probe.hierarchy.names)
    folder.write_probe(dataclasses.replace(probe, hierarchy=dataclasses.replace(probe.hierarchy, names=names)), [])
    path = tmp_path / "queries.csv"
    assert main(["mistakes", folder.id, "--runs", str(tmp_path), "--csv", str(path)]) == 0
    row = next(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert row["query_kind"].startswith("'=1+") and row["first_kind"].startswith("'=1+")


def test_a_baseline_adds_its_arms_and_the_differences(tmp_path: Path, capsys) -> None:
    run, other = make_run(tmp_path, points=60, frames=2), make_run(tmp_path, points=60, frames=2, arms=1)
    assert main(["mistakes", run.id, "--baseline", other.id, "--runs", str(tmp_path), "--metric", "HAP"]) == 0
    printed = capsys.readouterr().out
    assert "Smooth-AP (baseline)" in printed and f"Last numbers less those of {other.id}" in printed
    assert "+0.000" in printed and "different images" not in printed
    fewer = make_run(tmp_path, points=48, frames=2)
    assert main(["mistakes", run.id, "--baseline", fewer.id, "--runs", str(tmp_path)]) == 0
    assert "different images" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--k", "0"], "--k needs a whole number"),
        (["--metric", "beauty"], "There is no metric 'beauty'"),
        (["--frame", "9"], "has no frame 9"),
        (["--baseline", "x"], "A run id is 26"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path: Path, capsys, more, sentence) -> None:
    folder = make_run(tmp_path, points=24, frames=1)
    assert main(["mistakes", folder.id, "--runs", str(tmp_path), *more]) == 1
    assert sentence in capsys.readouterr().err
