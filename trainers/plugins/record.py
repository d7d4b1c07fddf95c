"""What a run folder keeps of the plugins that the run needs: names, file and digest; never run, only compared."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trainers.plugins.reading import Plugin

MOST_BYTES = 2**16
_DIGEST = re.compile("[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Needed:
    """A plugin that a run needs.

    Attributes:
        names: of its entries that the run has.
        title: its path, or its name and version.
        digest: SHA-256 of its file.
    """

    names: tuple[str, ...]
    title: str
    digest: str

    @property
    def path(self) -> Path:
        """Where the file was, if it is one."""
        return Path.home() / self.title[2:] if self.title.startswith("~/") else Path(self.title)

    def what_to_do(self) -> str:
        """Say how to have it here, as the end of a sentence."""
        if not self.title.endswith(".py"):
            return "a package that is not installed here. Install it to train this run."
        if not os.path.isfile(self.path):  # noqa: PTH113  (which never raises)
            return "a file that is not there any more. Put it back, and name it with --plugin, to train this run."
        return f"a file that was not named on this start. To train this run, start with --plugin {self.title}."


def needed(config: Mapping[str, Any], plugins: Iterable[Plugin]) -> tuple[Needed, ...]:
    """Return which plugins a configuration needs: those that have an entry which it names.

    Args:
        config: its values, as JSON holds them.
    """
    words = {word.partition(":")[0] for word in _words(config)}
    found = []
    for plugin in plugins:
        names = tuple(entry.name for _, entry in plugin.entries if any(_is_named(entry, word) for word in words))
        if names:
            found.append(Needed(names=names, title=plugin.title, digest=plugin.digest))
    return tuple(found)


def written(kept: Sequence[Needed]) -> bytes:
    """Return the content of a run's ``plugins.json``."""
    return json.dumps([asdict(one) for one in kept], indent=2).encode()


def recorded(content: bytes) -> tuple[Needed, ...]:
    """Read the content of ``plugins.json``, of a run from anywhere.

    Raises:
        ValueError: it holds something else.
    """
    try:
        read = json.loads(content)
        kept = [Needed(names=tuple(one["names"]), title=one["title"], digest=one["digest"]) for one in read]
        for one in kept:
            texts = (*one.names, one.title, one.digest)
            if not all(isinstance(text, str) and text.isprintable() and len(text) < 1000 for text in texts):
                raise ValueError("a text was needed")
            if not one.names or not _DIGEST.fullmatch(one.digest):
                raise ValueError("names and a SHA-256 were needed")
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"plugins.json needs names, title and digest of each; got {error}") from error
    return tuple(kept)


def _words(value: Any) -> Iterator[str]:
    """Yield every text in JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _words(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _words(inner)


def _is_named(entry: Any, word: str) -> bool:
    pattern = getattr(entry, "pattern", None)  # of a metric, with numbers in its name
    return bool(pattern.fullmatch(word)) if pattern is not None else entry.name == word
