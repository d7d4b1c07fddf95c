"""The shape of the rank bound as it is resolved: delta after tau, the published presets."""

from __future__ import annotations

import math

import pytest

from trainers.losses import LOSSES
from trainers.losses._bound import DIFFERS, BoundParameters, resolve

BOUNDED = [name for name, loss in LOSSES.items() if issubclass(loss.parameters, BoundParameters)]


def test_delta_is_the_printed_one_at_the_printed_tau() -> None:
    assert resolve(BoundParameters()).delta == 0.05
    assert resolve(BoundParameters(tau=0.01, delta=0.05)) == resolve(BoundParameters())


@pytest.mark.parametrize("tau", [0.001, 0.01, 0.03, 0.1, 1.0])
def test_delta_follows_tau_to_where_the_sigmoid_is_flat(tau: float) -> None:
    bound = resolve(BoundParameters(tau=tau))
    eps = 1.0 - bound.edge
    assert bound.delta == pytest.approx(tau * math.log((1.0 - eps) / eps))
    assert eps == pytest.approx(1 / (1 + math.e**5)) and eps < 0.01
    assert bound.edge_slope * tau == pytest.approx(eps * (1.0 - eps))  # the slope there, in units of 1 / tau
    assert bound.offset == pytest.approx(bound.start + bound.edge)  # continuous


def test_a_delta_that_is_set_stays() -> None:
    assert resolve(BoundParameters(tau=0.1, delta=0.05)).delta == 0.05
    assert resolve(BoundParameters(tau=0.1, delta=0.0)).delta == 0.0


@pytest.mark.parametrize("name", BOUNDED)
def test_every_loss_with_the_bound_lets_delta_follow(name: str) -> None:
    assert LOSSES[name].parameters().delta is None


@pytest.mark.parametrize("name", BOUNDED)
def test_every_loss_with_the_bound_says_where_the_published_bounds_differ(name: str) -> None:
    assert LOSSES[name].differs.endswith(DIFFERS)


def test_happier_f_changes_alpha_alone() -> None:
    plain, fine = (vars(LOSSES[name].parameters()) for name in ("happier", "happier_f"))
    assert {name for name in plain if plain[name] != fine[name]} == {"alpha"}
    assert (plain["alpha"], fine["alpha"]) == (1.0, 5.0)
