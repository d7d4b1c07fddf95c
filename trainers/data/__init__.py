"""Images with a label tree: drawn worlds, folders and Hub sets.

from trainers.data import SOURCES, inspect_data, load_data
data = load_data(DataChoice(source="uoft-cs/cifar100"))
"""

import sys

from trainers.catalogue import load
from trainers.data.base import ImageSet, LoadedData, Progress, SourceDescriptor
from trainers.data.generic import load_source
from trainers.types import DataChoice

SOURCES = load(sys.modules[__name__])


def load_data(choice: DataChoice, progress: Progress | None = None) -> LoadedData:
    """Load what ``choice.source`` names: a catalogue entry, else a folder or zip file, else a Hub set.

    Raises:
        DataError: with the reason and what to do.
    """
    descriptor = SOURCES.get(choice.source)
    return load_source(choice, progress) if descriptor is None else descriptor.load(choice, progress)


__all__ = ["SOURCES", "ImageSet", "LoadedData", "Progress", "SourceDescriptor", "load_data"]
