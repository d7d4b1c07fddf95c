"""Every claim: its plan, arms, metrics, sentences and recipe are there; what is wrong in a table is said."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from trainers.claims.base import WORKS, Claim
from trainers.claims.catalogue import CLAIMS, FOLDER, NOTES
from trainers.claims.catalogue import read as read_tables
from trainers.claims.measured import LEAST_SEEDS, VERDICTS
from trainers.claims.plans import PLANS
from trainers.claims.results import SHIPPED, read
from trainers.claims.runs import steps
from trainers.cli.main import whole_parser
from trainers.comparison import condition_key
from trainers.kinds import kind_of
from trainers.metrics.catalogue.training import PROCESSOR
from trainers.metrics.names import default_metrics, describe
from trainers.plans.base import plan_of

EVERY = list(CLAIMS.values())
RUN = [claim for claim in EVERY if claim.plan is not None]


def test_there_are_enough_of_every_work() -> None:
    counts = {work: sum(claim.work == work for claim in EVERY) for work in WORKS}
    assert len(EVERY) >= 24 and all(counts.values()) and len(RUN) >= 2 * len(EVERY) / 3


@pytest.mark.parametrize("claim", EVERY, ids=lambda claim: claim.name)
def test_it_says_what_and_where(claim: Claim) -> None:
    assert claim.work in WORKS and claim.title and claim.where
    for sentence in (claim.statement, claim.printed, claim.lacking, claim.tried, *claim.ours):
        assert not sentence or sentence.endswith(".")
    assert claim.statement.endswith(".") and len(claim.statement) < 200
    assert bool(claim.plan) != bool(claim.lacking), "either it is run here, or it says what it lacks"
    assert bool(claim.plan) == bool(claim.differences) == bool(claim.ours) == bool(claim.minutes)


@pytest.mark.parametrize("claim", EVERY, ids=lambda claim: claim.name)
def test_its_recipe_is_a_command(claim: Claim) -> None:
    words = shlex.split(claim.recipe)
    assert words[:3] == ["python", "-m", "trainers"]
    arguments = whole_parser().parse_args(words[3:])
    from trainers.cli.start import configuration
    from trainers.kinds import KINDS
    from trainers.plans import PLANS

    if words[3] == "score":  # nothing is trained
        return
    kind = KINDS[arguments.kind]
    config = configuration(arguments, kind, PLANS[arguments.plan])
    assert plan_of(config).plan(config, {})  # type: ignore[arg-type]


@pytest.mark.parametrize("claim", RUN, ids=lambda claim: claim.name)
def test_its_plan_has_its_arms_metrics_and_seeds(claim: Claim) -> None:
    for make in steps(claim):
        config = make()
        if claim.begins is not None and make is claim.plan:
            config = config.changed(start="0" * 26)
        plan_of(config).check(config)
        assert len(config.seeds) >= LEAST_SEEDS
        assert config.run.minutes is None and config.run.device == "cpu" and config.run.threads == 1
    assert make is claim.plan
    planned = plan_of(config).plan(config, {})
    there = {(variant.title, condition_key(run.condition)) for run in planned for variant in run.variants}
    run = planned[0].config  # of a fair comparison it has one arm, and no number that compares arms of a run
    measures = kind_of(run).measures_of(run)
    for difference in claim.differences:
        for side in difference.sides:
            assert (side.arm, condition_key(side.under)) in there
        listed = {*measures.numbers, *measures.whole, *measures.later, *measures.compared, *measures.summary}
        listed |= {PROCESSOR}  # the loop writes it, of every kind
        known = {describe(key).measure.name for key in listed if "_l" not in key}
        for key in difference.metrics:
            assert describe(key).measure.name in known or key in default_metrics(3)
            assert describe(key).measure.unit == describe(difference.metric).measure.unit
        assert difference.margin >= 0 and (difference.expected == "larger" or difference.margin > 0)


def test_what_ships_was_made_by_the_command_over_seeds() -> None:
    files = {path.stem for path in SHIPPED.glob("*.json")}
    assert files <= {claim.name for claim in RUN}
    for name in files:
        result = read(CLAIMS[name])
        assert result is not None, f"{name}: other differences; run the claim again"
        assert result.commit and not result.commit.endswith("+") and result.machine and result.minutes > 0
        assert len(result.seeds) >= LEAST_SEEDS and result.verdict(CLAIMS[name]) in VERDICTS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the tables."""
    return Path(shutil.copytree(FOLDER, tmp_path / "papers"))


def test_every_plan_is_some_claims_and_every_file_is_read() -> None:
    plans = {id(made) for claim in CLAIMS.values() for made in (claim.plan, claim.begins)}
    assert all(id(plan.make) in plans for plan in PLANS.values())
    assert {path.stem for path in FOLDER.iterdir()} == {*WORKS, NOTES}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[rod_recall]", "[rod_recall", "rank_losses.toml: Expected ']'"),
        ("[rod_recall]", "[moco_bank]", "contrastive.toml, claim moco_bank: there is one of that name in rank_losses"),
        ('statement = "The bound together', 'statment = "The', "rank_losses.toml, claim roadmap: key statement: Field"),
        ("margin = 0.02", 'margin = "wide"', "claim happier_fine: key margin: Input should be a valid number"),
        ('plan = "ranks"', 'plan = "rank"', "key plan: There is no plan 'rank'; .* Did you mean 'ranks'"),
        ('"HAPPIER", "Smooth-AP"]', '"HAPPIER"]', "key differences: a metric with two or four sides was needed"),
        ('ours = ["table_ii"', 'ours = ["table_i"', "key ours: 'table_i' is no sentence and no name in notes.toml"),
        (
            "{sop_average_precision/AP_at_R/",
            "{sop_average_precision/HAP/",
            "key printed: .* is not one figure of the recipe",
        ),
        ('recipe = ["sop_recall"', 'recipe = ["sop_recalls"', "key recipe: There is no recipe 'sop_recalls'"),
        ('{"Classes per batch" = 24}]', "{x = 1}, {y = 2}]", "key differences: the list under has [35] conditions for"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(folder: Path, old: str, new: str, said: str) -> None:
    path = folder / "rank_losses.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        read_tables(folder)
    path.unlink()
    with pytest.raises(ValueError, match=r"rank_losses\.toml: .*No such file"):
        read_tables(folder)
