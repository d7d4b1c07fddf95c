"""The encoder of a run's arm at its last checkpoint, as evaluation uses it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainers.config import EncoderConfig
from trainers.data.base import Progress, silent
from trainers.data.cache import update
from trainers.errors import RunError, UserError
from trainers.kinds import kind_of
from trainers.retrieval.probe_results import check_single
from trainers.runs import RunFolder, checked
from trainers.runs.damage import damaged, reading
from trainers.training.device import choose
from trainers.training.embedding import embed
from trainers.training.encoder_file import no_checkpoint
from trainers.training.optimizer import under


@dataclass(frozen=True, kw_only=True)
class ArmEncoder:
    """Embeds images as the run's evaluation does.

    Attributes:
        run, arm: where its weights come from.
        step: of the checkpoint.
        channels, side: of the images that it was trained on.
        digest: of its weights, hexadecimal.
        network: in evaluation mode; from pixels 0..1 to raw embeddings.
        device: where it is.
    """

    run: str
    arm: int
    step: int
    channels: int
    side: int
    digest: str
    network: nn.Module
    device: torch.device

    def embed(self, images: Tensor, progress: Progress = silent) -> Tensor:
        """Unit embeddings float32 ``[N, D]`` on the CPU of images uint8 ``[N, C, H, W]``.

        Raises:
            RunError: some are not finite numbers: training diverged.
        """
        count = len(images)
        vectors = embed(
            self.network, images, self.device, lambda done: progress(f"embedding {done:,} of {count:,}", done / count)
        )
        if not torch.isfinite(vectors).all():
            raise RunError(
                f"Arm {self.arm} of run {self.run} does not embed images as finite numbers: its training diverged."
            )
        return vectors


def image_config(folder: RunFolder) -> EncoderConfig:
    """The configuration of a run that trains an encoder of images.

    Raises:
        UserError: it trains none, or is damaged.
    """
    config = folder.config
    check_single(folder.id, config)
    if not isinstance(config, EncoderConfig):
        raise UserError(
            f"Run {folder.id} trains no encoder of the catalogue, so its images cannot be searched. Choose a run of "
            "metric learning or of contrastive pretraining."
        )
    return config


def check_arm(config: EncoderConfig, run: str, arm: int) -> None:
    """Refuse an arm that a run does not have.

    Raises:
        UserError: there is no such arm.
    """
    if not 0 <= arm < config.arms:
        there = "one arm, 0" if config.arms == 1 else f"{config.arms} arms, counted from 0"
        raise UserError(f"Run {run} has {there}; got {arm}.")


def read_encoder(folder: RunFolder, arm: int, image_shape: Callable[[], tuple[int, int]]) -> ArmEncoder:
    """Build an arm's encoder and load its weights of the last checkpoint.

    Args:
        image_shape: finds out channels and side of the run's images; called where the checkpoint does not tell.

    Raises:
        UserError: it trains no encoder, has no such arm or no checkpoint, or is damaged.
    """
    config = image_config(folder)
    check_arm(config, folder.id, arm)
    checkpoint = folder.read_checkpoint()
    if checkpoint is None:
        raise no_checkpoint(folder)
    tensors, about = checkpoint
    with reading(folder.id, passed=UserError):
        step = checked.whole(about["step"], "step")
        known = tuple(checked.whole(number, "images") for number in about.get("images") or ())  # type: ignore[attr-defined]
        channels, side = known or image_shape()
        weights = under(tensors, f"arm{arm}/{config.encoder_prefix}")
        # built from nothing: its random draws must not disturb those of the caller
        with torch.random.fork_rng(devices=[]):
            network = kind_of(config).embedder(config, channels=channels, side=side)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise damaged(folder.id, "the encoder in its checkpoint is not the one of its configuration") from error
    device, _ = choose("auto")
    return ArmEncoder(
        run=folder.id,
        arm=arm,
        step=step,
        channels=channels,
        side=side,
        digest=_digest(weights),
        network=_Embedder(network).to(device).eval(),
        device=device,
    )


class _Embedder(nn.Module):
    """An encoder from pixels to embeddings, also of one that is trained on frozen features."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.frozen = bool(getattr(encoder, "frozen", False))

    def forward(self, pixels: Tensor) -> Tensor:
        if self.frozen:
            with torch.autocast(pixels.device.type, enabled=False):
                pixels = self.encoder.features(pixels).half().float()  # as training keeps them
        return self.encoder(pixels)


def _digest(weights: dict[str, Tensor]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(weights.items()):
        digest.update(f"\n{name} {tuple(value.shape)} ".encode())
        update(digest, value.contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
