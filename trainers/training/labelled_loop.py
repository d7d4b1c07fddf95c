"""The training loop of kinds of run that train an encoder of the registry on a dataset with labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from trainers.config import EncoderConfig
from trainers.data import load_data
from trainers.data.base import LoadedData
from trainers.encoders import ENCODERS, Encoder
from trainers.metrics import counts
from trainers.progress import Progress
from trainers.runs.records import PARTS
from trainers.training.encoder_file import begin
from trainers.training.labelled_probe import write_labelled_probe
from trainers.training.loop import Loop
from trainers.training.pinned import pin, pinned
from trainers.training.trained_on import TrainedOn


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
        """Build the encoder that every arm begins with: with the run's seed, and with the weights of the run that this
        one starts from, if any; see :func:`trainers.training.encoder_file.begin`.

        Args:
            dim: of the embeddings.

        Raises:
            UserError: there is no such run to start from, or it has another encoder.
            RunError: that run is damaged.
        """
        torch.manual_seed(self.config.seed)
        channels, side = self._images
        encoder: Encoder = ENCODERS[self.config.encoder.name].build(
            channels=channels, side=side, dim=dim, parameters=self.config.encoder.parameters
        )
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
