"""Kinds of run, one folder each; adding one is adding a folder whose package has a ``DESCRIPTOR``.

``RANKSCOPE_KINDS`` names further folders that hold such packages.
"""

import os
import sys
from typing import Any

from trainers.config import RunConfig
from trainers.kinds.base import Kind
from trainers.registry import load

__path__.extend(filter(None, os.environ.get("RANKSCOPE_KINDS", "").split(os.pathsep)))

KINDS = load(sys.modules[__name__])


def kind_of(config: RunConfig) -> Kind:
    """The kind of a run."""
    return KINDS[config.kind]


def migrated(values: dict[str, Any]) -> dict[str, Any]:
    """A configuration of an earlier version in today's form; the kind that recognises it says what it is.

    Raises:
        ValueError: no kind recognises it.
    """
    for kind in KINDS.values():
        config = kind.migrated(dict(values))
        if config is not None:
            return config
    raise ValueError("it belongs to no kind of run")
