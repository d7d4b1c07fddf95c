"""Images with a label tree: drawn worlds, folders and Hub datasets.

from trainers.data import SOURCES, inspect_data, load_data
data = load_data(DataChoice(source="uoft-cs/cifar100"))
"""

from torch import Tensor

from trainers.config import DataChoice
from trainers.data import conditions
from trainers.data.base import LoadedData
from trainers.data.labelled.datasets import SOURCES
from trainers.data.labelled.descriptor import SourceDescriptor
from trainers.data.labelled.loader import load_source
from trainers.data.labelled.report import DataReport, inspect_source, peek_source
from trainers.errors import DataError
from trainers.progress import Progress


def named(source: str) -> SourceDescriptor | None:
    """Return the dataset of the catalogue that a source names, with parameters (``drawn:bias=0.9``) or without."""
    return SOURCES.get(source.strip().partition(":")[0])


def load_data(choice: DataChoice, progress: Progress | None = None) -> LoadedData:
    """Load what ``choice.source`` names: a catalogue entry, else a folder or zip file, else a Hub dataset.

    Its hard conditions are made of the loaded images, whatever they were read from.

    Raises:
        DataError: with the reason and what to do.
    """
    conditions.check(choice)
    descriptor, plain = named(choice.source), conditions.without(choice)
    data = load_source(plain, progress) if descriptor is None else descriptor.load(plain, progress)
    return conditions.under(data, choice)


def inspect_data(choice: DataChoice) -> DataReport:
    """See what is in a dataset and what the loader would make of it, without decoding images or large downloads.

    Raises:
        DataError: the dataset cannot be opened.
    """
    descriptor = named(choice.source)
    if descriptor is None:
        return inspect_source(choice)
    if descriptor.inspect is None:
        own = choice.hierarchy == DataChoice().hierarchy
        return DataReport(
            title=descriptor.titled(choice.source),
            licence=descriptor.licence,
            splits={},
            proposal=choice,
            notes=() if own else ("Drawn images have superclasses of their own: hierarchy changes nothing.",),
        )
    return descriptor.inspect(choice)


def peek_data(choice: DataChoice, count: int) -> Tensor:
    """Read a few images as a run would, uint8 ``[n, C, S, S]`` with n at most ``count``, without loading the rest.

    Raises:
        DataError: the dataset cannot be opened, or none of its images can be decoded.
    """
    descriptor = named(choice.source)
    if descriptor is None:
        return peek_source(choice, count)
    if descriptor.peek is None:
        raise DataError(f"{descriptor.title} shows its images only once a run has read them.")
    return descriptor.peek(choice, count)


__all__ = ["SOURCES", "DataReport", "inspect_data", "load_data", "named", "peek_data"]
