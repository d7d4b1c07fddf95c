"""Kinds of run, one folder each; adding one is adding a folder whose package has a ``DESCRIPTOR``.

``RANKSCOPE_KINDS`` names further folders that hold such packages, separated as in ``PATH``.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from trainers.config import C, Config
from trainers.kinds.base import Kind
from trainers.parameters import imported
from trainers.registry import load

if TYPE_CHECKING:
    from trainers.runs.reader import RunReader

OWN = load(sys.modules[__name__])
"""The kinds that come with the program."""
__path__.extend(filter(None, os.environ.get("RANKSCOPE_KINDS", "").split(os.pathsep)))
KINDS = load(sys.modules[__name__])


def kind_of(config: C) -> Kind[C]:
    """Return the descriptor of a configuration: its kind of run, or its plan."""
    kind: Kind[C] = imported(config.described)[config.kind]
    return kind


def arm_titles(config: Config) -> list[str]:
    """Return one title per arm, all different."""
    return [arm.title for arm in kind_of(config).arms(config)]


def diagnoses(config: Config, folder: RunReader) -> list[list[str]]:
    """Return for every arm of a run the sentences on what its newest numbers say of its training."""
    kind = kind_of(config)
    keys = kind.measures_of(config).diagnosed
    return kind.diagnoses(config, folder.newest(*keys) if keys else {})


def check(config: Config) -> None:
    """Check names, ranges, budget, number of arms, then what the kind requires, before anything is loaded.

    Raises:
        ParameterError: the first thing that is wrong, with what is accepted and what it got.
        DataError: a source that may not be opened here.
    """
    config.check_whole()
    kind = kind_of(config)
    kind.check_shared(config)
    kind.check(config)
