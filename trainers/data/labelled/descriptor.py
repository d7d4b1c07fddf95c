"""The descriptor that puts a labelled dataset in the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from trainers.config import DataChoice
from trainers.data.base import LoadedData, Progress
from trainers.data.labelled.report import DataReport
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class SourceDescriptor(Descriptor):
    """A dataset in the catalogue; ``DataChoice.source`` says its name.

    Attributes:
        licence: of the images.
        load: reads it; called with the choice and a progress function or None.
        peek: a few of its images without loading it, uint8 ``[n, C, S, S]``; called with the choice and how many. None:
            it has no such preview.
        inspect: reports on it without loading it; None: there is nothing to choose.
    """

    licence: str
    load: Callable[[DataChoice, Progress | None], LoadedData]
    peek: Callable[[DataChoice, int], Tensor] | None = None
    inspect: Callable[[DataChoice], DataReport] | None = None
