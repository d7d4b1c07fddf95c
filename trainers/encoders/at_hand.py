"""The pretrained encoder that is at hand: its weights lie in the cache of the Hub's client, or can be fetched."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from trainers.parameters import Choice


@dataclass(frozen=True, kw_only=True)
class AtHand:
    """An encoder that can be used now.

    Attributes:
        encoder: frozen features with a linear head.
        cached: its weights are on this machine; else they are fetched when a run begins.
    """

    encoder: Choice
    cached: bool

    @property
    def sentence(self) -> str:
        """Why it is chosen, for the page and the command line."""
        where = "are on this machine" if self.cached else "can be fetched from the Hub"
        return (
            f"The weights of {self.encoder.parameters['model']} {where}, so own images begin with its frozen features "
            "and a linear head. conv4 trains an encoder from scratch."
        )


CHOICES = {
    "cuda": ("vit_small_patch14_dinov2.lvd142m", 224),
    "cpu": ("resnet18.a1_in1k", 128),
}
"""By device: the model and the side of its images. On two cores DINOv2 reads 7 images a second, ResNet-18 at this
side 60."""
FILES = ("model.safetensors", "pytorch_model.bin")


class _Reachable:
    """Whether the Hub answers, asked once in a thread of its own: nobody waits for a network that is not there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self._answer = False

    def __call__(self) -> bool:
        with self._lock:
            first, self._asked = not self._asked, True
        if first:
            threading.Thread(target=self._ask, daemon=True).start()
        return self._answer

    def _ask(self) -> None:
        from trainers.data.hf_logging import online

        self._answer = online()


reachable = _Reachable()


def at_hand(device: str | None = None) -> AtHand | None:
    """Return the encoder that own images begin with; None: none is cached, and the Hub has not answered yet.

    Args:
        device: ``cuda`` or ``cpu``; this machine's if None.
    """
    if find_spec("timm") is None:
        return None
    if device is None:
        from trainers.devices.device import choose

        device = choose("auto")[0].type
    order = [CHOICES.get(device, CHOICES["cpu"]), *CHOICES.values()]
    for model, side in order:
        if cached(model):
            return AtHand(encoder=_frozen(model, side), cached=True)
    return AtHand(encoder=_frozen(*order[0]), cached=False) if reachable() else None


def cached(model: str, files: Sequence[str] = FILES) -> bool:
    """Return whether the weights of a model of timm's lie in the cache of the Hub's client."""
    from huggingface_hub import try_to_load_from_cache

    return any(isinstance(try_to_load_from_cache(f"timm/{model}", name), str) for name in files)


def _frozen(model: str, side: int) -> Choice:
    return Choice(name="timm_frozen", parameters={"model": model, "side": side, "hidden": 0})
