"""Checks of a run's settings before it is queued: what it starts from, and its images."""

from __future__ import annotations

from trainers.config import DataChoice


def check_start(written: str | None) -> None:
    """Refuse what cannot be a run to start from; whether there is one is seen when the run begins.

    Raises:
        ParameterError: it is neither ``ID`` nor ``ID:ARM``.
    """
    from trainers.training.encoder_file import read_start

    if written is not None:
        read_start(written)


def check_source(source: str) -> None:
    """Refuse a source that may not be opened here, before the run is queued.

    Raises:
        DataError: it may not be opened.
        ParameterError: parameters of a dataset of the catalogue cannot be read.
    """
    from trainers.data import access, named
    from trainers.data.captioned import loader as captions
    from trainers.data.sources import resolve

    labelled = named(source)
    if labelled is not None:
        labelled.parameters_of(source)
    elif access.restricted() and captions.named(source) is None:
        resolve(source)


def check_data(choice: DataChoice) -> None:
    """Refuse labelled images that may not be opened here, and hard conditions that no images meet.

    Raises:
        UserError: as :func:`check_source` and :func:`trainers.data.conditions.check`.
    """
    from trainers.data import conditions

    check_source(choice.source)
    conditions.check(choice)
