"""What may stand beside the tensors of a checkpoint, though ``weights_only=True`` alone refuses it.

Training programs keep their arguments, their best number and their paths in the same file. None of that is needed here,
so none of it is made: wherever a file names one of :data:`HARMLESS`, torch is given a stand-in of our own, which takes
what the file holds and forgets it, or becomes a plain dictionary or list. The class itself is neither imported nor
called, so the list lets nothing of a file run; it is short so that whatever else a file needs is named to the person
who brings it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import torch


class _Nothing:
    """Takes what a file has for an object, and keeps none of it."""

    def __new__(cls, *_: object) -> _Nothing:
        return super().__new__(cls)

    def __init__(self, *_: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


class _Entries:
    """Becomes an empty dictionary, which takes the entries of one of a class of its own."""

    def __new__(cls, *_: object) -> Any:
        return OrderedDict()


class _Items:
    """Becomes an empty list, which takes the items of one of a class of its own."""

    def __new__(cls, *_: object) -> Any:
        return []


_FORGOTTEN = {
    "argparse": "Namespace",
    "types": "SimpleNamespace",
    "builtins": "bool dict float frozenset int list object range slice str tuple",
    "datetime": "date datetime timedelta timezone",
    "enum": "Enum",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
    "pathlib._local": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",  # Python 3.13
    "numpy": "dtype ndarray",
    "numpy.core.multiarray": "_reconstruct scalar",
    "numpy._core.multiarray": "_reconstruct scalar",
    "torch.torch_version": "TorchVersion",
    "typing": "Any",
    "omegaconf.base": "ContainerMetadata Metadata",
    "omegaconf.dictconfig": "DictConfig",
    "omegaconf.listconfig": "ListConfig",
    "omegaconf.nodes": "AnyNode BooleanNode FloatNode IntegerNode PathNode StringNode",
    "mmengine.logging.history_buffer": "HistoryBuffer",
}
_KEPT = {
    "collections": "defaultdict",
    "addict.addict": "Dict",
    "easydict": "EasyDict",
    "lightning.fabric.utilities.data": "AttributeDict",
    "lightning_fabric.utilities.data": "AttributeDict",
    "pytorch_lightning.utilities.parsing": "AttributeDict",
    "mmcv.utils.config": "ConfigDict",
    "mmengine.config.config": "ConfigDict",
    "yacs.config": "CfgNode",
}
HARMLESS: dict[str, type] = {
    f"{module}.{name}": stand_in
    for stand_in, classes in ((_Nothing, _FORGOTTEN), (_Entries, _KEPT), (_Items, {"collections": "deque"}))
    for module, names in classes.items()
    for name in names.split()
}
"""Classes, and numpy's makers of numbers and arrays, by the names that files give them, with what stands in."""
_lock = Lock()  # torch keeps one list for the process


@contextmanager
def pass_over() -> Iterator[None]:
    """Let ``torch.load(weights_only=True)`` pass over :data:`HARMLESS` meanwhile."""
    with _lock, torch.serialization.safe_globals([(stand_in, name) for name, stand_in in HARMLESS.items()]):
        yield
