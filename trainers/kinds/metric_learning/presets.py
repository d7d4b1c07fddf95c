"""Experiments as one run each."""

from __future__ import annotations

from trainers.config import DataChoice
from trainers.kinds.base import Preset
from trainers.parameters import Choice

_LOSSES = (Choice(name="contrastive"), Choice(name="smooth_ap"))
_THEN = "Then `python -m trainers background`, of several seeds with `--pool`, says which loss leans on it."


def _tied(bias: float, title: str, sentence: str) -> Preset:
    name = f"background_{bias:g}".replace(".", "")
    source = f"drawn:bias={bias:g}" if bias else "drawn"
    settings = {"data": DataChoice(source=source), "losses": _LOSSES}
    return Preset(name=name, title=title, sentence=f"{sentence} {_THEN}", settings=settings)


PRESETS = (
    _tied(0.0, "Backgrounds tied to no class", "A pair loss and a ranking loss where the background tells nothing."),
    _tied(0.5, "Backgrounds tied in half the images", "Half of the training images show their class's background."),
    _tied(0.9, "Backgrounds tied in nine of ten", "Nine of ten training images show the background of their class."),
)
