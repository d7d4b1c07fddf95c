"""Images with a label tree: drawn worlds, folders and Hub datasets.

from trainers.data import SOURCES, inspect_data, load_data
data = load_data(DataChoice(source="uoft-cs/cifar100"))
"""

from dataclasses import replace

from torch import Tensor

from trainers.config import DataChoice
from trainers.data import conditions
from trainers.data.base import LoadedData
from trainers.data.labelled.datasets import SOURCES
from trainers.data.labelled.descriptor import SourceDescriptor
from trainers.data.labelled.loader import load_source
from trainers.data.labelled.report import DataReport, inspect_source, peek_source
from trainers.errors import DataError
from trainers.hierarchy import renamed
from trainers.progress import Progress


def named(source: str) -> SourceDescriptor | None:
    """Return the dataset of the catalogue that a source names, with parameters (``drawn:bias=0.9``) or without."""
    return SOURCES.get(source.strip().partition(":")[0])


def load_data(choice: DataChoice, progress: Progress | None = None) -> LoadedData:
    """Load what ``choice.source`` names: a catalogue entry, else a folder or zip file, else a Hub dataset.

    Its hard conditions, and the names that its levels are given, are made of the loaded images, whatever they were read
    from.

    Raises:
        DataError: with the reason and what to do.
    """
    conditions.check(choice)
    descriptor, plain = named(choice.source), replace(conditions.without(choice), level_names=None)
    data = load_source(plain, progress) if descriptor is None else descriptor.load(plain, progress)
    levels = renamed(data.hierarchy.levels, choice.level_names)
    return conditions.under(replace(data, hierarchy=replace(data.hierarchy, levels=levels)), choice)


def inspect_data(choice: DataChoice) -> DataReport:
    """See what is in a dataset and what the loader would make of it, without decoding images or large downloads.

    Raises:
        DataError: the dataset cannot be opened.
    """
    descriptor = named(choice.source)
    if descriptor is None:
        return _with_names(inspect_source(choice), choice)
    if descriptor.inspect is None:
        own = choice.hierarchy == DataChoice().hierarchy
        return DataReport(
            title=descriptor.titled(choice.source),
            licence=descriptor.licence,
            splits={},
            proposal=choice,
            notes=() if own else ("Drawn images have superclasses of their own: hierarchy changes nothing.",),
        )
    return _with_names(descriptor.inspect(choice), choice)


def _with_names(report: DataReport, choice: DataChoice) -> DataReport:
    """Give the levels of a report the names that are wanted; what is wrong with these is a problem of it."""
    try:
        return replace(report, read_as=report.levels, levels=renamed(report.levels, choice.level_names))
    except DataError as error:
        return replace(report, read_as=report.levels, proposal=None, problems=(str(error), *report.problems))


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
