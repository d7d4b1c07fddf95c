"""The measured table of losses on the default encoder, and what the losses at its bottom say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

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
