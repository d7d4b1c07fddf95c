"""Files of weights as dictionaries of tensors: safetensors, files of ``torch.save``, and indexes of several."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from trainers.checkpoints import harmless
from trainers.data import access
from trainers.errors import UserError, brief
from trainers.runs.atomic_files import read_tensors

INDEX = ".index.json"
"""What the name of an index ends in, which says in which file beside it each tensor is."""
_SHARD = re.compile(r"(?P<stem>.+)-\d+-of-\d+(?P<ending>\.[a-z]+)")
_DEPTH = 3  # of dictionaries in each other
_MOST = 100  # entries of a list that are looked at
_UNKNOWN = re.compile(r"GLOBAL ([\w.]+)|``([\w.]+)``.* must be imported")


def tensors_in(path: Path) -> dict[str, dict[str, Tensor]]:
    """Read every dictionary of tensors in a file, by the names that lead to it; of most files one, ``""``.

    Which form it has is decided by how it begins, whatever its name.

    Raises:
        UserError: it holds none, or cannot be read without running code.
    """
    try:
        found = dict(_dictionaries(_content(path), ()))
    except (OSError, SafetensorError) as error:
        raise UserError(f"The weights {path} cannot be read: {brief(error)}.") from error
    if not found:
        raise UserError(
            f"{path} holds no dictionary of tensors by name, dense and of real numbers, such as a state_dict."
        )
    return found


def parts(path: Path) -> list[Path]:
    """List the files that hold what a file of weights stands for: itself, and behind an index those that it names.

    Raises:
        UserError: the index cannot be used, or a file may not be opened here.
        OSError: it cannot be read.
    """
    if not _is_index(path):
        return [path]
    try:
        names = sorted(set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()))
        if not names or any(Path(name).name != name for name in names):
            raise ValueError("it names no files beside it")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no index of files of weights: {brief(error)}. Give a file of weights.") from error
    return [path, *(access.allowed_path(str(path.parent / name)) for name in names)]


def index_of(path: Path) -> Path | None:
    """Return the index beside a file that is one of several, such as ``model-00001-of-00002.safetensors``, or None."""
    found = _SHARD.fullmatch(path.name)
    index = path.with_name(f"{found['stem']}{found['ending']}{INDEX}") if found else None
    return index if index is not None and access.allowed(index) and index.is_file() else None


def _is_index(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(1) == b"{"


def _content(path: Path) -> Any:
    files = parts(path)
    if len(files) > 1:
        return {name: value for file in files[1:] for name, value in _content(file).items()}
    with path.open("rb") as file:
        head = file.read(9)
    if head[8:] == b"{":  # behind the length of the head
        return read_tensors(path)[0]
    try:
        with harmless.pass_over():
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # of pickle and torch many kinds
        raise UserError(_refusal(path, error)) from error


def _refusal(path: Path, error: Exception) -> str:
    if "TorchScript" in str(error):
        line, what = (
            f"torch.save(torch.jit.load('{path.name}').state_dict(), 'weights.pt')",
            "is a program of TorchScript",
        )
    else:
        classes = _unknown(path, error)
        what = (
            f"holds more than tensors ({', '.join(classes)})" if classes else "holds more than tensors, or is damaged"
        )
        line = (
            f"c = torch.load('{path.name}', weights_only=False); "
            "torch.save(c['state_dict'] if isinstance(c, dict) else c.state_dict(), 'weights.pt')"
        )
    return (
        f"{path} {what}, and nothing of a file is run here. Where it is from and trusted, save the encoder's "
        f"state_dict alone, under whatever key it is: {line}"
    )


def _unknown(path: Path, error: Exception) -> list[str]:
    """Return the classes and functions that a file asks for and that are not known to be harmless, a few of them."""
    try:
        with harmless.pass_over():
            names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
        names.sort(key=lambda name: (name.startswith("torch."), name))  # the person's own first
    except Exception:  # of the earlier form of torch.save, or damaged
        found = _UNKNOWN.search(str(error))
        names = [found[1] or found[2]] if found else []
    return [*names[:5], *(["and more"] if len(names) > 5 else [])]


def _dictionaries(content: object, above: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Tensor]]]:
    if isinstance(content, (list, tuple)):
        content = {str(number): inner for number, inner in enumerate(content[:_MOST]) if not isinstance(inner, Tensor)}
    if not isinstance(content, Mapping) or len(above) > _DEPTH:
        return
    tensors = {name: value for name, value in content.items() if isinstance(name, str) and _is_plain(value)}
    if tensors:
        yield ".".join(above), tensors
    for name, inner in content.items():
        if isinstance(name, str):
            yield from _dictionaries(inner, (*above, name))


def _is_plain(value: object) -> bool:
    """Return whether it is a dense tensor of real numbers, as encoders have; any other counts as not in the file."""
    if not isinstance(value, Tensor) or value.is_nested or value.layout != torch.strided:
        return False
    return not (value.is_meta or value.is_quantized or value.is_complex())
