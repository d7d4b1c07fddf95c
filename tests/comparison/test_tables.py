"""Tables of a comparison and the verb ``compare``: what is bold, what is said, and that no text breaks a format."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.comparison.world import METRIC, cells
from tests.made_up_plan import make_plan, sweep
from trainers.cli.main import main
from trainers.comparison import Cell, ComparisonTable, table
from trainers.config import DataChoice, RunConfig
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.records import RunState, Scalar

LABELS = np.repeat(np.arange(30), 4)


def three(**means: float) -> list[Cell]:
    """Three seeds of variants with these means, under noise 0 and with all alike under noise 0.4."""
    rng = np.random.default_rng(0)
    some: list[Cell] = []
    for noise in (0.0, 0.4):
        for variant, mean in means.items():
            values = rng.normal(mean if noise == 0 else 0.4, 0.05, (3, len(LABELS)))
            some += cells(values, LABELS, variant, noise=noise)
    return some


@pytest.fixture(scope="module")
def made() -> ComparisonTable:
    return table(three(first=0.9, second=0.5, third=0.3), [METRIC])


def test_the_best_is_bold_where_a_difference_from_all_others_is_seen(made: ComparisonTable) -> None:
    assert [line.best for line in made.lines] == [(True,), *[(False,)] * 5]
    text = made.markdown()
    assert text.count("**") == 2 and r"\textbf{" in made.latex()
    lines = [line for line in text.splitlines() if line.startswith("| first")]
    assert lines[0].startswith("| first | 0 | **") and lines[1].startswith("| first | 0.4 | ")
    assert lines[0].endswith("| 3 |") and " ± 0." in lines[0] and "R@1 ↑, %" in text


def test_nothing_is_the_best_while_runs_are_to_come(made: ComparisonTable) -> None:
    early = dataclasses.replace(made, awaited=4)
    assert not any(any(line.best) for line in early.lines) and "**" not in early.markdown()
    assert {words.split(": ")[0] for *_, words in early.conclusions()} == {"So far (4 planned runs not trained yet)"}


def test_a_tie_at_the_top_has_no_bold() -> None:
    assert not any(line.best[0] for line in table(three(one=0.9, two=0.9, low=0.2), [METRIC]).lines)


def test_the_direction_of_a_metric_decides_what_is_best() -> None:
    some = [
        dataclasses.replace(cell, queries=None, metrics={"uniformity": cell.metrics[METRIC]})
        for cell in three(low=0.1, high=0.9)
    ]
    made = table(some, ["uniformity"])
    assert made.metrics[0].measure.better == "down"
    assert [line.variant for line in made.lines if line.best[0]] == ["low"]


def test_verdicts_in_words(made: ComparisonTable) -> None:
    told = [text for *_, text in made.verdicts()]
    assert told[0].startswith("first above second by ") and " points [" in told[0]
    assert sum("above" in text for text in told) == 3
    few = re.compile(r"could be chance.*; (about \d+ seeds would show|\d+ (test classes|queries): differences below)")
    assert [text for text in told[3:] if not few.search(text)] == [] and len(told) == 6
    assert any("differences below" in text for text in told), "not even 100 seeds would help so few classes"
    turned = [text for *_, text in table(three(low=0.1, high=0.9), [METRIC]).verdicts()]
    assert turned[0].startswith("high above low by ") and "−" not in turned[0]


def test_a_verdict_that_the_correction_takes_back_says_so() -> None:
    found = {}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        some = [
            Cell(variant=name, condition={}, seed=index, metrics={METRIC: float(value)})
            for name, mean in (("a", 0.0), ("b", 0.02), ("c", 0.01))
            for index, value in enumerate(rng.normal(mean, 0.01, 5))
        ]
        for _, _, pair, text in table(some, [METRIC]).verdicts():
            if pair.difference.p_value < 0.05:
                assert ("not after the correction" in text) == (pair.adjusted >= 0.05)
                found["not after the correction" in text] = True
    assert found == {True: True, False: True}


def test_csv_has_the_numbers_unrounded(made: ComparisonTable) -> None:
    head, *lines = csv.reader(io.StringIO(made.csv()))
    assert head == ["variant", "noise", *(f"R_at_1{end}" for end in ("", " sd", " low", " high", " seeds"))]
    for line, one in zip(lines, made.lines, strict=True):
        (estimate,) = one.estimates
        assert line[0] == one.variant and float(line[1]) == one.condition[0]
        assert list(map(float, line[2:])) == [estimate.mean, estimate.spread, estimate.low, estimate.high, 3]
    head, *lines = csv.reader(io.StringIO(made.pairs_csv()))
    assert len(lines) == 6 and dict(zip(head, lines[0], strict=True))["verdict"] == "above"


def test_json_is_plain(made: ComparisonTable) -> None:
    values = json.loads(json.dumps(made.json(), allow_nan=False))
    assert values["metrics"][0]["title"] == "R@1" and values["conditions"] == ["noise"]
    assert values["rows"][0]["cells"][METRIC]["best"] is True and values["rows"][0]["condition"] == {"noise": 0.0}
    assert values["pairs"][0]["verdict"] == "above" and values["pairs"][0]["words"].startswith("first above second")
    (cell,) = cells(np.full((1, 4), 0.5), np.zeros(4, int))
    alone = json.loads(json.dumps(table([cell], [METRIC, "HAP"]).json(), allow_nan=False))
    assert alone["rows"][0]["cells"][METRIC]["low"] is None and alone["rows"][0]["cells"]["HAP"]["mean"] is None


HOSTILE = "=1+1|<img src=x> [a](http://b) \\end{table} $x$ 50%_#~^ `c`\n**d** λ"


def test_no_text_breaks_a_format() -> None:
    some = [
        dataclasses.replace(cell, variant=HOSTILE + cell.variant, condition={"name|": "@SUM(A1)"})
        for variant in ("x", "y")
        for cell in cells(np.random.default_rng(0).random((2, 6)), np.arange(6) // 2, variant)
    ]
    made = table(some, [METRIC])
    marked, tex = made.markdown(), made.latex()
    rows = [line for line in marked.splitlines() if line.startswith("| ")]
    assert len(rows) == 4 and all(row.replace("\\|", "").count("|") == 5 for row in rows)
    assert "<img" not in marked.replace("\\<", "") and "`c`" not in marked.replace("\\`", "")
    assert "](" not in marked and "[a]\\(http" in marked
    assert tex.count(r"\end{table}") == 1 and r"\textbackslash{}end\{table\}" in tex and r"$\lambda$" in tex
    assert r"\$x\$ 50\%\_\#\textasciitilde{}\textasciicircum{}" in tex
    bare = tex.replace(r"\$", "").replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}") and bare.count("$") % 2 == 0
    _, line, *_ = csv.reader(io.StringIO(made.csv()))
    assert line[0].startswith("'=1+1") and line[1] == "'@SUM(A1)"


def test_a_metric_that_is_not_known_is_shown_by_its_key() -> None:
    (one,) = [Cell(variant="a", condition={}, seed=0, metrics={"mine": 1.5})]
    text = table([one], ["mine"]).markdown()
    assert "| variant | mine | seeds |" in text and "| a | 1.500 | 1 |" in text and not math.isnan(one.metrics["mine"])


def test_main_metrics_come_first_and_latex_has_them_alone() -> None:
    some = [
        dataclasses.replace(cell, metrics={key: cell.metrics[METRIC] for key in (METRIC, "HAP", "RP", "AP_at_R")})
        for cell in three(one=0.9, two=0.5)
    ]
    made = table(some, [METRIC, "HAP", "RP", "AP_at_R"], main=[METRIC, "HAP"])
    shown, folded = made.markdown().split("<details><summary>2 more metrics</summary>")
    assert "H-AP" in shown and "mAP@R" not in shown and "mAP@R" in folded
    tex = made.latex()
    assert "H-AP" in tex and "mAP@R" not in tex and r"\toprule" in tex and " [" not in tex.split("%")[0]
    assert [metric["main"] for metric in made.json()["metrics"]] == [True, True, False, False]
    assert made.only(["RP"]).latex().count("&") == 3 * 5


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
