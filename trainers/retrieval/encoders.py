"""The one loader of encoders of images: those of runs of every kind, of exported files and of image-text models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainers.config import NORMS, Config, DataChoice, RunConfig
from trainers.data import load_data
from trainers.data.base import LoadedData
from trainers.data.cache import update
from trainers.data.pixel_range import PIXELS, PixelRange
from trainers.devices.device import choose
from trainers.encoders import ENCODERS, Encoder
from trainers.encoders.norms import replace_norms
from trainers.errors import UserError
from trainers.image_text.models import MODELS
from trainers.kinds import arm_titles, kind_of
from trainers.parameters import Choice, entry, parse_choice
from trainers.progress import Progress, silent
from trainers.retrieval.probe_results import check_single
from trainers.runs import RunFolder, checked
from trainers.runs.damage import damaged, reading
from trainers.runs.earlier import SETTINGS, with_former_defaults
from trainers.training.arm import under
from trainers.training.embedding import Encoders, ImageEncoder
from trainers.training.encoder_file import no_checkpoint, read_file
from trainers.training.footprint import unloaded


def encoders_of(written: str, root: Path) -> Encoders:
    """Return the encoders that a command names: of a run in ``root`` by its id, of an exported file by its path that
    ends in ``.safetensors``, or the image tower of an image-text model, ``NAME`` or ``NAME:parameter=value``.

    Raises:
        UserError: there is none of that name, or it cannot be used here.
    """
    if written.endswith(".safetensors"):
        return Encoders(id=written, titles=(Path(written).stem,), read=lambda _: encoder_of_file(Path(written)))
    if written.partition(":")[0] in MODELS:
        name, parameters = parse_choice(written, MODELS)
        title = MODELS[name].title
        return Encoders(id=written, titles=(title,), read=lambda _: _of_model(written, name, parameters))
    return encoders_of_run(RunFolder.open(root, written))


def encoders_of_run(folder: RunFolder) -> Encoders:
    """Return the encoders of a run's arms.

    Raises:
        UserError: it trains no encoder of images, or is damaged.
    """
    config, images = image_config(folder), images_of(folder)

    def shape() -> tuple[int, int]:
        _, channels, side, _ = read_images(images).train.images.shape
        return channels, side

    return Encoders(
        id=folder.id,
        titles=tuple(arm_titles(config)),
        data=getattr(images, "scenes", images),
        read=lambda arm: read_encoder(folder, arm, shape),
    )


def embeds(config: Config) -> bool:
    """Return whether the runs of a configuration embed images."""
    return not kind_of(config).plans and kind_of(config).images(config) is not None


def image_config(folder: RunFolder) -> RunConfig:
    """Return the configuration of a run that trains an encoder of images.

    Raises:
        UserError: it trains none, or is damaged.
    """
    config = folder.config
    check_single(folder.id, config)
    if not embeds(config):
        raise UserError(f"Run {folder.id} has no encoder of images, so it can be neither searched nor exported.")
    return config.single


@dataclass(frozen=True, kw_only=True)
class StoredImages:
    """Images of a run that was brought along: of them the run has embeddings and thumbnails alone.

    Attributes:
        fingerprint: tells them apart; image_size: none.
    """

    fingerprint: str
    image_size: int | None = None

    def load(self, _progress: Progress = silent) -> LoadedData:
        """Raise UserError: they are not here."""
        raise UserError(
            "This run was not trained here, so it has the embeddings of its own images alone. Search among the "
            "images on its maps (the gallery probe), with a row of it."
        )


def searched_config(folder: RunFolder) -> RunConfig:
    """Return the configuration of a run that trains an encoder of images, or that has embeddings of some.

    Raises:
        UserError: it has neither, or is damaged.
    """
    return folder.config.single if folder.config.kind == _BROUGHT else image_config(folder)


_BROUGHT = "brought"


def images_of(folder: RunFolder) -> Any:
    """Return the images that a run is evaluated on, see :meth:`trainers.kinds.base.Kind.images`, as of the commit that
    it read.

    Raises:
        UserError: as :func:`searched_config`.
    """
    config = searched_config(folder)
    if config.kind == _BROUGHT:
        probe = folder.probe()
        return StoredImages(fingerprint="" if probe is None else probe.fingerprint)
    images = kind_of(config).images(config)
    return images.at(folder.revision) if folder.revision else images


def read_images(choice: Any, progress: Progress = silent) -> LoadedData:
    """Return the images of :meth:`trainers.kinds.base.Kind.images`.

    Raises:
        UserError: they cannot be read, or may not be opened here.
    """
    return load_data(choice, progress) if isinstance(choice, DataChoice) else choice.load(progress)


def check_arm(config: RunConfig, run: str, arm: int) -> None:
    """Refuse an arm that a run does not have.

    Raises:
        UserError: there is no such arm.
    """
    if not 0 <= arm < config.arms:
        there = "one arm, 0" if config.arms == 1 else f"{config.arms} arms, counted from 0"
        raise UserError(f"Run {run} has {there}; got {arm}.")


def read_encoder(folder: RunFolder, arm: int, image_shape: Callable[[], tuple[int, int]]) -> ImageEncoder:
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
    kind = kind_of(config)
    with reading(folder.id, passed=UserError):
        step = checked.whole(about["step"], "step")
        known = tuple(checked.whole(number, "images") for number in about.get("images") or ())
        channels, side = known or image_shape()
        pixels = PixelRange.from_list(about.get(PIXELS))
        weights = under(tensors, f"arm{arm}/{kind.embedder_prefix(config)}")
        # built from nothing: its random draws must not disturb those of the caller
        with torch.random.fork_rng(devices=[]):
            network = kind.embedder(config, channels=channels, side=side)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise damaged(folder.id, "the encoder in its checkpoint is not the one of its configuration") from error
    seen = {"channels": channels, "side": side, "pixel_range": pixels}
    return _encoder(network, weights, run=folder.id, arm=arm, step=step, **seen)


def encoder_of_file(path: Path) -> ImageEncoder:
    """Return the model of a file that ``python -m trainers export`` wrote; of one without its head it embeds images as
    the encoder's pooled features.

    Raises:
        UserError: there is no such file, or it was written by something else.
    """
    about, tensors = read_file(path)
    with torch.random.fork_rng(devices=[]):
        network, wrapped = _made_for(about)
    weights = {f"{wrapped}.{name}" if wrapped else name: value for name, value in tensors.items()}
    if "model" in about:  # its image tower alone is in the file
        weights = network.state_dict() | weights
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(f"{path} does not hold the weights of the encoder that it names: {error}") from error
    step = int(about.get("step", 0))
    pixels = PixelRange.from_list(json.loads(about.get(PIXELS, "null")))
    seen = {"channels": int(about["channels"]), "side": int(about["side"]), "pixel_range": pixels}
    return _encoder(network, weights, run=path.name, arm=0, step=step, **seen)


def _made_for(about: Mapping[str, str]) -> tuple[nn.Module, str]:
    """Build the network that a file's metadata name, and return what the names of its tensors begin with beside those
    of the file.

    Raises:
        UserError: there is no such model, or no such normalisation.
    """
    spelled = json.loads(about.get("model") or about["encoder"])
    choice = Choice(**(spelled if SETTINGS in about else with_former_defaults(spelled)))
    if "model" in about:
        return entry(MODELS, choice.name, "model").build(choice.parameters), ""
    dim = about.get("dim")
    encoder = unloaded(choice, channels=int(about["channels"]), side=int(about["side"]), dim=int(dim or 0) or 2)
    if dim in (None, "0"):
        encoder.without_head()
    norm = about.get("norm", "batch")
    if norm not in NORMS:
        raise UserError(f"Its normalisation is one of {', '.join(NORMS)}; the file says {norm!r:.40}.")
    return replace_norms(encoder, norm), "" if dim else entry(ENCODERS, choice.name, "encoder").make.wraps


def _of_model(written: str, name: str, parameters: Mapping[str, Any]) -> ImageEncoder:
    model = MODELS[name].build(parameters)
    return _encoder(model, model.state_dict(), run=written, arm=0, step=0, channels=3, side=model.side)


def _encoder(network: nn.Module, weights: Mapping[str, Tensor], **about: Any) -> ImageEncoder:
    device, _ = choose("auto")
    if isinstance(network, Encoder) and network.frozen:
        network = _OnFeatures(network)
    return ImageEncoder(
        **about, digest=weights_digest(weights), network=network.requires_grad_(False).to(device).eval(), device=device
    )


def without_features(network: nn.Module) -> nn.Module:
    """Return an encoder itself, which of frozen features takes these and not pixels."""
    return network.encoder if isinstance(network, _OnFeatures) else network


class _OnFeatures(nn.Module):
    """An encoder that is trained on frozen features, from pixels to embeddings."""

    frozen = True  # it computes features as training does: nothing is folded

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, pixels: Tensor) -> Tensor:
        with torch.autocast(pixels.device.type, enabled=False):
            features = self.encoder.features(pixels).half().float()  # as training keeps them
        return self.encoder(features)


def weights_digest(weights: Mapping[str, Tensor]) -> str:
    """Return a hexadecimal digest; equal for equal weights by equal names."""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(weights.items()):
        digest.update(f"\n{name} {tuple(value.shape)} ".encode())
        update(digest, value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
