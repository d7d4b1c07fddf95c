"""The commands behind the shipped weights and the README's table, at a toy size: the mechanics, not the numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from explorer.make import evidence, tiny_clip
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
        assert "python -m explorer.make.tiny_clip" in card and "ODmAP_at_1" in card and f"{name}:" in said
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
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    trained = (
        f"{name}_{seed}.json"
        for name in (evidence.PLAIN, evidence.LEAD, "ratio_0.5", "removed_only")
        for seed in (0, 1)
    )
    assert set(kept) == {"base.json", *trained}  # base does not depend on the seed
    assert "nothing (base), seed" not in said
    again = run("--seeds", "0", "1")
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert "minus D, in points" in again and again.count("| 2 |") == 4 and again.count("| 1 |") == 1
    shares = {line.split(" | ")[0]: line.split(" | ")[1] for line in again.splitlines() if line.startswith("| ")}
    assert shares["| D"] == "0.0" and shares["| nothing (base)"] == "–" and shares["| D′ only, 0.08"] == "100.0"
    assert shares["| **D + D′, 0.08 as published**"] == "7.4"  # 24 of 300 + 24
    found = evidence.read(tmp_path, ["ratio_0.5"], [0])["ratio_0.5"][0]["pairs"]
    assert found["originals"] == 300 and found["removed"] == 150 and 0 < found["edited"] <= 1
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


def test_cells_are_means_over_seeds_with_intervals_over_queries():
    draws = np.random.default_rng(0)
    values = [draws.random(200) for _ in range(3)]
    pairs = {"originals": 100, "removed": 0, "share": 0.0, "edited": 0.0}
    rest = {"distinct_top1": 5, "seconds": 1.0, "pairs": pairs}
    runs = [{"values": {key: list(one) for key in evidence.COLUMNS}, **rest} for one in values]
    row = evidence.table({evidence.PLAIN: runs}).splitlines()[2]
    mean = 100 * np.mean(values)
    cell = row.split(" | ")[2]
    low, high = json.loads(cell[cell.index("[") :])
    assert cell.startswith(f"{mean:.1f} ") and low < mean < high
    spread = 100 * np.mean(values, axis=0).std() / np.sqrt(200)
    assert (high - low) / (2 * 1.96 * spread) == pytest.approx(1.0, abs=0.15)
