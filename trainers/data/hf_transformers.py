"""Load models of the optional transformers library from a folder or the Hub, without remote code."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from trainers.data import access
from trainers.data.hub_requests import offline, online, quiet
from trainers.errors import DataError, UserError, brief

INSTALL = "pip install transformers"
REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_Loaded = TypeVar("_Loaded")


def missing(where: str) -> str | None:
    """Say why a model cannot be had now, or None; neither the network nor weights are touched.

    Args:
        where: a folder, or ``organisation/repository`` of the Hub.
    """
    if find_spec("transformers") is None:
        return f"This model needs the transformers library: {INSTALL}"
    if not where.strip():
        return "A folder or a repository as organisation/name is needed; got nothing."
    if is_folder(where):
        return _folder(where)
    if REPOSITORY.fullmatch(where) is None:
        return f"A folder or a repository as organisation/name is needed; got {where!r}."
    from huggingface_hub import constants, try_to_load_from_cache

    if constants.HF_HUB_OFFLINE and not isinstance(try_to_load_from_cache(where, "config.json"), str):
        return (
            f"{where} is not on this machine and HF_HUB_OFFLINE forbids downloads. Unset it, or give the folder of "
            "a copy."
        )
    return None


def fetch(what: str, where: str, load: Callable[[str], _Loaded]) -> _Loaded:
    """Call ``load`` with a folder or repository; whatever the library raises becomes a message for the user.

    Args:
        what: the model, for the message.
        where: a folder, or ``organisation/repository`` of the Hub.
        load: called once, with the library's log silenced, and offline where there is no network.

    Raises:
        UserError: the library is not installed, the folder may not be opened or holds something else.
    """
    reason = missing(where)
    if reason is not None:
        raise UserError(reason)
    folder = access.allowed_path(where) if is_folder(where) else None
    with quiet(), nullcontext() if folder is not None or online() else offline():
        try:
            return load(where if folder is None else str(folder))
        except UserError:
            raise
        except Exception as error:  # the library's errors over a file it cannot use have no common class
            raise UserError(
                f"{what} could not be loaded from {where if folder is None else folder.name!r}. Check the files, or "
                f"the network. ({brief(error)})"
            ) from error


def load_network(kind: Any, where: str) -> Any:
    """Load a network with all its weights, float32 on the CPU; the library alone would initialise absent ones at
    random.

    Args:
        kind: a class of transformers with ``from_pretrained``.
        where: as the library takes it.

    Raises:
        UserError: weights are absent.
    """
    import torch

    net, report = kind.from_pretrained(
        where, dtype=torch.float32, trust_remote_code=False, weights_only=True, output_loading_info=True
    )
    absent = sorted(key for key in report["missing_keys"] if not key.endswith("num_batches_tracked"))  # only counters
    if absent:
        raise UserError(
            f"{Path(where).name} holds no weights for {absent[0]} and {len(absent) - 1} more: it is a model of another "
            f"class than {kind.__name__}. Give one of that class."
        )
    return net.eval()


def is_folder(where: str) -> bool:
    """Return whether a text means a folder, not a repository; folders that may not be opened are not looked for."""
    if where.startswith(("/", "\\", ".", "~")) or Path(where).is_absolute():
        return True
    return access.allowed(Path(where)) and Path(where).is_dir()


def _folder(where: str) -> str | None:
    try:
        folder = access.allowed_path(where)
        access.check_links(folder)
    except DataError as error:
        return str(error)
    except OSError:
        pass  # not there: said below
    if not (folder / "config.json").is_file():
        return f"The folder {folder.name!r} has no config.json. Point to a folder that transformers wrote."
    return None
