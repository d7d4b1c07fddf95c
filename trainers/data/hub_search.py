"""Names on the Hub that hold some words: datasets with images, models of timm, and image-text models of open_clip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainers.data import access
from trainers.data.hf_errors import explained
from trainers.data.hub_requests import LOOK_SECONDS, online, within
from trainers.data.lru_cache import Cache
from trainers.errors import DataError

MOST = 8
"""Results of a search, those downloaded most first."""
LONGEST = 100
"""Letters that are searched for."""
Kind = Literal["datasets", "models", "image_text"]
TAGS: Mapping[Kind, str] = {"datasets": "modality:image", "models": "timm", "image_text": "open_clip"}
"""What the Hub calls them, by kind."""
_KEPT = 200  # searches; people type the same words again


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A dataset or a model of the Hub.

    Attributes:
        name: ``owner/name``.
        licence, size: as its tags say; empty where they do not. The size is a range of rows.
        gated: access has to be asked for.
        downloads: of the last month.
    """

    name: str
    licence: str
    size: str
    gated: bool
    downloads: int

    @property
    def words(self) -> str:
        """What stands beside the name."""
        facts = [
            f"{self.size} rows" if self.size else "",
            self.licence,
            f"{self.downloads:,} downloads a month" if self.downloads else "",
            "access on request" if self.gated else "",
        ]
        return " · ".join(filter(None, facts))


_hits: Cache[tuple[Hit, ...]] = Cache(limit=_KEPT)


def search(text: str, kind: Kind) -> tuple[Hit, ...]:
    """Return what is found under some words; one request, kept for the next one who types them.

    Raises:
        DataError: the Hub cannot be reached, has a fault, was asked too often, or does not answer in time.
    """
    words = " ".join(text.split())[:LONGEST]
    if len(words) < 2:
        return ()

    def ask() -> tuple[Hit, ...]:
        if not online():
            raise DataError("The Hugging Face Hub cannot be reached, so nothing is searched.")
        return within(LOOK_SECONDS, words, lambda: tuple(_asked(words, kind)))

    return _hits.get((kind, words.lower(), access.public()), ask)


def _asked(words: str, kind: Kind) -> Iterator[Hit]:
    from huggingface_hub import HfApi

    api = HfApi(token=access.token())
    ask: Any = api.list_datasets if kind == "datasets" else api.list_models
    with explained(words):
        listed = list(ask(search=words, filter=TAGS[kind], sort="downloads", limit=MOST))
    for entry in listed:
        tags = [str(tag) for tag in entry.tags or ()]
        yield Hit(
            name=str(entry.id),
            licence=_tag(tags, "license:"),
            size=_range(_tag(tags, "size_categories:")),
            gated=bool(entry.gated),
            downloads=int(entry.downloads or 0),
        )


def _tag(tags: list[str], begin: str) -> str:
    return next((tag.removeprefix(begin) for tag in tags if tag.startswith(begin)), "")


def _range(written: str) -> str:
    """Write the Hub's ``1K<n<10K``, ``n<1K`` or ``n>1T`` in words."""
    low, middle, high = written.partition("<n<")
    return f"{low} to {high}" if middle else written.replace("n<", "under ").replace("n>", "over ")
