"""Own images begin with a pretrained encoder where one is at hand."""

from __future__ import annotations

from typing import Any

import pytest

from trainers.config import DataChoice
from trainers.encoders import published
from trainers.kinds import KINDS
from trainers.parameters import Choice

KNOWN = published.AtHand(
    encoder=Choice(name="timm_frozen", parameters={"model": "test_vit", "side": 32, "hidden": 0}), cached=True
)
TRAIN = KINDS["metric_learning"]
OWN = {"data": DataChoice(source="/somewhere/own")}


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.encoders.published.at_hand", lambda: KNOWN)


def test_own_images_begin_with_it_at_its_rate() -> None:
    config = TRAIN.configured(dict(OWN))
    assert (config.encoder, config.learning_rate) == (KNOWN.encoder, 1e-3)
    assert TRAIN.configured({**OWN, "learning_rate": 0.02}).learning_rate == 0.02


@pytest.mark.parametrize(
    "given",
    [
        {"data": DataChoice(source="drawn")},
        {**OWN, "encoder": Choice(name="conv4")},
        {**OWN, "augmentation": Choice(name="randaugment")},
        {**OWN, "losses": (Choice(name="simclr"),)},
        {**OWN, "start": "0" * 26},
    ],
    ids=["drawn", "encoder", "augmentation", "views", "start"],
)
def test_what_is_said_stays(given: dict[str, Any]) -> None:
    assert TRAIN.configured(given).encoder == given.get("encoder", Choice(name="conv4"))
