"""Benchmarks in the folders and lists in which their authors hand them out, one file each."""

import sys
from collections.abc import Sequence

from trainers.data.labelled.files import File, FileSource
from trainers.data.labelled.layouts.base import BenchmarkLayout, Handed, Reading
from trainers.errors import DataError
from trainers.registry import load

LAYOUTS = load(sys.modules[__name__])

__all__ = ["LAYOUTS", "BenchmarkLayout", "Reading", "read_as_handed_out"]


def read_as_handed_out(source: FileSource, files: Sequence[File]) -> tuple[BenchmarkLayout, Reading] | None:
    """Read a benchmark that lies as its authors hand it out; None: it is none that is known.

    Raises:
        DataError: its lists cannot be read.
    """
    handed = Handed(source, files)
    for layout in LAYOUTS.values():
        try:
            reading = layout.read(handed)
        except DataError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:  # lists of other shapes
            raise DataError(
                f"The lists of {layout.title} are not as they are handed out ({type(error).__name__}: {error!s:.120}). "
                "Fetch them again, or rename them to have the images read by their folders."
            ) from error
        if reading is not None and reading.entries:
            return layout, reading
    return None
