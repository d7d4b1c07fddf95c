"""Claims that are trained: the shortest that ships is made again; one whose effect is taken away is not seen."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from trainers.claims.base import Claim
from trainers.claims.catalogue import CLAIMS
from trainers.claims.results import read
from trainers.claims.runs import with_settings
from trainers.claims.verdict import LEAST_SEEDS, SEEN
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.data import load_data
from trainers.data.base import ImageSet
from trainers.plans.config import SweepConfig

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]
SHIPPED = {name: made for name, claim in CLAIMS.items() if claim.begins is None and (made := read(claim))}
COARSE = CLAIMS["happier_coarse"]


def test_the_shortest_claim_is_made_again_into_its_interval(tmp_path: Path) -> None:
    name, shipped = min(SHIPPED.items(), key=lambda pair: pair[1].minutes)
    claim = CLAIMS[name]
    again = run(claim, tmp_path)
    for one, before in zip(again.measured, shipped.measured, strict=True):
        assert one.numbers.seeds >= LEAST_SEEDS and before.numbers.low <= one.numbers.mean <= before.numbers.high
    assert again.verdict(claim) == shipped.verdict(claim)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_claim_on_levels_is_seen_only_where_the_levels_mean_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shuffled: bool
) -> None:
    """The same images with every pot on its shelf, and with the pots dealt to shapes and shelves at random."""
    assert COARSE.plan is not None
    data = load_data(COARSE.plan().run.data)
    for part, images in (("train", data.train), ("test", data.test)):
        write(tmp_path / "images" / part, images, np.random.default_rng(5) if shuffled else None)

    def plan() -> SweepConfig:
        two = COARSE.plan().run  # type: ignore[misc]
        source = DataChoice(source=str(tmp_path / "images"), image_size=two.data.image_size)
        return dataclasses.replace(COARSE.plan(), run=two.changed(data=source, losses=two.losses[:2]))  # type: ignore[misc]

    claim = dataclasses.replace(COARSE, plan=plan)
    monkeypatch.setattr("trainers.claims.catalogue.CLAIMS", {claim.name: claim})
    result = run(claim, tmp_path)
    assert all(one.numbers.seeds >= LEAST_SEEDS for one in result.measured)
    assert (result.verdict(claim) == SEEN) != shuffled, [one.numbers for one in result.measured]


def run(claim: Claim, folder: Path):
    """Run a claim by the command; returns its result."""
    assert main(["claims", claim.name, "--runs", str(folder / "runs"), "--results", str(folder / "results")]) == 0
    assert claim.plan is not None
    plan = with_settings(claim.plan(), folder / "runs")
    assert plan is not None and plan.state().phase == "finished"
    result = read(claim, folder / "results")
    assert result is not None
    return result


def write(folder: Path, images: ImageSet, draws: np.random.Generator | None) -> None:
    """``folder/SHELF/SHAPE/POT/N.png``; with ``draws`` the pots are dealt to the places of others."""
    labels = images.labels.numpy()
    pots, first = np.unique(labels[:, 0], return_index=True)
    places = labels[first, 1:]
    if draws is not None:
        places = places[draws.permutation(len(places))]
    home = {int(pot): place for pot, place in zip(pots, places, strict=True)}
    for number, (image, (pot, *_)) in enumerate(zip(images.images.numpy(), labels, strict=True)):
        shape, shelf = home[int(pot)]
        path = folder / f"shelf{shelf}" / f"shape{shape:02d}" / f"pot{pot:03d}"
        path.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image.transpose(1, 2, 0)).save(path / f"{number}.png")
