"""The measured table of losses on the default encoder, and what the losses at its bottom say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.benchmarks.encoders import Case, kept, measure, table
from tests.tiny import write_images
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses import LOSSES

PAGE = (Path(__file__).parents[2] / "docs" / "encoders.md").read_text(encoding="utf-8")
MENU = {loss.title: loss for loss in LOSSES.values() if loss.alias_of is None}


def columns(marker: str) -> dict[str, dict[str, float]]:
    """R@1 by set and by title of the loss, without the rows of means."""
    answer = re.search(rf"<!-- {marker} -->\n(.*?)<!-- /{marker} -->", PAGE, re.DOTALL)
    assert answer is not None
    head, _, *rows = ([cell.strip() for cell in line.strip("| ").split("|")] for line in answer[1].splitlines())
    head = [name.partition(" (")[0] for name in head]
    table: dict[str, dict[str, float]] = {name: {} for name in head[1:]}
    for title, *cells in (row for row in rows if not row[0].startswith("**")):
        assert title in MENU, f"no loss is called {title}; take its row out of docs/encoders.md"
        for name, cell in zip(head[1:], [*cells, *[""] * (len(head) - 1 - len(cells))], strict=True):
            if cell:
                table[name][title] = float(cell.split()[0])
    return table


def test_the_losses_of_the_table_were_measured_on_four_datasets() -> None:
    measured = columns(MetricLearningConfig().encoder.name)
    assert set(measured) == {"drawn", "omniglot", "cifar100", "grocery_store"}
    assert set(measured["omniglot"]) >= {title for title, loss in MENU.items() if loss.slow}
    assert set(measured["drawn"]) == set().union(*measured.values())


def test_a_loss_below_half_of_the_best_says_why_and_no_other_does() -> None:
    """It is one that stays there when all have three times as long."""
    measured, longer = columns(MetricLearningConfig().encoder.name), columns("longer")
    low = {(data, title) for data, scores in measured.items() for title in below_half(scores)}
    assert low <= {(data, title) for data, scores in longer.items() for title in scores}
    for data, scores in longer.items():
        assert max(measured[data], key=measured[data].__getitem__) in scores, "the best is missing"
    assert {title for title, loss in MENU.items() if loss.slow} == set().union(*map(below_half, longer.values()))


def below_half(scores: dict[str, float]) -> set[str]:
    return {title for title, score in scores.items() if score < max(scores.values()) / 2}


def test_what_is_kept_is_not_trained_again_and_stands_in_the_table(tmp_path: Path) -> None:
    images, results = write_images(tmp_path / "images"), tmp_path / "kept.jsonl"
    cases = [
        Case(str(images), f"{name}:width=8", loss, 0.02, 1, 0, None, 30)
        for loss in ("smooth_ap", "simclr")
        for name in ("conv4", "small_conv")
    ]
    found = measure(cases[:2], results)
    found = measure(cases, results)
    lines = kept(results)
    assert [(line["loss"], line["encoder"]) for line in lines] == [(case.loss, case.encoder) for case in cases]
    assert all(0 <= line["R_at_1"] <= 1 and -1 <= line["cosine"] <= 1 and line["steps"] >= 1 for line in lines)
    rows = table(found, ["smooth_ap", "simclr"], [str(images)], ["conv4:width=8", "small_conv:width=8"]).splitlines()
    assert rows[2].startswith(f"| Smooth-AP | {lines[0]['R_at_1']:.3f} (")
    lowest = min(line["R_at_1"] for line in lines[::2])
    assert rows[-2].startswith(f"| **worst** | {lowest:.3f} |")


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.slow])
def test_the_reason_is_a_sentence(name: str) -> None:
    assert re.fullmatch(r"[A-Z].*\.", LOSSES[name].slow)
