"""The content of the drawn scenes: twelve COCO classes, five of which mostly occur with one other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainers.parameters import parameter

Box = tuple[float, float, float, float]
VARIANTS = 6
"""Looks that a class may have."""
MEASURES = ("small", "", "large")

CLASSES = (
    "person", "bird", "cat", "dog", "car", "boat", "traffic light", "umbrella", "frisbee", "sports ball", "chair",
    "potted plant",
)  # fmt: skip
PAIRS = (
    ("dog", "frisbee", "grass"),
    ("person", "umbrella", "street"),
    ("boat", "bird", "water"),
    ("car", "traffic light", "road"),
    ("cat", "sports ball", "room"),
)
NEUTRAL = ("chair", "potted plant")
ANCHORS = tuple(pair[0] for pair in PAIRS)
BACKGROUNDS = tuple(pair[2] for pair in PAIRS)

CELL = 1 / 64
"""Boxes end on a grid of this step, so that at 64, 128, 256 and 512 pixels they end on whole pixels."""

# width and height of each class in an image of side 1, before its scale
SIZES = {
    "person": (0.19, 0.46), "bird": (0.17, 0.125), "cat": (0.25, 0.28), "dog": (0.34, 0.27), "car": (0.42, 0.21),
    "boat": (0.38, 0.34), "traffic light": (0.095, 0.44), "umbrella": (0.27, 0.22), "frisbee": (0.16, 0.07),
    "sports ball": (0.13, 0.13), "chair": (0.18, 0.28), "potted plant": (0.18, 0.27),
}  # fmt: skip
# where the lower edge of an object may be, as shares of the height: flying things above, the rest on the ground
FEET = {
    "person": (0.80, 0.97), "bird": (0.15, 0.38), "cat": (0.72, 0.97), "dog": (0.72, 0.97), "car": (0.68, 0.95),
    "boat": (0.66, 0.93), "traffic light": (0.56, 0.66), "umbrella": (0.72, 0.95), "frisbee": (0.18, 0.48),
    "sports ball": (0.78, 0.97), "chair": (0.72, 0.97), "potted plant": (0.72, 0.97),
}  # fmt: skip
COLOURS = {
    "red": (206, 62, 58), "blue": (58, 104, 190), "green": (66, 146, 82), "yellow": (232, 190, 62),
    "white": (240, 240, 236), "black": (48, 48, 54), "brown": (138, 94, 58), "gray": (140, 144, 152),
    "purple": (134, 84, 168), "pink": (226, 138, 166),
}  # fmt: skip
WORN = {
    "person": ("red", "blue", "green", "yellow", "purple", "white"), "bird": ("white", "black", "blue", "brown"),
    "cat": ("black", "gray", "brown", "white"), "dog": ("brown", "black", "white", "gray"),
    "car": ("red", "blue", "white", "yellow", "black", "green"), "boat": ("red", "blue", "white", "green"),
    "traffic light": ("black", "yellow"), "umbrella": ("red", "blue", "purple", "yellow", "pink"),
    "frisbee": ("red", "yellow", "white", "purple"), "sports ball": ("red", "green", "white", "blue"),
    "chair": ("brown", "red", "white", "blue"), "potted plant": ("brown", "white", "red"),
}  # fmt: skip
MOST_OVERLAP = 0.12  # of the smaller box; more would forbid most removals
_TRIES, _STARTS = 40, 12
_SCALES = {"small": (0.82, 0.93), "": (0.93, 1.08), "large": (1.08, 1.22)}
_HAND = 0.06  # the crook of an umbrella reaches this far, as a share of its holder's height, below the raised hand


@dataclass(frozen=True, kw_only=True)
class DrawnScenes:
    """Settings of the drawn scenes."""

    bias: float = parameter(0.92, low=0.5, high=1.0, help="How often both of a pair are in a scene.")
    mention: float = parameter(0.8, low=0.3, high=1.0, help="How often a caption names an object that is there.")
    train: int = parameter(6000, low=50, high=100_000, help="Scenes to train on.")
    val: int = parameter(500, low=0, high=20_000, help="Further scenes, for their captions.")
    test: int = parameter(1000, low=20, high=20_000, help="Scenes to test on.")
    size: int = parameter(64, low=32, high=512, help="Side of the images in pixels.")
    seed: int = parameter(0, low=0, high=2**31 - 1, help="Same seed, same scenes.")


@dataclass(frozen=True, kw_only=True)
class Thing:
    """One object.

    Attributes:
        name: its class.
        colour: one of :data:`COLOURS`.
        box: x0, y0, x1, y1 as shares of the image, tight, on the grid of :data:`CELL`.
        mirrored: whether it looks to the left.
        measure: ``small``, ``large`` or nothing.
        variant: which of the looks of its class it has.
    """

    name: str
    colour: str
    box: Box
    mirrored: bool
    measure: str
    variant: int


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The content of a scene's image. ``background`` is one of :data:`BACKGROUNDS`; ``things`` are drawn in order."""

    number: int
    seed: int
    background: str
    tint: float
    horizon: float
    things: tuple[Thing, ...]


