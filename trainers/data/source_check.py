"""The check of a source before a run of it is queued: nothing of it is opened."""

from __future__ import annotations

from trainers.data import named
from trainers.data.captioned.loader import named as named_with_captions
from trainers.data.sources import resolve


def check_source(source: str) -> None:
    """Refuse a source that may not be opened here.

    Raises:
        DataError: it may not be opened.
        ParameterError: parameters of a dataset of the catalogue cannot be read.
    """
    labelled = named(source)
    if labelled is not None:
        labelled.parameters_of(source)
    elif named_with_captions(source) is None:
        resolve(source)
