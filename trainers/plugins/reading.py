"""Runs one file or package and finds the entries that it defines, each with the registry that it belongs to."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from trainers.errors import UserError, brief
from trainers.plugins.spelling import accept_both
from trainers.registry import Descriptor, descriptors

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FAMILIES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "trainers.losses.base:LossDescriptor": ("a loss", "trainers.losses"),
        "trainers.metrics.measure:Measure": ("a metric", "trainers.metrics.catalogue"),
        "trainers.encoders.base:EncoderDescriptor": ("an encoder", "trainers.encoders"),
        "trainers.data.labelled.descriptor:SourceDescriptor": ("a dataset", "trainers.data.labelled.datasets"),
        "trainers.samplers.base:SamplerDescriptor": ("a sampler", "trainers.samplers"),
        "trainers.training.augmentations.base:AugmentationDescriptor": (
            "an augmentation",
            "trainers.training.augmentations",
        ),
        "trainers.retrieval.galleries.base:GalleryDescriptor": ("a gallery", "trainers.retrieval.galleries"),
        "trainers.image_text.base:ModelDescriptor": ("an image-text model", "trainers.image_text.models"),
        "trainers.object_removal.fills.base:FillDescriptor": ("a fill", "trainers.object_removal.fills"),
        "trainers.object_removal.detectors.base:DetectorDescriptor": (
            "a detector",
            "trainers.object_removal.detectors",
        ),
        "trainers.untrained.ways.base:UntrainedDescriptor": ("a row without training", "trainers.untrained.ways"),
    }
)
"""What may be added: the class of its descriptor, what it is in words, and the package of its registry."""
_NAME = re.compile(r"[A-Za-z]\w{0,60}", re.ASCII)
MOST_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A file or package that was run.

    Attributes:
        title: what people call it: its path, or its name and version.
        path: of the file.
        digest: SHA-256 of the file, hexadecimal.
        entries: what it adds, each with the package of its registry.
    """

    title: str
    path: Path
    digest: str
    entries: tuple[tuple[str, Any], ...]

    def names(self, package: str) -> tuple[str, ...]:
        """Return the names that it adds to the registry of a package."""
        return tuple(entry.name for family, entry in self.entries if family == package)


def read_file(path: Path) -> Plugin:
    """Run a Python file; what is run is what the digest is of.

    Raises:
        UserError: it cannot be read or run, or adds nothing.
    """
    try:
        content = path.read_bytes() if path.stat().st_size <= MOST_BYTES else None
    except OSError as error:
        raise UserError(f"A Python file was needed; {path} cannot be read: {error.strerror}.") from error
    if path.suffix != ".py" or content is None:
        raise UserError(f"A Python file of at most {MOST_BYTES:,} bytes, named *.py, was needed; got {path}.")
    name = f"rankscope_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    accept_both()
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where the fields of dataclasses are looked up
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # last: a module beside it takes no other's place
    try:
        exec(compile(content, str(path), "exec"), module.__dict__)
        return _plugin(module, _shown(path), path, content)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _failed(error, path, _shown(path)) from error


def read_package(point: EntryPoint) -> Plugin:
    """Import what an entry point names: a module, or a descriptor in one.

    Raises:
        UserError: it cannot be imported, or adds nothing.
    """
    title = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    path = Path()
    accept_both()
    try:
        made = point.load()
        module = made if isinstance(made, ModuleType) else sys.modules[point.module]
        path = Path(inspect.getfile(module))
        return _plugin(made, f"{title} ({point.value})", path, path.read_bytes())
    except (Exception, SystemExit) as error:
        raise _failed(error, path, f"The package {title}") from error


def _plugin(made: Any, title: str, path: Path, content: bytes) -> Plugin:
    found = descriptors(made) if isinstance(made, ModuleType) else (made,)
    if not found:
        raise UserError(f"{title} defines no DESCRIPTOR, so it adds nothing. docs/extending.md has examples.")
    entries = tuple((_family(entry), entry) for entry in found)
    several = Counter((family, entry.name) for family, entry in entries)
    if twice := [name for (_, name), count in several.items() if count > 1]:
        raise UserError(f"Several of its entries are named {twice[0]!r}. Rename them.")
    return Plugin(title=title, path=path, digest=hashlib.sha256(content).hexdigest(), entries=entries)


def _family(entry: Any) -> str:
    """Return the package of the registry of an entry, after checking what pages and menus show of every entry.

    Raises:
        UserError: it is none that can be added.
    """
    names = (f"{kind.__module__}:{kind.__qualname__}" for kind in type(entry).__mro__)
    family = next((FAMILIES[name] for name in names if name in FAMILIES), None)
    if family is None:
        kinds = ", ".join(what for what, _ in FAMILIES.values())
        raise UserError(f"A descriptor of {kinds} was needed; got a {type(entry).__name__}.")
    if not (isinstance(entry.name, str) and _NAME.fullmatch(entry.name)):
        raise UserError(f"A name of letters, digits and _ was needed; got {entry.name!r:.60}.")
    if not all(isinstance(text, str) and text.strip() for text in (entry.title, entry.sentence)):
        raise UserError(f"{entry.name} needs a title and a sentence.")
    if isinstance(entry, Descriptor):
        entry.lacking()
    return family[1]


def _failed(error: BaseException, path: Path, title: str) -> UserError:
    """Return the error that says in which line of a file what went wrong."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        line: int | None = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)
    where = title if line is None else f"{title}, line {line}"
    what = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {brief(error)}"
    said = what if what.startswith(title) else f"{where}: {what}"
    return UserError(f"{said.rstrip('.')}. Nothing of it is used.")


def _shown(path: Path) -> str:
    """Write a path below the home folder with ``~``, as it may be kept in a folder that is given to others."""
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
