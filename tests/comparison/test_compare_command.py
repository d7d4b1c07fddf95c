"""The verb ``compare``: finished runs whose numbers are made up, so that what must be said of them is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.made_up_plan import make_plan, sweep
from trainers.cli.main import main
from trainers.comparison import Cell, table
from trainers.config import DataChoice, RunConfig
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.records import RunState, Scalar

OUT, IN = (Choice(name="supcon", parameters={"positives": positives}) for positives in ("out", "in"))
CROSS_ENTROPY = Choice(name="cross_entropy")


def write(root: Path, numbers: list[float], phase: str = "finished", **settings: Any) -> str:
    """A run that ended with this k-NN accuracy of each arm; its id."""
    folder = RunFolder.create(root, ContrastiveConfig(**{"steps": 200} | settings))
    for arm, value in enumerate(numbers):
        folder.db.add_metrics(
            [
                Scalar(arm=arm, step=200, seconds=9.0, key=f"test/{key}", value=value * factor)
                for key, factor in (("knn_accuracy", 1.0), ("probe_accuracy", 1.1), ("images", 3200.0))
            ]
        )
    folder.db.set_state(RunState(phase=phase, step=200, seconds=9.0, planned_steps=200))
    folder.db.close()
    return folder.id


def told(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["compare", *words, "--runs", str(root)])
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def test_runs_over_seeds_are_the_table_of_their_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three seeds of three arms, and one arm trained alone for longer: a variant of its own, paired by seed."""
    values = {0: (0.20, 0.21, 0.19, 0.26), 1: (0.21, 0.21, 0.20, 0.27), 2: (0.20, 0.22, 0.19, 0.27)}
    ids, cells = [], []
    for seed, (first, second, third, longer) in values.items():
        both = [write(tmp_path, [first, second, third], methods=(OUT, IN, CROSS_ENTROPY), seed=seed, threads=1)]
        both += [write(tmp_path, [longer], methods=(CROSS_ENTROPY,), seed=seed, steps=410, device="cpu")]
        titles = ("SupCon (positives out), steps 200", "SupCon (positives in), steps 200", "Cross-entropy, steps 200")
        for title, value in zip((*titles, "Cross-entropy, steps 410"), values[seed], strict=True):
            cells.append(Cell(variant=title, condition={}, seed=seed, metrics={"knn_accuracy": value}))
        ids += both
    for form in ("markdown", "latex", "csv", "pairs_csv"):
        status, text = told(tmp_path, capsys, *ids, "--metrics", "knn_accuracy", "--form", form)
        assert status == 0 and text == getattr(table(cells, ["knn_accuracy"]), form)() + "\n"
    status, text = told(tmp_path, capsys, *ids)
    assert "| Cross-entropy, steps 410 |" in text and "Linear probe" in text and "3200" not in text


def test_arms_that_differ_between_runs_alone_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [write(tmp_path, [0.2], methods=(method,), seed=seed) for method in (OUT, IN) for seed in (0, 1)]
    assert "SupCon (positives in)" in told(tmp_path, capsys, *ids)[1]


def test_other_images_of_the_same_seed_are_another_variant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    choices = [DataChoice(held_out="images", seed=seed) for seed in (0, 1)]
    ids = [write(tmp_path, [0.2], methods=(OUT,), data=data) for data in choices]
    text = told(tmp_path, capsys, *ids)[1]
    assert "SupCon, data seed 0" in text and "SupCon, data seed 1" in text


def test_what_cannot_be_compared_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path, [0.2], methods=(OUT,))
    for words, sentence in (
        ((one, write(tmp_path, [0.2], methods=(OUT,))), "got two of SupCon, seed 0. Leave one out."),
        ((one, write(tmp_path, [0.2], "stopped", methods=(OUT,))), "is stopped; finished ones were needed"),
        ((one, "--metrics", "HAP"), "There is nothing to compare in HAP; the runs have images, knn_accuracy"),
        ((one, make_plan(tmp_path, sweep("smooth_ap", seeds=1)).id), "Finished runs of one kind that trains"),
        (("01ARZ3NDEKTSV4RRFFQ69G5FAV",), "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ):
        status, text = told(tmp_path, capsys, *words)
        assert status == 1 and sentence in text, text


def test_runs_of_a_sweep_are_compared_query_by_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the sweep's own report says of them."""
    from trainers.plans.children import Children
    from trainers.plans.report import report

    plan = make_plan(tmp_path, sweep("smooth_ap", "happier", seeds=3), gains={"HAPPIER": 0.1})
    config: RunConfig = plan.config
    assert config.arms == 2
    ids = [child.id for child in Children(plan).all()]
    assert told(tmp_path, capsys, *ids)[1].strip() == report(plan).markdown().strip()
