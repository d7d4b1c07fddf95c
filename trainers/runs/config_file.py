"""Reads ``config.json``: the settings of a run or a plan of any kind."""

from __future__ import annotations

import json

from trainers.config import Config
from trainers.errors import ParameterError, VersionError
from trainers.parameters import Rule
from trainers.values import check_types

_DESCRIPTORS = tuple(Rule(help="", registry=path) for path in ("trainers.kinds:KINDS", "trainers.plans:PLANS"))
"""Kinds of run and plans by name, looked up when a configuration is read: they stand above this module."""


def read_config(text: str) -> Config:
    """Read the text of :meth:`Config.to_json`.

    Raises:
        VersionError: it is of another version.
        ParameterError: it cannot be read.
    """
    configs = {name: descriptor.config for entries in _DESCRIPTORS for name, descriptor in entries.entries().items()}
    try:
        values = json.loads(text)
        kind, version = values.pop("kind", ""), values.pop("version", 1)
        read = configs.get(kind, Config).version
        if version > read:
            raise VersionError("It was written by a newer version of this program; update it.")
        if version < read:
            raise VersionError(
                f"It was written by an earlier version of this program: its settings are of version {version}, and "
                f"version {read} is read here. Open it with that program, or train it again."
            )
        if kind not in configs:
            raise ValueError(f"there is no kind of run {kind!r:.40}")
        config: Config = configs[kind].read(values)
        check_types(config)
        return config
    except VersionError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(f"A run configuration was needed; this one cannot be read: {error}.") from error
