"""Encoders of runs as safetensors files, and as the start of other runs."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor, nn

from trainers.errors import UserError
from trainers.runs import RunFolder
from trainers.training.optimizer import under

_HEAD = ("head.", "centred.")


def encoder_tensors(folder: RunFolder, arm: int) -> dict[str, Tensor]:
    """The weights and statistics of an arm's encoder at the last checkpoint, on the CPU.

    Raises:
        UserError: the run has no such arm, no checkpoint, or its kind trains no encoder of images.
        RunError: the checkpoint is damaged.
    """
    config = folder.config
    prefix = config.encoder_prefix
    if not prefix:
        raise UserError(f"Run {folder.id} trains no encoder of the catalogue. Choose a run of another kind.")
    if not 0 <= arm < config.arms:
        raise UserError(f"Run {folder.id} has {config.arms} arms, counted from 0; got {arm}.")
    checkpoint = folder.read_checkpoint()
    if checkpoint is None:
        raise UserError(f"Run {folder.id} has no checkpoint yet. Wait until it has trained for a few seconds.")
    return under(checkpoint[0], f"arm{arm}/{prefix}")


def export_encoder(folder: RunFolder, arm: int, path: Path) -> None:
    """Write an arm's encoder.

    Of a timm model the names are timm's own, and the layer behind its pooled features is left out.

    Args:
        path: of the safetensors file. Its metadata has ``encoder``, the encoder as JSON with ``name`` and
            ``parameters``, and ``run`` and ``arm``, where it comes from.
    """
    tensors = encoder_tensors(folder, arm)
    if timm := under(tensors, "backbone."):
        tensors = timm
    encoder = folder.config.encoder  # type: ignore[attr-defined]
    about = {"encoder": json.dumps({"name": encoder.name, "parameters": dict(encoder.parameters)})}
    plain = {name: value.contiguous() for name, value in tensors.items()}
    save_file(plain, path, metadata={**about, "run": folder.id, "arm": str(arm)})


def start_from(encoder: nn.Module, runs: Path, written: str) -> int:
    """Give ``encoder`` the weights of a run's encoder; its head keeps its own if the other's does not fit.

    Args:
        encoder: of the same architecture.
        runs: folder that holds the runs.
        written: id of the run, or ``id:arm``.

    Returns:
        how many tensors were taken.

    Raises:
        UserError: there is no such run or arm, or the architectures differ.
    """
    run, _, arm = written.partition(":")
    if not (arm or "0").isdecimal():
        raise UserError(f"A run to start from is written ID or ID:ARM; got {written!r:.60}.")
    given = encoder_tensors(RunFolder.open(runs, run, read_only=True), int(arm or 0))
    own = encoder.state_dict()
    fitting = {name: value for name, value in given.items() if name in own and own[name].shape == value.shape}
    missing = [name for name in own if name not in fitting and not name.startswith(_HEAD)]
    if missing:
        raise UserError(
            f"The encoder of run {run} does not fit: {len(missing)} of {len(own)} tensors are missing or of another "
            f"shape, the first of them {missing[0]}. Choose the same encoder with the same parameters."
        )
    encoder.load_state_dict(fitting, strict=False)
    return len(fitting)
