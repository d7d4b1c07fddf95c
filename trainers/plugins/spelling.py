"""Lets files outside the program import it by either name, ``trainers`` or ``rankscope.trainers``, as one module.

A checkout has the first name, an installed program the second; a file written for one works with the other.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

OWN = __name__.removesuffix(".plugins.spelling")
OTHER = "trainers" if "." in OWN else f"rankscope.{OWN}"


class _Alias(MetaPathFinder, Loader):
    """Finds the module of the program behind its other name, unless that is somebody else's package."""

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """See :class:`MetaPathFinder`."""
        ours = sys.modules.get(OTHER) is sys.modules[OWN]
        if name == OTHER and ("." in OTHER or PathFinder.find_spec(OTHER) is None):
            return importlib.util.spec_from_loader(name, self)
        return importlib.util.spec_from_loader(name, self) if ours and name.startswith(f"{OTHER}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself."""
        module = importlib.import_module(OWN + spec.name.removeprefix(OTHER))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back what the import system has changed."""
        alias = module.__spec__
        assert alias is not None
        module.__spec__ = alias.loader_state


@functools.cache
def accept_both() -> None:
    """Accept the other name from now on."""
    if "." not in OWN:
        whole = importlib.import_module("rankscope")
        whole.__path__ = []  # a module in which modules are looked for
    sys.meta_path.insert(0, _Alias())  # first: others would find a second module in the folder of the first
