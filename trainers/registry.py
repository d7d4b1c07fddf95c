"""One descriptor per file, found by one small loader.

A family (losses, encoders, image-text models, fills, samplers, tabs) is a package; every public module in it that
defines ``DESCRIPTOR`` (or ``DESCRIPTORS``, a tuple, for presets and variants) adds entries under ``descriptor.name``.
Adding a file adds an entry. Files outside the program add theirs by :func:`add`, see :mod:`trainers.plugins`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Any

from trainers.parameters import make

_IMPORTING = threading.RLock()
if hasattr(os, "register_at_fork"):  # a thread that holds it is not there in a forked process
    os.register_at_fork(after_in_child=lambda: globals().update(_IMPORTING=threading.RLock()))


@dataclass(frozen=True, kw_only=True)
class NoParameters:
    """For entries without parameters."""


def available(_parameters: Any) -> str | None:
    """Return None: entries that need nothing beyond the program lack nothing."""
    return None


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """The facts that every entry of a registry states.

    Attributes:
        name: key in the registry, as written in settings.
        title: as printed.
        sentence: what it is, one plain sentence.
        parameters: frozen dataclass of its parameters, see :mod:`trainers.parameters`.
        missing: called with checked parameters; None if the entry can be used now, else a sentence with what to
            install or point to. Cheap: it loads nothing.
        order: place in lists, smaller first.
        listed: menus of the page offer it; False: settings and the command line alone.
    """

    name: str
    title: str
    sentence: str
    parameters: type = NoParameters
    missing: Callable[[Any], str | None] = available
    order: int = 100
    listed: bool = True

    def checked(self, values: Mapping[str, Any]) -> Any:
        """Check parameters; those not given take their defaults.

        Raises:
            ParameterError: one is unknown, of the wrong type or out of range.
        """
        return make(self.parameters, values, self.title)

    def lacking(self, values: Mapping[str, Any] = MappingProxyType({})) -> str | None:
        """Ask :attr:`missing` with parameters by name.

        Raises:
            ParameterError: one is wrong.
        """
        return self.missing(self.checked(values))

    def json(self) -> dict[str, Any]:
        """Return its name, title and sentence, and what is missing, as plain values."""
        return {"name": self.name, "title": self.title, "sentence": self.sentence, "missing": self.lacking()}


_LIVE: dict[str, dict[str, Any]] = {}
_DERIVED: dict[str, list[Callable[[], object]]] = {}


def load(package: ModuleType) -> Mapping[str, Any]:
    """Import every public module of ``package`` and collect its descriptors by name, in ``order`` then by name.

    The returned registry also shows what :func:`add` adds to it.

    Raises:
        ValueError: two modules define the same name.
    """
    entries: dict[str, Any] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        for descriptor in descriptors(importlib.import_module(f"{package.__name__}.{info.name}")):
            if descriptor.name in entries:
                raise ValueError(f"{package.__name__}: two descriptors are named {descriptor.name!r}; rename one")
            entries[descriptor.name] = descriptor
    live = _LIVE[package.__name__] = dict(in_order(entries))
    return MappingProxyType(live)


def loaded(package: str) -> Mapping[str, Any]:
    """Return the registry of a package by its name, which is imported if it was not."""
    importlib.import_module(package)
    return MappingProxyType(_LIVE[package])


def add(package: str, descriptor: Any) -> None:
    """Add an entry to the registry of a package, everywhere it is seen; one of the same name is replaced."""
    ordered = in_order({**loaded(package), descriptor.name: descriptor})
    _LIVE[package].clear()
    _LIVE[package].update(ordered)
    for made in _DERIVED.get(package, ()):
        made()


def derived(package: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Decorate what makes something of the registry of a package: it is called now, and again after every addition."""

    def register(made: Callable[[], object]) -> Callable[[], object]:
        _DERIVED.setdefault(package, []).append(made)
        made()
        return made

    return register


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import large libraries one at a time, with the garbage collector held back.

    Libraries that import parts of each other in different orders, as open_clip, timm and torchvision do, end in a
    deadlock when two threads begin with them at the same time. What imports make stays, but the collector would go
    through it again and again, which is a quarter of the time that torch and Gradio take.
    """
    with _IMPORTING:
        modules, enabled = len(sys.modules), gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if len(sys.modules) > modules:
                gc.freeze()
                atexit.register(gc.unfreeze)  # libraries count what is left at the end
            if enabled:
                gc.enable()


def descriptors(module: ModuleType) -> tuple[Any, ...]:
    """Return the entries that a module adds to its registry: its ``DESCRIPTORS`` and its ``DESCRIPTOR``."""
    single = getattr(module, "DESCRIPTOR", None)
    return (*getattr(module, "DESCRIPTORS", ()), *(() if single is None else (single,)))


def title_of(entries: Mapping[str, Any], name: str) -> str:
    """Return the title of an entry, or the bare name of one that this program does not know."""
    return str(entries[name].title) if name in entries else name


def in_order(entries: Mapping[str, Any]) -> Mapping[str, Any]:
    """Order entries by ``order``, then by name."""
    ordered = sorted(entries.values(), key=lambda entry: (getattr(entry, "order", 100), entry.name))
    return MappingProxyType({entry.name: entry for entry in ordered})
