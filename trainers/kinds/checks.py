"""Checks of a run's settings before it is queued: what it starts from, its images, and what changes nothing."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from trainers.config import C, DataChoice, EncoderConfig, RunConfig, StartConfig
from trainers.errors import ParameterError, UserError
from trainers.optimization import DROPS
from trainers.parameters import Choice
from trainers.registry import title_of

if TYPE_CHECKING:
    from trainers.data.base import LoadedData
    from trainers.progress import Progress


def unused(config: RunConfig) -> list[str]:
    """List sentences on settings that somebody changed and that change nothing.

    Args:
        config: checked.
    """
    sentences = []
    if tuple(config.drops) != DROPS and (config.schedule != "step" or config.halve_every is not None):
        other = "halve_every takes its place" if config.halve_every is not None else f"it is {config.schedule}"
        sentences.append(f"Only the schedule step has drops, and {other}: drops change nothing.")
    data = getattr(config, "data", None)
    if isinstance(data, DataChoice) and data.revision is not None and not _has_revisions(data.source):
        sentences.append(f"Only datasets of the Hub have revisions: {data.revision!r} changes nothing.")
    if isinstance(data, DataChoice) and data.hierarchy != DataChoice().hierarchy and _drawn(data.source):
        sentences.append("Drawn images have superclasses of their own: hierarchy changes nothing.")
    return sentences


def _drawn(source: str) -> bool:
    from trainers.data import named

    entry = named(source)
    return entry is not None and entry.inspect is None


def _has_revisions(source: str) -> bool:
    """Return whether a source comes from the Hub, or may: what cannot be found is told of elsewhere."""
    from trainers.data import named
    from trainers.data.sources import resolve

    entry = named(source)
    if entry is not None:
        if entry.pinned is None:
            return False  # its images are drawn here
        source = entry.pinned(DataChoice(source=source)).source
    with contextlib.suppress(UserError):
        return isinstance(resolve(source), str)
    return True


def check_start(config: StartConfig, encoder: Choice, *, projects: bool = False) -> None:
    """Refuse what cannot be a run to start from, and settings of the encoder's training that do not suit it; whether
    there is such a run is seen when the run begins.

    Args:
        projects: the head is the encoder's own.

    Raises:
        ParameterError: ``start`` is neither ``ID`` nor ``ID:ARM``, batch normalisation is to be frozen that has no
            statistics yet, or the encoder is not trained.
    """
    from trainers.encoders import ENCODERS
    from trainers.training.start import read_start
    from trainers.training.weights_file import WeightsFile

    if config.start is not None:
        read_start(config.start)
    if config.weights is not None:
        WeightsFile.of(config.weights)
    if config.start is not None and config.weights is not None:
        raise ParameterError("An encoder starts from a run or from a file of weights; got both. Leave one out.")
    descriptor = ENCODERS[encoder.name]
    if not projects and getattr(descriptor.checked(encoder.parameters), "projection", "random") != "random":
        raise ParameterError(
            "These runs replace the encoder's head, so there is no projection to begin with principal components. "
            "Leave projection at random."
        )
    if descriptor.frozen and (config.frozen_norm or config.backbone_rate != 1):
        raise ParameterError(
            f"{descriptor.title} trains its head alone, so its backbone has no rate and no batch normalisation to "
            f"freeze; got frozen_norm {str(config.frozen_norm).lower()} and backbone_rate {config.backbone_rate:g}. "
            "Leave both as they are, or choose an encoder that is trained whole."
        )
    if config.frozen_norm and not (config.start or config.weights or descriptor.pretrained(encoder.parameters)):
        raise ParameterError(
            "Frozen batch norm keeps the statistics that an encoder has learnt, and one that starts from random "
            f"weights, as {descriptor.title} does here, has none. Give a run or a file to start from, choose a timm "
            "model with published weights, or leave batch normalisation as it is."
        )


def check_weights_at_hand(config: StartConfig, encoder: Choice) -> None:
    """Refuse an encoder whose published weights are neither here nor within reach, unless it starts from others.

    Raises:
        ParameterError: with what brings them.
    """
    from trainers.encoders import ENCODERS

    begins = config.start or config.weights
    if not begins and (lacking := ENCODERS[encoder.name].lacking(encoder.parameters)) is not None:
        raise ParameterError(f"{_named(encoder)}: {lacking}")


def check_batch(config: RunConfig, batch: int, encoder: Choice | None) -> None:
    """Refuse chunks that a batch does not make, processes that do not divide it, and activation checkpointing of what
    has none.

    Args:
        batch: its images.
        encoder: that is trained; None: a network that is none of the encoders.

    Raises:
        ParameterError: a chunk is a single image, or more than the batch; processes cannot share it; or the encoder
            keeps all activations.
    """
    if batch % config.processes:
        raise ParameterError(
            f"The images of a batch are shared by the processes, which must divide them; got {batch:,} images and "
            f"{config.processes} processes."
        )
    if config.checkpointing and not (encoder and _keeps_fewer(encoder)):
        raise ParameterError(
            "Activation checkpointing needs an encoder that can compute its activations again, as most timm models "
            f"can; got {_named(encoder)}. Leave it off, and see whether chunks will do, or choose such an encoder."
        )
    if config.chunk == 1:
        raise ParameterError("A chunk needs two images or more, for batch statistics; got 1. Leave it out for none.")
    if config.chunk and config.chunk > batch:
        raise ParameterError(
            f"A chunk is a part of a batch, and a batch has {batch:,} images; got chunks of {config.chunk:,}. Choose "
            f"at most {batch:,}, or leave it out: then the whole batch is encoded at once."
        )


def _named(encoder: Choice | None) -> str:
    from trainers.encoders import ENCODERS

    if encoder is None:
        return "a model whose image tower is none of the encoders"
    return " ".join(filter(None, (title_of(ENCODERS, encoder.name), str(encoder.parameters.get("model", "")))))


def _keeps_fewer(encoder: Choice) -> bool:
    from trainers.training.footprint import without_values

    return without_values(encoder, channels=3, side=32, dim=2).keep_fewer_activations()


def check_data(choice: DataChoice) -> None:
    """Refuse labelled images that may not be opened here, and hard conditions that no images meet.

    Raises:
        UserError: as :func:`check_source` and :func:`trainers.data.conditions.check`.
    """
    from trainers.data import conditions
    from trainers.data.source_check import check_source

    check_source(choice.source)
    conditions.check(choice)


def pinned(config: C) -> C:
    """Return a configuration that names no file of superclasses, but holds its content, and that holds the digest of a
    file of weights: files may change.

    Raises:
        DataError: the file of superclasses cannot be read.
        UserError: the file of weights cannot, or has another digest already.
    """
    from trainers.data.labelled.hierarchies import HIERARCHIES
    from trainers.training.weights_file import WeightsFile

    if written := getattr(config.single, "weights", None):
        config = config.changed(weights=str(WeightsFile.of(written).noted()))
    choice = getattr(config.single, "data", None)
    if not isinstance(choice, DataChoice):
        return config
    source = HIERARCHIES[choice.hierarchy.name]
    if not choice.hierarchy.parameters:
        return config
    content = source.pinned(source.checked(choice.hierarchy.parameters))
    hierarchy = Choice(name=choice.hierarchy.name, parameters=dataclasses.asdict(content))
    return config.changed(data=dataclasses.replace(choice, hierarchy=hierarchy))


def rehearse_images(config: EncoderConfig, root: Path, progress: Progress) -> LoadedData:
    """Read the images of a run that is not made yet, and see that its encoder takes them.

    Args:
        root: where the run that this one starts from lies, if any.

    Raises:
        UserError: the images cannot be read, the encoder cannot be made, or the run to start from is not there or has
            another encoder.
    """
    from trainers.data import load_data
    from trainers.training.encoder_file import without_head
    from trainers.training.footprint import without_values
    from trainers.training.start import weights_to_start_from

    data = load_data(config.data, progress)
    _, channels, side, _ = data.train.images.shape
    encoder = without_values(config.encoder, channels=channels, side=side, dim=2)
    if config.start:
        weights_to_start_from(without_head(encoder.state_dict(), type(encoder)), root, config.start, config.seed)
    return data


def rehearse_weights(config: StartConfig, encoder: Choice, *, channels: int, side: int) -> list[str]:
    """Say in sentences what an encoder takes of the file that a run starts from; none where it starts from none.

    Raises:
        UserError: the file cannot be read, has changed or is not of this encoder.
    """
    from trainers.training.footprint import without_values
    from trainers.training.weights_file import WeightsFile, match

    if config.weights is None:
        return []
    network = without_values(encoder, channels=channels, side=side, dim=2)
    found = match(network, WeightsFile.of(config.weights).noted())
    return [f"Weights: {line}." for line in (found.summary, *found.lines())]
