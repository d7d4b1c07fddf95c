"""The descriptor that puts a labelled dataset in the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from trainers.config import DataChoice
from trainers.data.base import LoadedData
from trainers.data.labelled.report import DataReport
from trainers.parameters import parse_choice, specs
from trainers.progress import Progress
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class SourceDescriptor(Descriptor):
    """A dataset in the catalogue; ``DataChoice.source`` says its name, and its parameters behind a colon.

    Attributes:
        licence: of the images.
        load: reads it; called with the choice and a progress function or None.
        peek: a few of its images without loading it, uint8 ``[n, C, S, S]``; called with the choice and how many. None:
            it has no such preview.
        inspect: reports on it without loading it; None: there is nothing to choose.
        pinned: the same choice of the folder or Hub dataset that is read; None: its images are drawn.
    """

    licence: str
    load: Callable[[DataChoice, Progress | None], LoadedData]
    peek: Callable[[DataChoice, int], Tensor] | None = None
    inspect: Callable[[DataChoice], DataReport] | None = None
    pinned: Callable[[DataChoice], DataChoice] | None = None

    def parameters_of(self, source: str) -> Any:
        """Return the checked parameters in a source such as ``drawn:bias=0.9``.

        Raises:
            ParameterError: they cannot be read, or one is unknown or out of range.
        """
        return self.checked(parse_choice("".join(source.split()))[1])

    def titled(self, source: str) -> str:
        """Return its title, with the parameters in ``source`` that differ from their defaults.

        Raises:
            ParameterError: as :meth:`parameters_of`.
        """
        values = self.parameters_of(source)
        changed = [
            f"{spec.label[:1].lower()}{spec.label[1:]} {getattr(values, spec.name)}"
            for spec in specs(self.parameters)
            if getattr(values, spec.name) != spec.default
        ]
        return ", ".join([self.title, *changed])
