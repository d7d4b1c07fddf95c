"""Reads ``config.json``: the settings of a run or a plan of any kind, of this version or an earlier one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from trainers.config import VERSION, Config
from trainers.errors import NewerVersionError, ParameterError
from trainers.parameters import Rule
from trainers.values import check_types

_DESCRIPTORS = tuple(Rule(help="", registry=path) for path in ("trainers.kinds:KINDS", "trainers.plans:PLANS"))
"""Kinds of run and plans by name, looked up when a configuration is read: they stand above this module."""


def read_config(text: str) -> Config:
    """Read the text of :meth:`Config.to_json`, of this version or an earlier one.

    Raises:
        ParameterError: it cannot be read.
    """
    configs = {name: descriptor.config for entries in _DESCRIPTORS for name, descriptor in entries.entries().items()}
    try:
        values = json.loads(text)
        if values.get("version", 1) < VERSION:
            values = _migrated(values, configs.values())
        kind, version = values.pop("kind"), values.pop("version")
        if version > configs.get(kind, Config).version:
            raise NewerVersionError("It was written by a newer version of this program; update it.")
        if kind not in configs:
            raise ValueError(f"there is no kind of run {kind!r:.40}")
        config: Config = configs[kind].read(values)
        check_types(config)
        return config
    except NewerVersionError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(f"A run configuration was needed; this one cannot be read: {error}.") from error


def _migrated(values: dict[str, Any], configs: Iterable[type[Config]]) -> dict[str, Any]:
    for config in configs:
        migrated = config.migrated(dict(values))
        if migrated is not None:
            return migrated
    raise ValueError("it belongs to no kind of run")
