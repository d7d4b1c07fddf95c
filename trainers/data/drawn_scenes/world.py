"""What there is in the drawn scenes: twelve COCO classes, five of which keep company with another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainers.parameters import parameter

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
HOMES = tuple(pair[2] for pair in PAIRS)

# width and height of each class in a picture of side 1, before a factor of 0.85 to 1.15
SIZES = {
    "person": (0.20, 0.46), "bird": (0.17, 0.12), "cat": (0.26, 0.27), "dog": (0.34, 0.27), "car": (0.42, 0.21),
    "boat": (0.38, 0.34), "traffic light": (0.10, 0.26), "umbrella": (0.27, 0.20), "frisbee": (0.16, 0.07),
    "sports ball": (0.13, 0.13), "chair": (0.18, 0.28), "potted plant": (0.17, 0.27),
}  # fmt: skip
# where the middle of an object may be, as shares of the height: flying things above, the rest on the ground
HEIGHTS = {
    "person": (0.60, 0.74), "bird": (0.12, 0.34), "cat": (0.62, 0.84), "dog": (0.62, 0.84), "car": (0.62, 0.84),
    "boat": (0.52, 0.74), "traffic light": (0.20, 0.42), "umbrella": (0.18, 0.40), "frisbee": (0.16, 0.46),
    "sports ball": (0.72, 0.90), "chair": (0.60, 0.82), "potted plant": (0.60, 0.82),
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
_TRIES = 60


@dataclass(frozen=True, kw_only=True)
class DrawnScenes:
    """Settings of the drawn scenes."""

    bias: float = parameter(0.92, low=0.5, high=1.0, help="How often both of a pair are in a scene.")
    mention: float = parameter(0.8, low=0.3, high=1.0, help="How often a sentence names an object that is there.")
    train: int = parameter(6000, low=50, high=100_000, help="Scenes to train on.")
    val: int = parameter(500, low=0, high=20_000, help="Further scenes, for their sentences.")
    test: int = parameter(1000, low=20, high=20_000, help="Scenes to ask with.")
    size: int = parameter(64, low=32, high=512, help="Side of the pictures in pixels.")
    seed: int = parameter(0, low=0, high=2**31 - 1, help="Same seed, same scenes.")


@dataclass(frozen=True, kw_only=True)
class Thing:
    """One object: its class, colour, box (x0, y0, x1, y1 as shares of the picture), which way it looks and its size."""

    name: str
    colour: str
    box: tuple[float, float, float, float]
    mirrored: bool
    large: bool


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Everything that decides a scene's picture: ``home`` is one of :data:`HOMES`, things are drawn in order."""

    number: int
    seed: int
    home: str
    tint: float
    horizon: float
    things: tuple[Thing, ...]


def make_layout(seed: int, number: int, bias: float) -> Layout:
    """Scene ``number`` of a world: the same for the same seed, whatever else is drawn."""
    rng = np.random.default_rng([seed, number, 1])
    pair = int(rng.integers(len(PAIRS)))
    anchor, companion, home = PAIRS[pair]
    names = [anchor, companion]
    if rng.random() >= bias:
        kept = names[int(rng.random() < 0.5)]
        others = [name for name in CLASSES if name not in (anchor, companion)]
        names = [kept, others[int(rng.integers(len(others)))]]
    if rng.random() < 0.12:
        more = [name for name in ANCHORS if name not in names]
        names.append(more[int(rng.integers(len(more)))])
    if rng.random() < 0.35:
        more = [name for name in NEUTRAL if name not in names]
        if more:
            names.append(more[int(rng.integers(len(more)))])
    things = _place(names, rng)
    return Layout(
        number=number,
        seed=seed,
        home=home,
        tint=float(rng.uniform(-1, 1)),
        horizon=float(rng.uniform(0.40, 0.52)),
        things=tuple(sorted(things, key=lambda thing: thing.box[3])),  # what stands nearer is drawn over
    )


def _place(names: list[str], rng: np.random.Generator) -> list[Thing]:
    """Boxes for all names with little overlap; a thing for which there is no room is left out."""
    placed: list[Thing] = []
    for name in names:
        for _ in range(_TRIES):
            scale = float(rng.uniform(0.85, 1.15))
            width, height = (value * scale for value in SIZES[name])
            x = float(rng.uniform(width / 2 + 0.02, 0.98 - width / 2))
            low, high = HEIGHTS[name]
            y = min(max(float(rng.uniform(low, high)), height / 2 + 0.02), 0.98 - height / 2)
            box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            if all(_overlap(box, other.box) < MOST_OVERLAP for other in placed):
                colour = WORN[name][int(rng.integers(len(WORN[name])))]
                mirrored = bool(rng.random() < 0.5)
                placed.append(Thing(name=name, colour=colour, box=box, mirrored=mirrored, large=scale > 1.0))
                break
    return placed


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Common area as a share of the smaller box."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return max(width, 0.0) * max(height, 0.0) / min(areas)
