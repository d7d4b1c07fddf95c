"""The commands behind the shipped weights and the README's table, at a toy size: the mechanics, not the numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trainers.crossmodal.models import MODELS
from trainers.crossmodal.models.tiny_clip import WEIGHTS
from trainers.mending import evidence, tiny

SMALL = ["--scenes", "60", "--threads", "1"]


def test_weights_are_trained_mended_and_written(tmp_path, capsys):
    assert tiny.main([*SMALL, "--steps", "2", "--mend-steps", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in ("tiny_clip", "tiny_clip_mended"):
        assert (tmp_path / name / WEIGHTS).stat().st_size < 6_000_000
        MODELS["tiny_clip"].build({"weights": str(tmp_path / name)})
        card = (tmp_path / name / "README.md").read_text()
        assert "python -m trainers.mending.tiny" in card and "ODmAP_at_1" in card and f"{name}:" in said
    first = (tmp_path / "tiny_clip" / WEIGHTS).read_bytes()
    assert first != (tmp_path / "tiny_clip_mended" / WEIGHTS).read_bytes()
    assert tiny.main([*SMALL, "--keep-base", "--mend-steps", "1", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "tiny_clip" / WEIGHTS).read_bytes() == first


def test_the_table_goes_on_where_it_was(tmp_path, capsys):
    flags = [*SMALL, "--steps", "1", "--seeds", "0", "1", "--kept", str(tmp_path)]
    flags += ["--recipes", "base", "D", "D + D′, noun phrases, Telea"]
    assert evidence.main(flags) == 0
    kept = sorted(path.name for path in tmp_path.glob("*.json"))
    assert kept == ["0_0.json", "1_0.json", "1_1.json", "2_0.json", "2_1.json"]  # base does not depend on the seed
    said = capsys.readouterr().out
    times = {name: (tmp_path / name).stat().st_mtime_ns for name in kept}
    assert evidence.main(flags) == 0
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in kept} == times
    again = capsys.readouterr().out
    assert again.strip().endswith(again.strip()) and again.strip() in said
    assert "minus D, in points" in again and again.count("| 2 |") == 2


def test_cells_are_means_over_seeds_with_intervals_over_queries():
    draws = np.random.default_rng(0)
    values = [draws.random(200) for _ in range(3)]
    runs = [
        {"values": {key: list(one) for key in evidence.COLUMNS}, "distinct_top1": 5, "seconds": 1.0} for one in values
    ]
    row = evidence.table({"D": runs}).splitlines()[2]
    mean = 100 * np.mean(values)
    cell = row.split(" | ")[1]
    low, high = json.loads(cell[cell.index("[") :])
    assert cell.startswith(f"{mean:.1f} ") and low < mean < high
    spread = 100 * np.mean(values, axis=0).std() / np.sqrt(200)
    assert (high - low) / (2 * 1.96 * spread) == pytest.approx(1.0, abs=0.15)
