"""The commands behind the shipped weights and the README's table, at a toy size: the mechanics, not the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.make import evidence, tiny_clip
from trainers.comparison import Cell, compare
from trainers.image_text.models import MODELS
from trainers.image_text.models.tiny_clip import WEIGHTS
from trainers.kinds.finetuning.recipes import recipe

SMALL = ["--scenes", "60", "--threads", "1"]


@pytest.mark.long
def test_weights_are_trained_mended_and_written(tmp_path, capsys):
    assert tiny_clip.main([*SMALL, "--steps", "2", "--finetune-steps", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in ("tiny_clip", "tiny_clip_mended"):
        assert (tmp_path / name / WEIGHTS).stat().st_size < 6_000_000
        MODELS["tiny_clip"].build({"weights": str(tmp_path / name)})
        card = (tmp_path / name / "README.md").read_text()
        assert "python -m tests.make.tiny_clip" in card and "ODmAP_at_1" in card and f"{name}:" in said
    first = (tmp_path / "tiny_clip" / WEIGHTS).read_bytes()
    assert first != (tmp_path / "tiny_clip_mended" / WEIGHTS).read_bytes()
    assert tiny_clip.main([*SMALL, "--keep-base", "--finetune-steps", "1", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "tiny_clip" / WEIGHTS).read_bytes() == first


@pytest.mark.long
def test_the_table_goes_on_where_it_was(tmp_path, capsys):
    def run(*flags: str) -> str:
        names = ["--rows", "base", evidence.PLAIN, evidence.LEAD, "ratio_0.5", "removed_only"]
        assert evidence.main([*SMALL, *names, "--kept", str(tmp_path), "--steps", "1", *flags]) == 0
        return capsys.readouterr().out

    run("--seeds", "1")
    said = run("--seeds", "0")  # two commands share one folder
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    trained = (
        f"{name}_{seed}.json"
        for name in (evidence.PLAIN, evidence.LEAD, "ratio_0.5", "removed_only")
        for seed in (0, 1)
    )
    assert set(kept) == {"base.json", *trained}  # base does not depend on the seed
    assert "nothing (base), seed" not in said
    again = run("--seeds", "0", "1")
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")} == kept
    assert again.count("| 2 |\n") == 4 and again.count("| 1 |\n") == 1
    assert "100.0 % of D′ only, 0.08" in again and "7.4 % of D + D′, 0.08 as published" in again  # 24 of 300 + 24
    assert "queries against all" in again and (tmp_path / "pairs.csv").read_text().count("\n") == 1 + 9 * 6
    pairs = evidence.read(tmp_path, ["ratio_0.5"], [0])["ratio_0.5"][0]["pairs"]
    assert pairs["originals"] == 300 and pairs["removed"] == 150 and 0 < pairs["edited"] <= 1
    assert "A phrase was deleted from " in again
    before = (tmp_path / f"{evidence.LEAD}_0.json").stat().st_mtime_ns
    evidence.main([*SMALL, "--rows", evidence.LEAD, "--kept", str(tmp_path), "--steps", "2", "--seeds", "0"])
    assert (tmp_path / f"{evidence.LEAD}_0.json").stat().st_mtime_ns != before, "other settings are another number"


def test_the_rows_are_the_papers_share_first_and_a_curve_over_shares():
    recipes = {name: recipe(row.recipe) for name, row in evidence.ROWS.items() if row.recipe is not None}
    assert recipes[evidence.LEAD].ratio == 0.08 and next(iter(recipes)) == evidence.PLAIN
    curve = sorted(one.ratio for name, one in recipes.items() if name.startswith("ratio_"))
    assert curve == [0.02, 0.04, 0.2, 0.5]
    assert not recipes[evidence.PLAIN].removed and recipes["removed_only"].originals == "none"


def kept(values: dict[int, float], classes: int = 40, each: int = 5, steps: int = 250) -> dict[int, dict]:
    """Runs by seed, of ``classes`` x ``each`` queries with small errors around the value of the seed."""
    draws, count = np.random.default_rng(7), classes * each
    pairs = {"originals": 100, "removed": 0, "share": 0.0, "edited": 0.0}
    errors = draws.normal(scale=0.01, size=count)
    names = [f"class {number % classes}" for number in range(count)]
    return {
        seed: {
            "asked": {"steps": steps, "scenes": None},
            "seconds": 1.0,
            "pairs": pairs,
            "gallery": 30,
            "total": 30,
            "distinct_top1": 5,
            "classes": {"queries": names, "images": names, "captions": names},
            "values": {key: list(value + errors) for key in evidence.COLUMNS[:-1]},
        }
        for seed, value in values.items()
    }


def test_intervals_and_verdicts_are_those_over_seeds():
    """One training in three is behind all of a difference that the queries of all seeds together would show."""
    plain, lead = kept({0: 0.5, 1: 0.5, 2: 0.5}), kept({0: 0.5, 1: 0.5, 2: 0.8})
    rows = {evidence.PLAIN: plain, evidence.LEAD: lead, "base": kept({0: 0.4}, steps=0)}
    table = evidence.compared(rows)
    cells = [
        Cell(
            variant=evidence.ROWS[name].title,
            condition={},
            seed=seed,
            metrics={"ODmAP_at_1": float(np.mean(run["values"]["ODmAP_at_1"]))},
            queries=evidence.query_scores(run, "ODmAP_at_1"),
        )
        for name, runs in rows.items()
        if name != "base"
        for seed, run in runs.items()
    ]
    (group,) = compare(cells, "ODmAP_at_1").groups
    shown, base = table.comparisons[0].groups
    assert [row.estimate.mean for row in shown.rows] == pytest.approx([row.estimate.mean for row in group.rows])
    assert [row.estimate.high for row in shown.rows] == pytest.approx(
        [row.estimate.high for row in group.rows], rel=1e-5
    )
    assert shown.pairs[0].verdict == group.pairs[0].verdict == "could be chance"
    estimate = shown.rows[1].estimate
    assert estimate.seeds == (0, 1, 2) and estimate.high - estimate.low > 0.3
    assert not base.pairs and "not other trainings" in base.rows[0].estimate.covers
    said = evidence.document(rows)
    assert "200 queries against all 30 captions" in said
    assert "nothing is trained, so its intervals are over test classes only" in said
    listed = [line for line in said.splitlines() if line.startswith("- ")]
    assert len(listed) == len(evidence.TOLD) and all(
        "could be chance" in entry and "D + D′" in entry for entry in listed
    )


def test_queries_are_drawn_by_the_class_that_is_taken_out():
    """Two of three classes gain and one loses: seen query by query, not class by class."""
    plain, lead = (kept(dict.fromkeys(range(3), 0.5), classes=3, each=50) for _ in range(2))
    for run in lead.values():
        gains = [0.3 if name != "class 0" else -0.2 for name in run["classes"]["queries"]]
        run["values"] = {key: list(np.add(values, gains)) for key, values in run["values"].items()}
    (group,) = evidence.compared({evidence.PLAIN: plain, evidence.LEAD: lead}).comparisons[0].groups
    assert group.pairs[0].difference.mean == pytest.approx(-0.4 / 3) and group.pairs[0].verdict == "could be chance"
