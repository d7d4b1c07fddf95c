"""Flickr30k Entities as its authors hand it out: ``Sentences/<id>.txt``, ``Annotations/<id>.xml``, split lists.

The classes are the coarse phrase types. The paper (Kim et al. 2023) uses four of them without naming them; people,
animals, vehicles and instruments are taken to be meant (our reading), ``classes`` lists them first.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from trainers.data.coco_folder import file_loader
from trainers.data.scenes import Box, Scene, SceneSet
from trainers.errors import DataError

FOUR = ("people", "animals", "vehicles", "instruments")
_CHUNK = re.compile(r"\[/EN#(?P<chain>\d+)(?P<types>(?:/[^\s/\]]+)+)\s(?P<words>[^\]]*)\]")
_IMAGES = ("flickr30k-images", "flickr30k_images", "images", "Images")


def is_entities(folder: Path) -> bool:
    """Whether the folder holds sentences and annotations of Flickr30k Entities."""
    return (folder / "Sentences").is_dir() and (folder / "Annotations").is_dir()


def read_entities(folder: Path, limit: int | None = None) -> SceneSet:
    """Read sentences and boxes; pixels are read when they are needed.

    Args:
        folder: with ``Sentences``, ``Annotations``, the photos in ``flickr30k-images`` or ``images``, and
            ``train.txt``, ``val.txt``, ``test.txt`` with ids; without these lists all photos are one split ``all``.
        limit: at most so many photos of each split.

    Raises:
        DataError: an annotation is damaged.
    """
    home = next((folder / name for name in _IMAGES if (folder / name).is_dir()), folder)
    lists = {path.stem: path.read_text().split() for path in sorted(folder.glob("*.txt")) if path.stem in _SPLITS}
    if not lists:
        lists = {"all": sorted(path.stem for path in (folder / "Sentences").glob("*.txt"))}
    splits = {name: tuple(_scene(folder, home, number) for number in ids[:limit]) for name, ids in lists.items()}
    seen = {name for scenes in splits.values() for scene in scenes for name in scene.classes}
    classes = tuple(name for name in FOUR if name in seen) + tuple(sorted(seen - set(FOUR)))
    note = "Classes are phrase types of Flickr30k Entities; the photos are for non-commercial research and education."
    return SceneSet(title="Flickr30k Entities", licence="non-commercial", splits=splits, classes=classes, notes=(note,))


_SPLITS = ("train", "val", "test")


def parse_sentence(line: str) -> tuple[str, tuple[tuple[str, str, tuple[str, ...]], ...]]:
    """A line of ``Sentences`` as its plain text and its phrases (chain id, words, types)."""
    phrases = tuple(
        (found["chain"], found["words"], tuple(found["types"].strip("/").split("/"))) for found in _CHUNK.finditer(line)
    )
    return _CHUNK.sub(lambda found: found["words"], line).strip(), phrases


def _scene(folder: Path, home: Path, number: str) -> Scene:
    lines = (folder / "Sentences" / f"{number}.txt").read_text(encoding="utf-8").splitlines()
    parsed = [parse_sentence(line) for line in lines if line.strip()]
    types = {chain: kinds for _, phrases in parsed for chain, _, kinds in phrases}
    boxes, classes, size = _boxes(folder / "Annotations" / f"{number}.xml", types)
    return Scene(
        image_id=number,
        load=file_loader(home, f"{number}.jpg"),
        captions=tuple(text for text, _ in parsed),
        boxes=boxes,
        classes=classes,
        width=size[0],
        height=size[1],
    )


def _boxes(path: Path, types: dict[str, tuple[str, ...]]) -> tuple[tuple[Box, ...], tuple[str, ...], tuple[int, int]]:
    """Boxes of one photo; those of scenes and of chains without a type are left out."""
    try:
        root = ElementTree.parse(path).getroot()
        boxes: list[Box] = []
        classes: list[str] = []
        for entry in root.iter("object"):
            box = entry.find("bndbox")
            if box is None:
                continue
            corners = tuple(float(box.findtext(name, "")) for name in ("xmin", "ymin", "xmax", "ymax"))
            for kind in dict.fromkeys(kind for name in entry.iter("name") for kind in types.get(str(name.text), ())):
                boxes.append(corners)
                classes.append(kind)
        size = int(root.findtext("size/width", "0")), int(root.findtext("size/height", "0"))
    except (OSError, ElementTree.ParseError, ValueError) as error:
        raise DataError(f"{path.name} is no annotation of Flickr30k Entities that can be read ({error}).") from error
    return tuple(boxes), tuple(classes), size
