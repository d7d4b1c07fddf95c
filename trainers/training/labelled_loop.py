"""The training loop of kinds of run that train an encoder on a dataset with labels, and its probe."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor

from trainers.config import EncoderConfig
from trainers.data import load_data
from trainers.data.base import ImageSet, LoadedData
from trainers.encoders import ENCODERS, Encoder
from trainers.metrics import counts
from trainers.progress import Progress
from trainers.runs import RunFolder
from trainers.runs.records import PARTS, Attribute, Probe
from trainers.training.footprint import unloaded
from trainers.training.loop import Loop
from trainers.training.pinned import TrainedOn, pin, pinned
from trainers.training.start import begin

COLUMNS = 12
LARGEST_TILE = 96
SMALLEST_TILE = 48  # CIFAR's 32 pixels are enlarged here once, smoothly, rather than by every browser


def write_probe(folder: RunFolder, images: Tensor, **about: Any) -> None:
    """Store the probe and its thumbnails.

    Args:
        images: uint8 ``[P, C, H, W]``.
        about: the other fields of :class:`trainers.runs.records.Probe`.
    """
    tile = max(SMALLEST_TILE, min(LARGEST_TILE, images.shape[-1]))
    folder.write_probe(Probe(tile=tile, columns=COLUMNS, **about), _sheets(images, tile))


def _sheets(images: Tensor, tile: int) -> Iterator[bytes]:
    """Yield encoded sheets of ``COLUMNS`` x ``COLUMNS`` tiles, row-major; the last may be partly empty."""
    for part in images.split(COLUMNS * COLUMNS):
        yield _encode(_grid(part, tile))


def _grid(images: Tensor, tile: int) -> Tensor:
    """Arrange images on a sheet, uint8 ``[3, rows * tile, COLUMNS * tile]``."""
    pixels = images.float()
    if pixels.shape[-1] != tile:
        pixels = F.interpolate(pixels, size=(tile, tile), mode="bicubic", antialias=True).clamp_(0, 255)
    pixels = pixels.round_().to(torch.uint8).expand(-1, 3, -1, -1)
    rows = -(-len(pixels) // COLUMNS)
    grid = torch.zeros(rows * COLUMNS, 3, tile, tile, dtype=torch.uint8)
    grid[: len(pixels)] = pixels
    return grid.reshape(rows, COLUMNS, 3, tile, tile).permute(2, 0, 3, 1, 4).reshape(3, rows * tile, COLUMNS * tile)


def _encode(grid: Tensor) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(grid.permute(1, 2, 0).numpy()).save(buffer, "WEBP", quality=82, method=4)
    return buffer.getvalue()


LABEL_NOISE, KEPT_OR_CHANGED = "label noise", ("kept", "changed")
"""The attribute that says whether a training image has a wrong label, and its values."""


def write_labelled_probe(folder: RunFolder, data: LoadedData, part: str, rows: Tensor) -> None:
    """Store images of a dataset as the probe of a run, with their labels as they were before label noise.

    Args:
        part: of the dataset, ``train`` or ``test``.
        rows: in it, int64 ``[P]``.
    """
    chosen: ImageSet = getattr(data, part)
    known = tuple(
        Attribute(name=name, names=names, values=chosen.attributes[name][rows].numpy())
        for name, names in data.attributes.items()
        if name in chosen.attributes
    )
    note = f"The maps show {PARTS[part]}; the numbers are of {PARTS['test']}."
    write_probe(
        folder,
        chosen.images[rows],
        labels=chosen.truth[rows].numpy(),
        rows=rows.numpy(),
        hierarchy=data.hierarchy,
        data_title=data.title,
        notes=data.notes if part == "test" else (*data.notes, note),
        attributes=(*known, *_noise(data, chosen, rows)),
        fingerprint=_fingerprint(data, part),
        part=part,
        files=tuple(chosen.names[row] for row in rows.tolist()) if chosen.names else (),
    )


def _noise(data: LoadedData, chosen: ImageSet, rows: Tensor) -> tuple[Attribute, ...]:
    """Return which images have a wrong label, and which; nothing where there is no label noise."""
    if chosen.true_labels is None:
        return ()
    given, true = chosen.labels[rows], chosen.truth[rows]
    changed = (given != true).any(dim=1).long()
    levels, names = data.hierarchy.levels, data.hierarchy.names
    return (
        Attribute(name=LABEL_NOISE, names=KEPT_OR_CHANGED, values=changed.numpy(), ringed=1),
        Attribute(name=f"given {levels[0]}", names=names[0], values=given[:, 0].numpy(), level=0),
    )


def _fingerprint(data: LoadedData, part: str) -> str:
    """Return a digest that is equal for two runs where the rows of a part are the same images."""
    if part == "test":
        return data.fingerprint
    return hashlib.blake2b(data.mark(part).encode(), digest_size=16).hexdigest()


class LabelledLoop(Loop):
    """Trains on the images of :attr:`trainers.config.EncoderConfig.data`; see :class:`trainers.training.loop.Loop`."""

    config: EncoderConfig
    _images: tuple[int, int]

    def _load(self, tell: Progress) -> LoadedData:
        """Read the images, and keep which ones they are for the checkpoints; what is to be said of them is logged."""
        choice = self.config.data
        data = load_data(pinned(self.folder, choice), tell)
        pin(self.folder, choice, data.revision)
        for note in data.notes:
            self.folder.log(f"data: {note}")
        _, channels, side, _ = data.train.images.shape
        self._images, self._trained_on = (channels, side), TrainedOn.of(data.train.labels)
        self._pixel_range = data.pixel_range
        return data

    def _first_encoder(self, dim: int) -> Encoder:
        """Build the encoder that every arm begins with: with the run's seed, and with the weights of the run or file
        that this one starts from, if any; see :func:`trainers.training.start.begin`.

        Args:
            dim: of the embeddings.

        Raises:
            UserError: there is no such run or file to start from, or it has another encoder.
            RunError: that run is damaged.
        """
        torch.manual_seed(self.config.seed)
        channels, side = self._images
        chosen = self.config.encoder
        if self.config.weights:  # a library's own are not fetched for nothing
            encoder = unloaded(chosen, channels=channels, side=side, dim=dim)
        else:
            encoder = ENCODERS[chosen.name].build(channels=channels, side=side, dim=dim, parameters=chosen.parameters)
        begin(encoder, self.folder, self.config)
        return encoder

    def _write_labelled_probe(
        self, data: LoadedData, rows: Tensor, floor: Callable[[], Mapping[str, float]], part: str = "test"
    ) -> Mapping[str, float] | None:
        """Write images of the dataset as the probe and what is known before training; nothing if both are there.

        Args:
            rows: of ``part``, int64 ``[P]``.
            floor: the numbers known before training, among them :data:`trainers.metrics.catalogue.counts.PROBE`.

        Returns:
            the numbers if the probe was written, else None.
        """
        there = self.folder.probe() is not None
        if there and self._is_written(counts.PROBE):
            return None
        known = floor()
        self._scalars.write_at_start(len(self.arms), known)  # first: where there is a probe there are these numbers
        if there:
            return None
        self.folder.log(f"probe: {len(rows)} {PARTS[part]}")
        write_labelled_probe(self.folder, data, part, rows)
        return known
