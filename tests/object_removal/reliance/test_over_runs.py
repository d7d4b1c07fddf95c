"""Measurements of several trainings are compared by trainers.comparison, a change of training by its differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import t

from trainers.comparison import Group, VariantPair
from trainers.errors import UserError
from trainers.object_removal.reliance.over_runs import TitledTable, over_runs, text
from trainers.object_removal.reliance.queries import TITLES, WITHOUT
from trainers.object_removal.reliance.results import (
    CONTRASTS,
    NEAREST,
    ArmBackground,
    BackgroundResult,
    FormScores,
    title_of,
)

QUERIES, CLASSES = 60, 12
RNG = np.random.default_rng


def scores(rng: np.random.Generator, chance: float) -> FormScores:
    hits = (rng.random(QUERIES) < chance).astype(float)
    return FormScores(
        metrics={"R_at_1": hits, "HAP": 0.5 * hits},
        nearest=np.zeros((QUERIES, NEAREST), dtype=np.int64),
        stays=rng.integers(0, 11, QUERIES) / 10,
        similarity=np.ones(QUERIES),
        missed=np.where(hits == 1, np.nan, rng.integers(1, 4, QUERIES)),
    )


def measured(seed: int, chances: Sequence[float], key: str = "", noise: int = 0) -> BackgroundResult:
    """A run whose arms find their class in every form with these probabilities."""
    rng = RNG([seed, noise])
    arms = [
        ArmBackground(
            run=f"{seed}", arm=arm, title=f"loss {arm}", scores={form: scores(rng, chance) for form in TITLES}
        )
        for arm, chance in enumerate(chances)
    ]
    labels = np.repeat(np.arange(CLASSES), QUERIES // CLASSES)
    return BackgroundResult(
        title="made up",
        test_set=True,
        arms=tuple(arms),
        indices=np.arange(QUERIES),
        rows=np.arange(QUERIES),
        ids=(),
        labels=np.stack([labels, labels // 3, labels // 6], axis=1),
        names=(tuple("abcdefghijkl"), tuple("abcd"), tuple("ab")),
        levels=("class", "kind", "aisle"),
        covered=np.linspace(0.05, 0.5, QUERIES),
        fill="telea",
        placebo_fill="telea",
        chance=0.0,
        seed=seed,
        notes=(),
        key=key or f"images of {seed}",
    )


def group(parts: Sequence[TitledTable], which: int, name: str, metric: str) -> Group:
    (comparison,) = (one for one in parts[which].table.comparisons if one.metric == metric)
    (found,) = (one for one in comparison.groups if one.condition == {"queries": title_of(name)})
    return found


def pair(found: Group, first: str, second: str | None) -> VariantPair:
    (only,) = (one for one in found.pairs if (one.first, one.second) == (first, second))
    return only


def test_an_interval_over_trainings_is_as_wide_as_they_differ() -> None:
    """Three trainings that differ: resampling their queries together would be far too sure."""
    chances = (0.35, 0.6, 0.85)
    runs = [measured(seed, (chance, 0.5)) for seed, chance in enumerate(chances)]
    row = group(over_runs(runs), 0, "whole", "R_at_1").rows[0]
    means = [run.arms[0].values("whole", "R_at_1").mean() for run in runs]
    half = t.ppf(0.975, 2) * np.std(means, ddof=1) / np.sqrt(3)
    assert row.estimate.mean == pytest.approx(np.mean(means))
    assert (row.estimate.low, row.estimate.high) == pytest.approx((np.mean(means) - half, np.mean(means) + half))
    assert row.estimate.covers.startswith("Each seed has test images of its own")
    verdict = pair(group(over_runs(runs), 0, "whole", "R_at_1"), "loss 0", "loss 1")
    assert verdict.verdict == "could be chance"


def test_the_change_of_one_loss_less_that_of_another_has_a_verdict() -> None:
    """Loss 0 loses 0.5 in every seed and loss 1 nothing, so the difference of differences is -0.5."""
    before = [measured(seed, (0.8, 0.8)) for seed in range(5)]
    after = [measured(seed, (0.3, 0.8), noise=1) for seed in range(5)]
    found = group(over_runs(after, before[::-1]), 0, "whole", "R_at_1")
    leaning, other = pair(found, "loss 0", None), pair(found, "loss 1", None)
    both = pair(found, "loss 0", "loss 1")
    changes = [
        [(one.arms[arm].values("whole", "R_at_1") - old.arms[arm].values("whole", "R_at_1")).mean() for arm in (0, 1)]
        for one, old in zip(after, before, strict=True)
    ]
    assert leaning.difference.mean == pytest.approx(np.mean(changes, axis=0)[0]) and leaning.verdict == "below"
    assert other.verdict == "could be chance" and both.verdict == "below"
    assert both.difference.mean == pytest.approx(np.subtract(*np.mean(changes, axis=0)))
    printed = text(over_runs(after, before))
    assert "loss 0 below 0: −" in printed and "loss 1: the difference from 0 of " in printed


def test_runs_on_the_same_images_are_paired_by_class_too() -> None:
    runs = [measured(seed, (0.9, 0.2), key="same") for seed in range(3)]
    both = pair(group(over_runs(runs), 0, "whole", "R_at_1"), "loss 0", "loss 1")
    assert both.verdict == "above" and both.difference.covers == ""


def test_contrasts_are_in_the_tables() -> None:
    parts = over_runs([measured(seed, (0.9, 0.2)) for seed in range(2)])
    titles = [{group.condition["queries"] for group in part.table.comparisons[0].groups} for part in parts]
    assert titles[0] == set(TITLES.values()) and titles[1] == {contrast.title for contrast in CONTRASTS.values()}
    assert titles[2] < titles[0]
    row = group(parts, 1, "relit - elsewhere", "stays").rows[0]
    values = [measured(seed, (0.9, 0.2)).arms[0].values("relit - elsewhere", "stays").mean() for seed in (0, 1)]
    assert row.estimate.mean == pytest.approx(np.mean(values))
    assert all(
        pair.second is None or pair.first < pair.second for pair in group(parts, 1, "placebo - without", "HAP").pairs
    )


def test_neighbours_that_stay_get_no_verdict_between_losses() -> None:
    stays, contrasts = (over_runs([measured(seed, (0.9, 0.2)) for seed in range(3)])[which] for which in (2, 1))
    assert "compare no losses" in stays.title
    assert "difference seen" not in stays.table.markdown() and "above" not in stays.table.markdown()
    assert not any(line.best[0] for line in stays.table.lines) and "neighbours that stay" in contrasts.table.markdown()


def test_severity_is_that_of_the_wrong_first_results_of_each_run() -> None:
    runs = [measured(seed, (0.9, 0.2)) for seed in range(3)]
    row = group(over_runs(runs), 0, WITHOUT, "missed").rows[1]
    means = [np.nanmean(run.arms[1].scores[WITHOUT].missed) for run in runs]
    assert row.estimate.mean == pytest.approx(np.mean(means)) and row.estimate.covers


def test_what_cannot_be_compared_is_refused() -> None:
    one, two, three = (measured(seed, (0.9, 0.2)) for seed in range(3))
    failed = dataclasses.replace(
        two, arms=(one.arms[0], ArmBackground(run="x", arm=1, title="b", scores={}, error="No."))
    )
    for results, others, said in (
        ([one, two], [one], "same seeds were needed"),
        ([one], [two], "same seeds were needed"),
        ([one], [dataclasses.replace(one, key="others")], "other queries"),
        ([one, dataclasses.replace(two, arms=two.arms[:1])], [], "other losses"),
        ([one, failed], [], "could not be measured"),
        ([one, dataclasses.replace(three, seed=0)], [], "One result for each variant"),
    ):
        with pytest.raises(UserError, match=said):
            over_runs(results, others)
