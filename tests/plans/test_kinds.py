"""Sweeps: which runs are planned, of every kind of run, what is refused; they are trained and compared."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.finetuning.world import mend_config, write_coco
from tests.made_up_plan import AtOnce
from tests.tiny import tiny_contrastive, write_images
from trainers.config import MAX_ARMS, Conditions, DataChoice, RunConfig
from trainers.errors import ParameterError, RunError
from trainers.kinds import KINDS, check
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.plans import PLANS
from trainers.plans.axes import axes, offered
from trainers.plans.base import plan_of
from trainers.plans.config import FairComparisonConfig, SweepConfig
from trainers.plans.plain import configured
from trainers.plans.planned import Outcome
from trainers.plans.report import Report, report
from trainers.plans.runner import PlanRunner
from trainers.runs import RunFolder
from trainers.runs.folder import id_within, is_id, new_id
from trainers.runs.identity import read_config
from trainers.training.executor import Device
from trainers.worker import Worker

SWEEP = PLANS["sweep"]
MOCO = ContrastiveConfig(methods=(Choice(name="moco_v2", parameters={"queue": 12}), Choice(name="simclr")))
TUNED = FinetuningConfig(recipes=({"removed": False}, {}))


class Here(AtOnce):
    """An executor that trains every run to its end in this process, as it is launched."""

    def free(self, processes: int = 1) -> Device:
        return Device(processes=processes)

    def launch(self, folder: Path, device: Device) -> None:
        state = Worker(RunFolder(folder)).run()
        assert state.phase == "finished", state.error


def pretraining(images: Path, *methods: Choice) -> ContrastiveConfig:
    """A run of a few steps on tiny images."""
    return tiny_contrastive(images / "train", *methods or MOCO.methods, dim=16, norm="batch")


def ended(root: Path, config: SweepConfig) -> Report:
    """The report of a plan whose runs were trained."""
    check(config)
    plan = RunFolder.create(root, config)
    runner = PlanRunner(plan, executor=Here())
    while runner.move_on():
        pass
    runner.finish()
    found = report(plan)
    plan.db.close()
    return found


def test_moco_s_momentum_is_varied_beside_supcon_and_compared_over_seeds(tmp_path: Path) -> None:
    images = write_images(tmp_path / "images", train=4, test=1)
    run = pretraining(images, MOCO.methods[0], Choice(name="supcon"), Choice(name="cross_entropy"))
    found = ended(tmp_path, SweepConfig(run=run, seeds=(0, 1), vary={"moco_v2.momentum": [0.5, 0.9]}))
    (part,) = found.parts
    titles = ["MoCo v2 (momentum 0.5)", "MoCo v2 (momentum 0.9)", "SupCon", "Cross-entropy"]
    assert part.table is not None and [line.variant for line in part.table.lines] == titles
    assert {"knn_accuracy", "probe_accuracy"} <= {metric.key for metric in part.table.metrics}
    lacking = [
        (line.variant, metric.key)
        for line in part.table.lines
        for metric, estimate in zip(part.table.metrics, line.estimates, strict=True)
        if estimate.seeds != (0, 1)
    ]
    assert lacking == [(title, "contrast_accuracy") for title in titles[2:]]  # with labels no key is one's own
    pairs = [pair for comparison in part.table.comparisons for group in comparison.groups for pair in group.pairs]
    assert {(pair.first, pair.second) for pair in pairs} and found.missing == []
    assert found.title.endswith("over momentum of MoCo v2, 2 seeds")


def test_recipes_of_a_fine_tuning_are_compared_over_seeds(tmp_path: Path) -> None:
    run = mend_config(write_coco(tmp_path / "coco"), {"removed": False}, {})
    found = ended(tmp_path, SweepConfig(run=run, seeds=(0, 1)))
    (table,) = (part.table for part in found.parts)
    assert table is not None and [line.variant for line in table.lines] == ["D", "D + D′ (phrases, telea, 0.08)"]
    assert "ODmAP_at_1" in {metric.key for metric in table.metrics}
    assert "ODmAP@1" in found.markdown() and "queries" not in {metric.key for metric in table.metrics}


@pytest.mark.parametrize(
    ("run", "name", "values", "conditions", "variants"),
    [
        (MOCO, "momentum", [0.8, 0.9], 2, 2),  # of the optimiser: settings come first
        (MOCO, "moco_v2.momentum", [0.8, 0.9], 1, 3),
        (MOCO, "temperature", [0.1, 0.2], 1, 4),
        (MOCO, "batch", [32, 64], 2, 2),
        (MOCO, "label_noise", [0.0, 0.2], 2, 2),
        (TUNED, "ratio", [0.1, 0.2], 1, 4),
        (TUNED, "recipe.fill", ["zero", "mean"], 1, 4),
        (TUNED, "learning_rate", [1e-4, 1e-5], 2, 2),
        (TUNED, "limit", [20, 40], 2, 2),
    ],
)
def test_settings_and_parameters_of_every_kind_are_varied(
    run: RunConfig, name: str, values: list, conditions: int, variants: int
) -> None:
    planned = SWEEP.plan(SweepConfig(run=run, seeds=(0,), vary={name: values}), {})
    assert len(planned) == conditions and {len(one.variants) for one in planned} == {variants}
    assert all(type(one.config) is type(run) and one.config.arms == variants for one in planned)
    assert len({one.config.to_json() for one in planned}) == conditions


@pytest.mark.parametrize(
    ("run", "vary", "words"),
    [
        (MOCO, {"smooth_ap.tau": [1]}, "parameters of its methods; there is no 'smooth_ap.tau'"),
        (MOCO, {"methods": ["simclr"]}, "there is no 'methods'"),
        (TUNED, {"recipe.nope": [1]}, "parameters of its recipes; there is no 'recipe.nope'"),
        (TUNED, {"recipe.fill": ["nope"]}, "nope"),
        (TUNED, {"recipe.ratio": [2.0]}, "ratio needs a number from 0.01 to 1"),
        (TUNED.changed(epochs=1.0), {"recipe.ratio": [0.1, 0.2, 0.3, 0.4]}, "only be trained together, at most 6"),
    ],
)
def test_what_a_kind_does_not_have_is_refused_in_its_words(run: RunConfig, vary: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        check(SweepConfig(run=run, seeds=(0,), vary=vary))


def test_everything_that_is_offered_for_a_kind_can_be_varied() -> None:
    for kind in KINDS.values():
        run = kind.config()
        names = offered(run)
        assert "learning_rate" in names and "seed" not in names
        for name in names:
            with pytest.raises(ParameterError, match="needs a value; got none"):
                axes({name: []}, run)  # known: the values are what is missing
    assert "recipe.ratio" in offered(TUNED) and offered(MOCO)["moco_v2.momentum"] == "MoCo v2: momentum"


@pytest.mark.parametrize(("run", "alone"), [(MOCO, 2), (TUNED, 2), (TUNED.changed(epochs=1.0), 0)])
def test_arms_are_trained_alone_only_where_that_is_the_same_training(run: RunConfig, alone: int) -> None:
    config = SweepConfig(run=run, seeds=(0,))
    (first,) = SWEEP.plan(config, {})
    planned = SWEEP.plan(config, {first.name: Outcome(finished=False, error="NaN")})
    assert len(planned) == 1 + alone and all(one.config.arms == 1 for one in planned[1:])


def test_settings_are_chosen_on_folds_only_where_there_are_classes_or_their_images_to_leave_out() -> None:
    for kind in ("metric_learning", "contrastive"):
        check(FairComparisonConfig(run=KINDS[kind].config()))
    with pytest.raises(ParameterError, match="Fair comparison cannot plan runs of Fine-tun"):
        check(FairComparisonConfig(run=TUNED))


def test_a_program_starts_a_sweep_of_any_kind_by_plain_values() -> None:
    settings = {"methods": [{"name": "moco_v2"}, {"name": "simclr"}], "batch": 64}
    beside = configured("sweep", {"of": "contrastive", "seeds": [4, 5], **settings})
    within = configured("sweep", {"seeds": [4, 5], "run": {"kind": "contrastive", **settings}})
    assert beside == within and isinstance(beside, SweepConfig) and isinstance(beside.run, ContrastiveConfig)
    assert (beside.seeds, beside.run.batch) == ((4, 5), 64)
    losses = configured("sweep", {"losses": [{"name": "triplet"}], "vary": {"dim": [8, 16]}})
    assert losses.run.kind == "metric_learning" and losses.vary == {"dim": [8, 16]}
    folds = configured("fair_comparison", {"losses": [{"name": "triplet"}], "trials": 3})
    assert folds.trials == 3 and folds.folds == 2
    for wrong, words in (
        ({"of": "nope"}, "There is no kind of run 'nope'"),
        ({"of": "contrastive", "losses": []}, "Contrastive pretraining has no setting 'losses'"),
        ({"device": "cpu"}, "has no setting 'device'"),
        ({"run": 3}, "cannot be read"),
    ):
        with pytest.raises(ParameterError, match=words):
            configured("sweep", wrong, ("device",))


def test_a_plan_keeps_the_settings_of_its_runs_as_they_are() -> None:
    for run in (MOCO, TUNED, KINDS["metric_learning"].config(data=DataChoice(conditions=Conditions(label_noise=0.2)))):
        config = SweepConfig(run=run, seeds=(3,), vary={"learning_rate": [0.1, 0.2]})
        assert read_config(config.to_json()) == config
        assert [one.config for one in SWEEP.plan(config, {})] == [
            dataclasses.replace(run, seed=3, learning_rate=rate) for rate in (0.1, 0.2)
        ]
    for plan, kind in (("sweep", "nope"), ("fair_comparison", "finetuning")):
        with pytest.raises(ParameterError, match=f"there is no kind of run '{kind}' that it could plan"):
            read_config(f'{{"kind": "{plan}", "version": 3, "run": {{"kind": "{kind}"}}}}')
    with pytest.raises(RunError, match="this is a single run"):
        plan_of(MOCO)


IMAGES = "Maximum images per split"
RUN = MetricLearningConfig(losses=(Choice(name="smooth_ap"), Choice(name="happier")))


def test_there_is_a_run_for_every_seed_and_value_and_an_arm_for_every_loss() -> None:
    vary = {"dim": [16, 32], "max_images": [100, 200, 300], "happier.alpha": [1, 5]}
    config = SweepConfig(run=RUN, seeds=(3, 4), vary=vary)
    planned = SWEEP.plan(config, {})
    found = {(one.config.seed, one.config.dim, one.config.data.max_images) for one in planned}
    assert len(planned) == len(found) == 2 * 2 * 3
    assert len({one.name for one in planned}) == len(planned)
    for one in planned:
        assert one.config.kind == "metric_learning" and one.config.seed == one.seed
        assert [variant.title for variant in one.variants] == ["Smooth-AP", "HAPPIER (alpha 1)", "HAPPIER (alpha 5)"]
        assert [dict(loss.parameters) for loss in one.config.losses] == [{}, {"alpha": 1}, {"alpha": 5}]
        assert one.condition == {"Embedding size": one.config.dim, IMAGES: one.config.data.max_images}


def test_a_plan_is_the_same_whenever_it_is_made_and_so_are_the_ids_of_its_runs() -> None:
    config = SweepConfig(run=RUN, vary={"alpha": [1, 2]})
    first, again = SWEEP.plan(config, {}), SWEEP.plan(dataclasses.replace(config), {})
    assert list(first) == list(again)
    plan = new_id()
    ids = [id_within(plan, one.name) for one in first]
    assert len(set(ids)) == len(ids) and all(map(is_id, ids)) and all(one[:10] == plan[:10] for one in ids)
    assert id_within(new_id(), first[0].name) not in ids


def test_more_variants_than_a_run_takes_are_spread_over_runs_of_the_same_seed() -> None:
    config = SweepConfig(run=RUN, seeds=(0,), vary={"alpha": list(range(1, 9))})
    planned = SWEEP.plan(config, {})
    assert [len(one.config.losses) for one in planned] == [MAX_ARMS, 3]
    assert {one.config.seed for one in planned} == {0}


def test_arms_of_a_run_that_failed_are_trained_alone() -> None:
    config = SweepConfig(run=RUN, seeds=(0, 1))
    first, second = SWEEP.plan(config, {})
    planned = SWEEP.plan(
        config, {first.name: Outcome(finished=False, error="NaN"), second.name: Outcome(finished=True)}
    )
    assert [[loss.name for loss in one.config.losses] for one in planned] == [
        ["smooth_ap", "happier"],
        ["smooth_ap"],
        ["happier"],
        ["smooth_ap", "happier"],
    ]
    stopped = {first.name: Outcome(finished=False, stopped=True)}
    assert list(SWEEP.plan(config, stopped)) == [first, second]
    assert planned[1].variants == first.variants[:1] and planned[1].condition == first.condition


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vary": {"nonsense": [1]}}, "there is no 'nonsense'"),
        ({"vary": {"happier.nonsense": [1]}}, "there is no 'happier.nonsense'"),
        ({"vary": {"dim": [16, 16]}}, "each value once"),
        ({"vary": {"dim": []}}, "needs a value"),
        ({"vary": {"dim": ["wide"]}}, "a whole number from 2 to 4096"),
        ({"vary": {"seed": [1, 2]}}, "there is no 'seed'"),
        ({"seeds": ()}, "1 to 20 seeds"),
        ({"seeds": (1, 1)}, "each once"),
        *(({"vary": {name: [1, 2]}}, "there is no") for name in ("", ".", "data.")),
        ({"vary": {"dim": [8, 16], "data.dim": [8, 16]}}, "are the same one"),
        ({"vary": {"tau": [0.01, 0.02], "smooth_ap.tau": [0.01, 0.02]}}, "are the same one"),
        ({"run": dataclasses.replace(RUN, losses=())}, "one to 6"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(changes: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        check(dataclasses.replace(SweepConfig(run=RUN), **changes))
