"""LaMa, from a TorchScript file on this machine; nothing is downloaded."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from trainers.errors import UserError
from trainers.object_removal.fills.base import FillDescriptor
from trainers.registry import NoParameters

VARIABLE = "RANKSCOPE_LAMA"
_STEP = 8  # the network halves the image three times


def missing(_parameters: object) -> str | None:
    """Say why LaMa cannot be used, or None."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        return f"LaMa needs its TorchScript file (big-lama.pt, about 200 MB): set {VARIABLE} to its path."
    if not Path(given).is_file():
        return f"{VARIABLE} names {Path(given).name!r}, and there is no such file. Set it to the path of big-lama.pt."
    return None


@lru_cache(maxsize=1)
def _network(path: str, _changed: int) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls TorchScript deprecated; the published weights have no other form
        try:
            return torch.jit.load(path, map_location="cpu").eval()
        except (RuntimeError, ValueError, OSError) as error:
            raise UserError(
                f"{Path(path).name!r} is not a TorchScript file that can be loaded; give big-lama.pt."
            ) from error


def _fill(image: np.ndarray, mask: np.ndarray, _parameters: NoParameters) -> np.ndarray:
    path = Path(os.environ[VARIABLE])
    network = _network(str(path), path.stat().st_mtime_ns)
    height, width = mask.shape
    edge = ((0, -height % _STEP), (0, -width % _STEP))
    padded = np.pad(image, (*edge, (0, 0)), mode="symmetric").transpose(2, 0, 1)
    hole = np.pad(mask, edge, mode="symmetric")
    with torch.inference_mode():
        try:
            output = network(
                torch.from_numpy(padded.astype(np.float32) / 255)[None], torch.from_numpy(hole).float()[None, None]
            )
            painted = output[0, :, :height, :width].clamp(0, 1).mul(255).round().byte()
            return painted.permute(1, 2, 0).contiguous().numpy()
        except (RuntimeError, TypeError, IndexError) as error:
            raise UserError(
                f"{path.name!r} does not fill an image as LaMa does; give big-lama.pt. ({error})"
            ) from error


DESCRIPTOR = FillDescriptor(
    name="lama",
    title="LaMa",
    sentence="A network that continues textures: the most realistic fill, a few seconds per image on a CPU.",
    paper="Resolution-robust Large Mask Inpainting with Fourier Convolutions, Suvorov et al. 2022",
    fill=_fill,
    missing=missing,
    slow=True,
    order=60,
)
