"""The common part of kinds of run that train an encoder of the registry on labelled images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trainers.config import DataChoice, EncoderConfig
from trainers.errors import ParameterError
from trainers.kinds.base import Kind
from trainers.kinds.checks import check_data, check_start, check_weights_at_hand, rehearse_images, rehearse_weights
from trainers.registry import title_of

if TYPE_CHECKING:
    from trainers.data.base import LoadedData
    from trainers.metrics.measures import Measures
    from trainers.progress import Progress


def titled(choice: DataChoice) -> str:
    """Return the title of labelled images before they are read, with their hard conditions."""
    return ", ".join([source_title(choice.source), *choice.conditions.words()])


def source_title(source: str) -> str:
    """Return the title of a labelled dataset of the catalogue, or the last part of a path or id."""
    from trainers.data import named

    labelled = named(source)
    try:
        return source.rstrip("/").rsplit("/", 1)[-1] if labelled is None else labelled.titled(source)
    except ParameterError:  # of another version
        return source


E = TypeVar("E", bound=EncoderConfig)


class Labelled(Kind[E]):
    """A kind whose arms embed the images of ``config.data`` with ``config.encoder``.

    Attributes:
        projects: the encoder keeps its own head.
    """

    projects = False

    def images(self, config: E) -> DataChoice:
        """Return those of the run."""
        return config.data

    def measures_of(self, config: E) -> Measures:
        """Return those of the kind, and the metrics that were asked for."""
        return self.measures.asked(config.metrics)

    def check(self, config: E) -> None:
        """Check that the images may be opened here, what the run starts from, and how many metrics are asked for."""
        from trainers.metrics.names import check_number

        check_data(config.data)
        check_start(config, config.encoder, projects=self.projects)
        check_number(config.metrics)

    def rehearse(self, config: E, root: Path, progress: Progress) -> list[str]:
        """See that the encoder's weights can be had, read the images, and see that encoder and settings suit them."""
        from trainers.data.labelled.rows import UNREADABLE

        check_weights_at_hand(config, config.encoder)
        said, data = super().rehearse(config, root, progress), rehearse_images(config, root, progress)
        _, channels, side, _ = data.train.images.shape
        said += rehearse_weights(config, config.encoder, channels=channels, side=side)
        return [*said, *(note for note in data.notes if UNREADABLE in note), *self.rehearse_on(config, data)]

    def rehearse_on(self, config: E, data: LoadedData) -> list[str]:
        """Check settings against the images; see :meth:`rehearse`."""
        return []

    def source(self, config: E) -> str:
        """Return a dataset of the catalogue, a folder or a Hub id."""
        return config.data.source

    def data_title(self, config: E) -> str:
        """Return the catalogue's title, or the last part of a path or id; and hard conditions."""
        return titled(config.data)

    def begins_as(self, config: E) -> str:
        """Say whether the encoder is untrained then."""
        from trainers.encoders import ENCODERS

        known = config.encoder.name in ENCODERS and config.start is None and config.weights is None
        parameters = ENCODERS[config.encoder.name].checked(config.encoder.parameters) if known else None
        return (
            super().begins_as(config) if parameters is None or getattr(parameters, "pretrained", False) else "untrained"
        )

    def details(self, config: E) -> list[str]:
        """Name the encoder."""
        from trainers.encoders import ENCODERS

        return [title_of(ENCODERS, config.encoder.name)]
