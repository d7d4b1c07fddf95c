"""The picture of a model card: drawn from what a run has, and named in the card as plain text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.made_up_plan import make_plan, sweep
from trainers.comparison.markup import markdown_text
from trainers.publishing.card import NAME, card, write_picture
from trainers.runs import RunFolder

RECORDED = Path(__file__).resolve().parents[2] / "assets" / "recorded"


@pytest.fixture(scope="module")
def run() -> RunFolder:
    runs = [RunFolder.open(RECORDED, path.parent.name) for path in RECORDED.glob("*/config.json")]
    return next(run for run in runs if run.config.kind == "metric_learning" and run.newest_map() is not None)


def test_a_card_shows_the_map_and_the_curve_of_its_arm(run: RunFolder, tmp_path: Path) -> None:
    drawn = []
    for arm in (0, 1):
        said = write_picture(run, arm, tmp_path)
        assert said.startswith("Map of ") and "at every map, up to step" in said
        drawn.append(np.asarray(Image.open(tmp_path / NAME)))
        middle = drawn[-1].shape[1] // 2
        for half in (drawn[-1][60:, :middle], drawn[-1][60:, middle:]):
            assert 0.002 < (half < 200).any(-1).mean() < 0.5, "points and a line, on white"
    assert (drawn[0] != drawn[1]).any()
    assert f"![a <b>]({NAME})".replace("<b>", markdown_text("<b>")) in card(run, 0, "ada/net", timm="", picture="a <b>")
    assert NAME not in card(run, 0, "ada/net", timm="", picture="")


def test_a_run_without_maps_has_no_picture(tmp_path: Path) -> None:
    plan = make_plan(tmp_path / "runs", sweep("smooth_ap"))
    assert write_picture(plan, 0, tmp_path) == "" and not (tmp_path / NAME).exists()
