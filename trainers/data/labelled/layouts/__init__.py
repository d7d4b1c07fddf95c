"""Benchmarks in the folders and lists in which their authors hand them out, one file each."""

import sys
from collections.abc import Sequence

from trainers.data.labelled.files import File, FileSource
from trainers.data.labelled.layouts.base import Handed, Layout, Reading
from trainers.registry import load

LAYOUTS = load(sys.modules[__name__])

__all__ = ["LAYOUTS", "Layout", "Reading", "read_as_handed_out"]


def read_as_handed_out(source: FileSource, files: Sequence[File]) -> tuple[Layout, Reading] | None:
    """Read a benchmark that lies as its authors hand it out; None: it is none that is known.

    Raises:
        DataError: its lists cannot be read.
    """
    handed = Handed(source, files)
    for layout in LAYOUTS.values():
        reading = layout.read(handed)
        if reading is not None and reading.entries:
            return layout, reading
    return None