def make_layout(seed: int, number: int, bias: float) -> Layout:
    """Make scene ``number`` of a seed: the same whatever else is drawn."""
    rng = np.random.default_rng([seed, number, 1])
    names, background = _names(rng, bias)
    for _ in range(_STARTS):
        things = _place(names, rng)
        if len(things) == len(names):
            break
    return Layout(
        number=number,
        seed=seed,
        background=background,
        tint=float(rng.uniform(-1, 1)),
        horizon=float(rng.uniform(0.42, 0.52)),
        things=tuple(sorted(things, key=lambda thing: thing.box[3])),  # what stands nearer is drawn over
    )


def _names(rng: np.random.Generator, bias: float) -> tuple[list[str], str]:
    """Draw the classes of a scene, each once, and its background."""
    anchor, companion, background = PAIRS[int(rng.integers(len(PAIRS)))]
    names = [anchor, companion]
    if rng.random() >= bias:
        kept = names[int(rng.random() < 0.5)]
        others = [name for name in CLASSES if name not in (anchor, companion)]
        names = [kept, others[int(rng.integers(len(others)))]]
    if rng.random() < 0.12:
        more = [name for name in ANCHORS if name not in (*names, anchor)]
        names.append(more[int(rng.integers(len(more)))])
    if rng.random() < 0.35:
        more = [name for name in NEUTRAL if name not in names]
        if more:
            names.append(more[int(rng.integers(len(more)))])
    return names, background


def _place(names: list[str], rng: np.random.Generator) -> list[Thing]:
    """Place all of the names with little overlap; a thing for which there is no room is left out."""
    placed: list[Thing] = []
    for name in sorted(names, key=lambda name: name == "umbrella"):  # after the hand that may hold it
        holder = next((thing for thing in placed if thing.name == "person"), None) if name == "umbrella" else None
        for _ in range(_TRIES):
            thing = _thing(name, holder, rng)
            inside = min(thing.box) >= CELL and max(thing.box) <= 1 - CELL
            if inside and all(_overlap(thing.box, other.box) < MOST_OVERLAP for other in placed):
                placed.append(thing)
                break
    return placed


def _thing(name: str, holder: Thing | None, rng: np.random.Generator) -> Thing:
    """Draw a thing somewhere; with a ``holder`` in its hand."""
    chance = rng.random(6).tolist()  # one call is several times faster than six
    measure = MEASURES[int(chance[0] * 3)]
    low, high = _SCALES[measure]
    scale = low + chance[1] * (high - low)
    width, height = (max(3, round(value * scale / CELL)) for value in SIZES[name])
    if holder is None:
        x = 1 + int(chance[2] * (63 - width))
        low, high = FEET[name]
        foot = round((low + chance[3] * (high - low)) / CELL)
    else:  # its stick stands in the raised hand
        left, top, right, bottom = (value / CELL for value in holder.box)
        hand = 0.92 * (right - left)
        x = round((right - hand if holder.mirrored else left + hand) - width / 2)
        foot = round(top + _HAND * (bottom - top))
    look = int(chance[5] * 2 * VARIANTS)
    return Thing(
        name=name,
        colour=WORN[name][int(chance[4] * len(WORN[name]))],
        box=(x * CELL, (foot - height) * CELL, (x + width) * CELL, foot * CELL),
        mirrored=look % 2 == 1,
        measure=measure,
        variant=look // 2,
    )


def _overlap(first: Box, second: Box) -> float:
    """Return the common area as a share of the smaller box."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return max(width, 0.0) * max(height, 0.0) / min(areas)
