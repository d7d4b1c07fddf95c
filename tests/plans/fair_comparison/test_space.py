"""What is searched of each loss, and that every trial can be trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plans.fair_comparison.made_up import fair, whole
from tests.tiny import write_images
from trainers.config import DataChoice
from trainers.data import load_data
from trainers.kinds import check
from trainers.losses import LOSSES
from trainers.parameters import specs
from trainers.plans.space import Dimension, Space, proposed, space_of


def space(loss: str, learning_rate: float, **given: object) -> Space:
    return space_of(LOSSES[loss].parameters, given, learning_rate)


@pytest.mark.parametrize("name", list(LOSSES))
def test_the_space_of_a_loss_holds_its_defaults_and_nothing_it_refuses(name: str) -> None:
    found = space(name, 4e-3)
    own = {spec.name: spec for spec in specs(LOSSES[name].parameters)}
    rate, *dimensions = found.dimensions
    assert (rate.low, rate.high, rate.log) == (pytest.approx(4e-4), pytest.approx(4e-2), True)
    assert {one.name for one in dimensions} | set(found.left) == set(own)
    assert not {one.name for one in dimensions} & set(found.left)
    for one in dimensions:
        assert one.given == own[one.name].default
        assert one.given in one.choices if one.choices else one.low <= one.given <= one.high
        for value in one.choices or (one.low, one.high):
            LOSSES[name].checked({one.name: value})
    for number in range(1, 4):
        point = proposed(found.dimensions, (), number=number, seed=5, maximise=True)
        learning_rate, parameters = found.apart(point)
        assert 4e-4 <= learning_rate <= 4e-2
        LOSSES[name].checked(parameters)


def test_ranges_follow_from_the_declared_ones() -> None:
    spaces = {name: {one.name: one for one in space(name, 50.0).dimensions} for name in LOSSES}
    assert spaces["triplet"]["learning_rate"].range == "5 to 100, logarithmic", "no higher than what is accepted"
    assert spaces["contextual"]["eps"].range == "0.005 to 0.5, logarithmic", "0 to 1 is accepted; the default is 0.05"
    assert spaces["contextual"]["pos_margin"].range == "-1 to 1"
    assert spaces["fastap"]["num_bins"] == Dimension(name="num_bins", given=10, low=2, high=100, log=True, whole=True)
    assert spaces["triplet"]["swap"].choices == (False, True)
    assert spaces["contrastive"]["pos_margin"].range == "0 to 2", "a default of 0 has no decade around it"
    left = space("contextual", 4e-3, lam=0.2)
    assert (left.fixed, left.left) == (("lam",), ("k", "alpha", "total"))
    assert "positive_cutoff" in space("xbm_contrastive", 4e-3).left, "a tolerance is not searched"


def test_of_the_contextual_loss_neither_what_the_rate_does_nor_the_code_it_follows_is_searched() -> None:
    searched = {one.name for one in space("contextual", 4e-3).dimensions}
    assert searched == {
        "learning_rate", "eps", "pos_margin", "neg_margin", "similarity_target", "lam", "gamma"
    }  # fmt: skip
    given = space("contextual", 4e-3, total="official_256")
    assert (given.fixed, given.left) == (("total",), ("k", "alpha")), "the paper's 'redundant with the learning rate'"


def test_no_fold_of_a_trial_holds_a_class_of_the_test_set(tmp_path: Path) -> None:
    images = DataChoice(source=str(write_images(tmp_path / "images", each=2)), image_size=24)
    planned, _ = whole(fair("triplet", trials=1, data=images, probe_size=20, seeds=(0,)))
    check(planned[0].config)
    real = load_data(images)
    classes = {part: set(getattr(real, part).labels[:, 0].tolist()) for part in ("train", "test")}
    names = real.hierarchy.names[0]
    known = {part: {names[one] for one in classes[part]} for part in classes}
    assert not known["train"] & known["test"]
    tested = []
    for run in planned:
        data = load_data(run.config.data)
        own = [{data.hierarchy.names[0][one] for one in part.labels[:, 0].tolist()} for part in (data.train, data.test)]
        if run.part == "search":
            assert own[0] | own[1] == known["train"] and not own[0] & own[1]
            tested.append(own[1])
        else:
            assert own == [known["train"], known["test"]]
    assert len(tested) == 2 and tested[0] | tested[1] == known["train"] and not tested[0] & tested[1]
