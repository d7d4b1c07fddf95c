"""Flickr30k Entities as its authors hand it out: ``Sentences/<id>.txt``, ``Annotations/<id>.xml``, split lists.

Every noun phrase of a caption is marked with its coarse types and with the chain of phrases that mean the same thing;
boxes belong to chains. So a class is named by the phrases that are marked with it, not by words of a table.

Of the eight types four are used as classes: people, animals, vehicles and instruments. Kim et al. 2023 speak of four
classes without naming them, so which ones is our reading. Clothing, body parts, scenes and other things are no objects.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trainers.data.captioned.base import CaptionedDescriptor, CaptionedRequest
from trainers.data.captioned_images import Box, CaptionedDataset, CaptionedImage, NamedPhrase
from trainers.data.image_file import read_below
from trainers.errors import DataError

CLASSES = ("people", "animals", "vehicles", "instruments")
WORDS = {
    name: tuple(words.split())
    for name, words in {
        "people": "person",
        "animals": "animal bird cat dog horse sheep cow elephant bear zebra giraffe",
        "vehicles": "vehicle bicycle car motorcycle airplane bus train truck boat",
        "instruments": "instrument guitar drum violin fiddle cello piano flute trumpet trombone tuba saxophone "
        "clarinet accordion harmonica banjo harp cymbal",
    }.items()
}
"""What stands for the classes in captions that nobody annotated (ours): words, and COCO's classes with their words."""
_CHUNK = re.compile(r"\[/EN#(?P<chain>\d+)(?P<types>(?:/[^\s/\]]+)*)\s+(?P<words>[^\]]*)\]")
_IMAGES = ("flickr30k-images", "flickr30k_images", "images", "Images")
_SPLITS = ("train", "val", "test")
_TELL = 64  # images
_UNSEEN = "0"  # the chain of phrases that are marked as naming nothing that can be boxed


@dataclass(frozen=True, kw_only=True)
class MarkedPhrase:
    """A marked phrase, ``text[start:end]`` of the plain caption, with its chain and all of its types."""

    chain: str
    start: int
    end: int
    types: tuple[str, ...]


def recognises(folder: Path | None) -> bool:
    """Return whether the folder holds captions and annotations of Flickr30k Entities."""
    return folder is not None and (folder / "Sentences").is_dir() and (folder / "Annotations").is_dir()


def load(request: CaptionedRequest) -> CaptionedDataset:
    """Read captions, phrases and boxes; pixels are read when they are needed.

    The folder has ``Sentences``, ``Annotations``, the images in ``flickr30k-images`` or ``images``, and ``train.txt``,
    ``val.txt``, ``test.txt`` with ids; without these lists all images are one split ``all``.

    Raises:
        DataError: a caption file or an annotation is missing or damaged.
    """
    folder, limit = request.folder or Path(request.source), request.limit
    home = next((folder / name for name in _IMAGES if (folder / name).is_dir()), folder)
    lists = {path.stem: path.read_text().split() for path in sorted(folder.glob("*.txt")) if path.stem in _SPLITS}
    if not lists:
        lists = {"all": sorted(path.stem for path in (folder / "Sentences").glob("*.txt"))}
    total = sum(len(ids[:limit]) for ids in lists.values())
    splits: dict[str, list[CaptionedImage]] = {}
    for name, ids in lists.items():
        splits[name] = []
        for number in ids[:limit]:
            done = sum(map(len, splits.values()))
            if done % _TELL == 0:
                request.progress(f"reading captions and boxes: {done:,} of {total:,} images", done / total)
            splits[name].append(_image(folder, home, number))
    notes = (
        "What names people, animals, vehicles or instruments are the phrases that are annotated so, not words of a "
        "table. The paper uses four classes without naming them; these are our reading.",
        "The images are for non-commercial research and education.",
    )
    return CaptionedDataset(
        title="Flickr30k Entities", licence="non-commercial", splits=splits, classes=CLASSES, notes=notes, words=WORDS
    )


def parse_sentence(line: str) -> tuple[str, tuple[MarkedPhrase, ...]]:
    """Split a line of ``Sentences`` into its plain text and its marked phrases."""
    line, text, last, chunks = line.strip(), "", 0, []
    for match in _CHUNK.finditer(line):
        text += line[last : match.start()]
        start, last = len(text), match.end()
        text += match["words"].rstrip()
        types = tuple(filter(None, match["types"].split("/")))
        chunks.append(MarkedPhrase(chain=match["chain"], start=start, end=len(text), types=types))
    return text + line[last:], tuple(chunks)


def _image(folder: Path, home: Path, number: str) -> CaptionedImage:
    path = folder / "Sentences" / f"{number}.txt"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as a caption file of Flickr30k Entities ({error}).") from error
    parsed = [parse_sentence(line) for line in lines if line.strip()]
    types: dict[str, set[str]] = {}
    for chunk in (chunk for _, chunks in parsed for chunk in chunks if chunk.chain != _UNSEEN):
        types.setdefault(chunk.chain, set()).update(chunk.types)
    boxes, classes, size = _boxes(folder / "Annotations" / f"{number}.xml", types)
    return CaptionedImage(
        image_id=number,
        load=partial(read_below, home / f"{number}.jpg", (home.resolve(),)),
        captions=tuple(text for text, _ in parsed),
        boxes=boxes,
        classes=classes,
        phrases=tuple(tuple(_named(chunks)) for _, chunks in parsed),
        width=size[0],
        height=size[1],
    )


def _named(chunks: Iterable[MarkedPhrase]) -> Iterable[NamedPhrase]:
    """Yield the phrases that name a class; those without a box name it as well."""
    for chunk in chunks:
        classes = _classes(chunk.types)
        if classes and chunk.end > chunk.start:
            yield NamedPhrase(start=chunk.start, end=chunk.end, classes=classes)


def _classes(types: Iterable[str]) -> tuple[str, ...]:
    named = set(types)
    return tuple(name for name in CLASSES if name in named)


def _boxes(path: Path, types: Mapping[str, Iterable[str]]) -> tuple[tuple[Box, ...], tuple[str, ...], tuple[int, int]]:
    """Return boxes of one image, one entry for each class of a box; chains of whole scenes and unseen ones have none.

    Corners are counted from 1 and lie inside the box, as in PASCAL VOC; here they are edges, counted from 0.
    """
    try:
        root = ElementTree.parse(path).getroot()
        boxes: list[Box] = []
        classes: list[str] = []
        for entry in root.iter("object"):
            box = entry.find("bndbox")
            if box is None:
                continue
            x0, y0, x1, y1 = (float(box.findtext(name, "")) for name in ("xmin", "ymin", "xmax", "ymax"))
            kinds = _classes(kind for name in entry.iter("name") for kind in types.get(str(name.text).strip(), ()))
            boxes += [(x0 - 1, y0 - 1, x1, y1)] * len(kinds)
            classes += kinds
        size = int(root.findtext("size/width", "0")), int(root.findtext("size/height", "0"))
    except (OSError, ElementTree.ParseError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as an annotation of Flickr30k Entities ({error}).") from error
    return tuple(boxes), tuple(classes), size


DESCRIPTOR = CaptionedDescriptor(
    name="flickr_entities",
    title="Flickr30k Entities folder",
    sentence="Captions with marked phrases and boxes, as Flickr30k Entities stores them.",
    load=load,
    recognises=recognises,
)
