"""What a loss does while an image moves towards a query, and what the sentences on its neighbours say of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from explorer.tabs.catalogue import responses as module
from explorer.tabs.catalogue.responses import Batch, Response, response
from trainers.losses import FAMILIES, LOSSES

EVERY = [loss.name for losses in FAMILIES.values() for loss in losses]


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The cosines that are computed, few of them; nothing of it is kept."""
    monkeypatch.setattr(module, "POINTS", 12)
    monkeypatch.setattr(module, "STEPS", 20)
    monkeypatch.setattr(module, "DRAWS", 2)
    response.cache_clear()
    yield monkeypatch
    response.cache_clear()


def computed(points: pytest.MonkeyPatch, name: str, count: int) -> Response:
    points.setattr(module, "POINTS", count)
    return response(name)


@pytest.mark.parametrize("name", EVERY)
def test_every_loss_pushes_a_stranger_away_from_the_query(name: str, points: pytest.MonkeyPatch) -> None:
    told = response(name)
    stranger = told.moves[0]
    assert len(told.moves) == (3 if LOSSES[name].hierarchy else 2)
    assert all(len(move.loss) == len(move.push) == len(told.cosines) == 12 for move in told.moves)
    assert np.isfinite([move.loss + move.push for move in told.moves]).all()
    assert stranger.loss[-1] > stranger.loss[0] and max(stranger.push) > 0
    assert told.made.endswith(".") and ("proxies" in told.made) == LOSSES[name].proxies


@pytest.mark.parametrize("name", ["supcon", "simclr", "proxy_anchor", "arcface"])
def test_the_push_is_the_slope_of_the_loss(name: str, points: pytest.MonkeyPatch) -> None:
    told = computed(points, name, 200)
    for move in told.moves[:2]:
        slope = -np.gradient(move.loss, np.arccos(told.cosines))
        close = np.isclose(slope, move.push, rtol=0.1, atol=0.02)
        assert close.mean() > 0.97  # not at the ends


def test_images_stand_where_the_marks_are() -> None:
    batch = Batch(views=2)
    torch.testing.assert_close(batch.rows.norm(dim=1), torch.ones(18))
    torch.testing.assert_close(batch.rows[1:4] @ batch.rows[0], torch.tensor(module.COSINES))
    assert (batch.rows[4:] @ batch.rows[0]).max() < min(module.COSINES)


def test_a_bound_has_a_gradient_where_a_sigmoid_is_flat(points: pytest.MonkeyPatch) -> None:
    smooth, bound = (computed(points, name, 100) for name in ("smooth_ap", "sup_ap"))
    between = np.argmin(np.abs(np.array(smooth.cosines) - 0.6))
    assert abs(smooth.moves[0].push[between]) < 0.002 < 0.02 < bound.moves[0].push[between]


def test_one_close_positive_is_enough_inside_the_logarithm(points: pytest.MonkeyPatch) -> None:
    outside, inside = (np.ptp(response(name).moves[1].loss) for name in ("supcon", "supcon_in"))
    assert inside < 0.01 < 0.5 < outside


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("fastap", {"num_bins": 19}), ("softbin_ap", {"num_bins": 20})),
        (("proxy_nca_pp", {"temperature": 0.1}), ("proxy_nsm", {"temperature": 0.05})),
    ],
    ids=["binned AP", "softmax over proxies"],
)
def test_losses_that_differ_in_a_number_alone_are_equal_where_it_is(
    one: tuple[str, dict[str, float]], other: tuple[str, dict[str, float]]
) -> None:
    rows = torch.randn(12, 8, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(12) % 4
    values = []
    for name, parameters in (one, other):
        torch.manual_seed(0)
        values.append(LOSSES[name].build(num_classes=4, dim=8, **parameters)(rows, labels))
    torch.testing.assert_close(*values)


def test_nothing_is_compiled_for_it() -> None:
    """Compiling takes ten seconds."""
    code = """
import sys
from explorer.tabs.catalogue import responses
responses.POINTS, responses.STEPS = 12, 20
print([responses.response(name).marks for name in ("sup_ap", "smooth_ap")])
print("trainers.losses._rank_kernels" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.splitlines() == [f"{[module.COSINES] * 2}", "False"]
