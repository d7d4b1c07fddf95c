"""An arm of a run, as it is listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainers.registry import NoParameters


@dataclass(frozen=True, kw_only=True)
class ArmView:
    """One arm as it is listed.

    Attributes:
        title: unique among the arms of its run.
        name: of the loss or recipe.
        label: the title of the loss or recipe itself.
        parameters: those that differ from their defaults.
        unset: what counts for a parameter that is None, where the run's settings say it.
        family: arms of the same one differ in parameters alone; empty: it is not known.
        schema: the dataclass of all its parameters, see :mod:`trainers.parameters`.
    """

    title: str
    name: str
    label: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    unset: Mapping[str, Any] = field(default_factory=dict)
    family: str = ""
    schema: type = NoParameters
