"""One descriptor per file, found by one small loader.

A family (losses, encoders, data sources, samplers, tabs) is a package; every module in it that defines
``DESCRIPTOR`` (or ``DESCRIPTORS``, a tuple, for presets and variants) adds entries under ``descriptor.name``.
Adding a thing is adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any


def load(package: ModuleType) -> Mapping[str, Any]:
    """Import every public module of ``package`` and collect its descriptors by name, in ``order`` then by name.

    Raises:
        ValueError: two modules define the same name.
    """
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        entries = getattr(module, "DESCRIPTORS", ())
        single = getattr(module, "DESCRIPTOR", None)
        for descriptor in (*entries, *((single,) if single is not None else ())):
            if descriptor.name in found:
                raise ValueError(f"{package.__name__}: two descriptors are named {descriptor.name!r}; rename one")
            found[descriptor.name] = descriptor
    ordered = sorted(found.values(), key=lambda d: (getattr(d, "order", 100), d.name))
    return MappingProxyType({d.name: d for d in ordered})
