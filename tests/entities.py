"""A small folder in the format of Flickr30k Entities: real JPEG files, marked sentences, annotations, split lists.

Many of its phrases hold no word of COCO's table, and some hold a word of it but are marked as something else.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from PIL import Image

SIZE = (64, 48)
BOXES = {1: (1, 2, 20, 40), 2: (40, 25, 60, 45), 3: (22, 5, 30, 15)}
SAID = {
    "people": ("Two men", "A toddler", "The choir", "a cellist"),
    "animals": ("a dog", "some llamas", "a parrot", "an ox"),
    "vehicles": ("a tricycle", "a bus", "a rickshaw", "a bobsled"),
    "instruments": ("a bagpipe", "a guitar", "an oud", "two drums"),
}
PLAY = ["[/EN#1/people Two men] play with [/EN#2/animals a dog] .", "[/EN#1/people They] are outside ."]
TEST: tuple[tuple[list[str], dict[int, list[int]]], ...] = (
    ([*PLAY, "[/EN#2/animals A puppy] and [/EN#0/notvisual nothing] else ."], {1: [1, 3], 2: [2]}),
    (["[/EN#1/people The choir] and [/EN#2/other a toy dog] on [/EN#3/vehicles a rickshaw] ."], {1: [1], 3: [2]}),
    (["[/EN#1/people/clothing Men in kilts] with [/EN#2/instruments/other bagpipes] ."], {1: [1], 2: [2]}),
    # the same sentences at another photo, and two phrases of one class
    (
        [*PLAY, "[/EN#1/people A man] and [/EN#3/people his wife] ride [/EN#2/animals oxen] ."],
        {1: [1], 2: [2], 3: [3]},
    ),
    # not used: no class of the four, one class alone, a second class that has no box
    (["[/EN#1/clothing A dog costume] on [/EN#2/scene a beach] , [/EN#3/bodyparts a hand] ."], {1: [1], 3: [3]}),
    (["[/EN#1/people A surfer] beside [/EN#2/people a nun] ."], {1: [1], 2: [2]}),
    (["[/EN#1/people A crowd] and [/EN#2/vehicles buses] ."], {1: [1]}),
    (["[/EN#0/people Someone] in [/EN#2/vehicles a sleigh] ."], {2: [2]}),
    (["Nobody marked anything ."], {}),
)
"""Marked sentences of each test photo, and the places of :data:`BOXES` that belong to each chain."""


def write_entities(root: Path) -> Path:
    """The folder: 12 photos to train on, 2 to validate with, 9 to test, which are listed in :data:`TEST`."""
    for name in ("Sentences", "Annotations", "flickr30k-images"):
        (root / name).mkdir(parents=True)
    for split, first, photos in (
        ("train", 0, [_pair(number) for number in range(12)]),
        ("val", 1000, [_pair(number) for number in (12, 17)]),
        ("test", 2000, TEST),
    ):
        for number, (lines, boxes) in enumerate(photos, first):
            _write(root, str(number), lines, boxes)
        (root / f"{split}.txt").write_text("".join(f"{number}\n" for number in range(first, first + len(photos))))
    return root


def marked(line: str) -> tuple[str, list[tuple[str, set[str]]]]:
    """A marked sentence as its text and its phrases with their types, read another way than by the product."""
    text, phrases = line, []
    while (start := text.find("[/EN#")) >= 0:
        head, _, rest = text[start + 1 :].partition(" ")
        phrase, _, after = rest.partition("]")
        phrases.append((phrase, set(head.split("/")[2:])))
        text = text[:start] + phrase + after
    return re.sub(r"\s+", " ", text).strip(), phrases


def _pair(number: int) -> tuple[list[str], dict[int, list[int]]]:
    names = list(SAID)
    first, second = names[number % 4], names[(number + 1 + number // 4 % 3) % 4]
    one, two = SAID[first][number % 4], SAID[second][number // 4 % 4]
    lines = [
        f"[/EN#1/{first} {one}] near [/EN#2/{second} {two}] .",
        f"On [/EN#7/scene a street] [/EN#1/{first} {one}] passes [/EN#2/{second} {two}] and [/EN#8/other a bench] .",
        f"[/EN#2/{second} {two}] number [/EN#0/notvisual {number}] .",
    ]
    return lines, {1: [1], 2: [2]}


def _write(root: Path, name: str, lines: list[str], boxes: dict[int, list[int]]) -> None:
    (root / "Sentences" / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corner = ("xmin", "ymin", "xmax", "ymax")
    entries = [
        f"<object><name>{chain}</name><bndbox>"
        + "".join(f"<{key}>{value}</{key}>" for key, value in zip(corner, BOXES[place], strict=True))
        + "</bndbox></object>"
        for chain, places in boxes.items()
        for place in places
    ]
    entries.append("<object><name>7</name><scene>1</scene><nobndbox>0</nobndbox></object>")
    entries.append("<object><name>2</name><scene>0</scene><nobndbox>1</nobndbox></object>" if 2 not in boxes else "")
    size = f"<size><width>{SIZE[0]}</width><height>{SIZE[1]}</height><depth>3</depth></size>"
    (root / "Annotations" / f"{name}.xml").write_text(
        f"<annotation><filename>{name}.jpg</filename>{size}{''.join(entries)}</annotation>"
    )
    pixels = np.random.default_rng(int(name)).integers(0, 255, (SIZE[1], SIZE[0], 3), np.uint8)
    Image.fromarray(pixels).save(root / "flickr30k-images" / f"{name}.jpg")
