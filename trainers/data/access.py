"""The files of this machine that may be opened, and whether the Hub is asked with this machine's token.

On one's own machine everything opens. Where strangers say what is read nothing does, unless ``RANKSCOPE_FOLDERS`` names
folders; then only what lies below them, links followed. This holds for the process and its children, not for a run: a
run that was set up elsewhere opens no more than the others.

    RANKSCOPE_PUBLIC        ``on``: strangers choose what is read; a Space always counts as that
    RANKSCOPE_FOLDERS       ``on``, ``off``, or the folders that may be opened; ``on`` means nothing in public
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainers.devices.space import OFF, PUBLIC, public
from trainers.errors import DataError

FOLDERS = "RANKSCOPE_FOLDERS"
NO_TOKEN = "HF_HUB_DISABLE_IMPLICIT_TOKEN"
PROXIES = "FORWARDED_ALLOW_IPS"
ACCESS = (PUBLIC, FOLDERS, NO_TOKEN)
"""Variables that say what strangers may read; a trainer has those of whoever starts it, on other machines too."""
REFUSAL = (
    "Files and folders of this machine cannot be opened here, except below those that RANKSCOPE_FOLDERS lists. Give a "
    "name of the list or a Hub id such as uoft-cs/cifar100."
)
"""Said of every path that may not be opened, whether it exists or not."""
LINKED = "This folder holds links that lead out of the folders that may be opened here. Copy the files in their place."
_ON = {"", "on", "1", "yes", "true"}


def serve_strangers() -> Callable[[], None]:
    """Let this process and those that it starts read only what strangers may read, from now on.

    Nor do they use the machine's own Hub token: neither our calls nor those of any library that asks the Hub.

    Returns:
        a function that takes it back.
    """
    # the server would believe a header about who asks; only the machine's owner may name proxies that set it
    wanted = {PUBLIC: "1", NO_TOKEN: "1", PROXIES: os.environ.get(PROXIES, "")}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    _hold_token(True)

    def undo() -> None:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _hold_token(before[NO_TOKEN] is not None)

    return undo


def token() -> bool | None:
    """Return the token for the Hub's clients: False, none, where strangers choose; else None, the machine's own."""
    return False if public() else None


def restricted() -> bool:
    """Return whether some paths may not be opened."""
    return _roots() is not None


def opens_folders() -> bool:
    """Return whether any folder of this machine may be opened."""
    return _roots() != []


def allowed(path: Path) -> bool:
    """Return whether this folder or file may be opened. Links are followed; nothing outside the roots is looked at."""
    roots = _roots()
    if roots is None:
        return True
    try:
        plain = _plain(path)
        return any(_below(plain, root) for root in roots) and any(_below(plain.resolve(), root) for root in roots)
    except (OSError, RuntimeError, ValueError):  # a loop of links, a zero byte
        return False


def allowed_path(text: str) -> Path:
    """Return the path that a text names, ``~`` understood.

    Raises:
        DataError: it may not be opened; always :data:`REFUSAL`.
    """
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # ~ and the name of nobody
        path = Path(text)
    if not allowed(path):
        raise DataError(REFUSAL)
    return path


def check_links(folder: Path) -> None:
    """Refuse a folder with links that lead out of what may be opened; where everything may be, none does.

    Raises:
        DataError: always :data:`LINKED`.
    """
    if not restricted():
        return
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_symlink() and not allowed(Path(entry.path)):
                    raise DataError(LINKED)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(Path(entry.path))


def _roots() -> list[Path] | None:
    """Return the folders that may be opened, links followed, and as they were given; None: all of them."""
    value = os.environ.get(FOLDERS, "").strip()
    if value.lower() in _ON:
        return [] if public() else None
    if value.lower() in OFF:
        return []
    given = [_plain(Path(root).expanduser()) for root in value.split(os.pathsep) if root.strip()]
    return [*given, *(root.resolve() for root in given)]


def _plain(path: Path) -> Path:
    """Make a path absolute and without ``..``; unlike ``resolve`` this asks no disk."""
    return Path(os.path.normpath(Path.cwd() / path))


def _below(path: Path, root: Path) -> bool:
    return path == root or root in path.parents


def _hold_token(hold: bool) -> None:
    """Set the library's own switch, which it reads when it is imported; by now it may have been."""
    constants: Any = sys.modules.get("huggingface_hub.constants")
    if constants is not None:
        constants.HF_HUB_DISABLE_IMPLICIT_TOKEN = hold
