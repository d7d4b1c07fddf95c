"""Kinds of run, one folder each; adding one is adding a folder whose package has a ``DESCRIPTOR``.

``RANKSCOPE_KINDS`` names further folders that hold such packages.
"""

import json
import os
import sys
from typing import Any

from trainers.config import VERSION, RunConfig
from trainers.errors import ParameterError
from trainers.kinds.base import Kind
from trainers.registry import load
from trainers.typed import build, check_types

__path__.extend(filter(None, os.environ.get("RANKSCOPE_KINDS", "").split(os.pathsep)))

KINDS = load(sys.modules[__name__])


def kind_of(config: RunConfig) -> Kind:
    """The kind of a run."""
    return KINDS[config.kind]


def read_config(text: str) -> RunConfig:
    """Read the text of :meth:`trainers.config.RunConfig.to_json`, of this version or an earlier one.

    Raises:
        ParameterError: it cannot be read.
    """
    try:
        values = json.loads(text)
        if values.get("version", 1) < VERSION:
            values = migrated(values)
        if values.pop("version") != VERSION:
            raise ValueError("it was written by a newer version")
        kind = values.pop("kind")
        if kind not in KINDS:
            raise ValueError(f"there is no kind of run {kind!r:.40}")
        config: RunConfig = build(KINDS[kind].config, values)
        check_types(config)
        return config
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(f"A run configuration was needed; this one cannot be read: {error}.") from error


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
