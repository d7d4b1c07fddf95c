"""The five backgrounds. They do not depend on the things in front, so a model cannot infer those from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import ImageDraw

from trainers.data.synthetic.engine.colour import Colour, shade
from trainers.data.synthetic.engine.pen import Pen
from trainers.data.synthetic.scenes.scene import BACKGROUNDS, Layout


def draw_background(draw: ImageDraw.ImageDraw, layout: Layout, side: int) -> None:
    """Fill an image of ``side`` pixels with the layout's background."""
    *colours, details = _LOOKS[layout.background]
    far, near = (shade(colour, 1 + 0.06 * layout.tint) for colour in colours)
    horizon = round(layout.horizon * side)
    step = max(1, side // 64)
    for row in range(0, horizon, step):  # lighter towards the horizon
        draw.rectangle((0, row, side, row + step), fill=shade(far, 1 + 0.45 * row / horizon))
    for row in range(horizon, side, step):
        draw.rectangle((0, row, side, row + step), fill=shade(near, 1.14 - 0.3 * (row - horizon) / (side - horizon)))
    rng = np.random.default_rng([layout.seed, layout.number, 2])
    details(Pen(draw, (0, 0, side, side), mirrored=False), layout.horizon, near, rng)


def _clouds(pen: Pen, count: int, rng: np.random.Generator) -> None:
    for _ in range(count):
        x, y, width = rng.uniform(0, 0.8), rng.uniform(0.04, 0.20), rng.uniform(0.15, 0.26)
        tone = (248, 251, 254)
        pen.rect(tone, x, y, x + width, y + 0.18 * width, 0.5)
        pen.oval(tone, x + 0.12 * width, y - 0.16 * width, x + 0.52 * width, y + 0.18 * width)
        pen.oval(tone, x + 0.40 * width, y - 0.26 * width, x + 0.86 * width, y + 0.18 * width)


def _sun(pen: Pen, rng: np.random.Generator) -> None:
    x, y = rng.uniform(0.08, 0.84), rng.uniform(0.05, 0.12)
    pen.oval((255, 240, 186), x, y, x + 0.10, y + 0.10)
    pen.oval((255, 228, 138), x + 0.012, y + 0.012, x + 0.088, y + 0.088)


def _hills(pen: Pen, horizon: float, tone: Colour, heights: tuple[float, ...], rng: np.random.Generator) -> None:
    for index, height in enumerate(heights):
        x, width = rng.uniform(-0.25, 0.75), rng.uniform(0.5, 0.9)
        colour = shade(tone, 1.12 - 0.12 * index)
        pen.pie(colour, x, horizon - height, x + width, horizon + height, 180, 360)


def _tree(pen: Pen, x: float, y: float, height: float, tone: Colour) -> None:
    """Draw a tree that is rooted at x, y."""
    pen.rect((122, 94, 72), x - 0.05 * height, y - 0.4 * height, x + 0.05 * height, y)
    pen.oval(tone, x - 0.34 * height, y - 0.80 * height, x + 0.34 * height, y - 0.26 * height)
    pen.oval(shade(tone, 1.12), x - 0.26 * height, y - height, x + 0.24 * height, y - 0.46 * height)


def _grass(pen: Pen, horizon: float, near: Colour, rng: np.random.Generator) -> None:
    if rng.random() < 0.5:
        _sun(pen, rng)
    _clouds(pen, int(rng.integers(1, 3)), rng)
    _hills(pen, horizon, shade(near, 1.08), (0.13, 0.09, 0.06), rng)
    for _ in range(int(rng.integers(1, 4))):
        tree = rng.uniform(0.05, 0.95), rng.uniform(0.10, 0.16)
        _tree(pen, tree[0], horizon + 0.012, tree[1], shade(near, 0.78))
    for _ in range(26):
        x, y = rng.uniform(0, 1), rng.uniform(horizon + 0.06, 1)
        for lean in (-0.010, 0.0, 0.010):
            pen.line(shade(near, 0.86), 0.006, (x, y), (x + lean, y - 0.026))
    for _ in range(7):
        x, y = rng.uniform(0, 1), rng.uniform(horizon + 0.08, 1)
        pen.oval((252, 250, 236), x - 0.009, y - 0.009, x + 0.009, y + 0.009)
        pen.oval((244, 202, 84), x - 0.004, y - 0.004, x + 0.004, y + 0.004)


_WALLS = ((206, 150, 124), (222, 190, 152), (176, 146, 138), (198, 172, 160), (164, 166, 178), (226, 206, 178))


def _street(pen: Pen, horizon: float, near: Colour, rng: np.random.Generator) -> None:
    _clouds(pen, 1, rng)
    x = -float(rng.uniform(0, 0.1))
    while x < 1:
        width, height = rng.uniform(0.18, 0.28), rng.uniform(0.20, 0.32)
        wall = _WALLS[int(rng.integers(len(_WALLS)))]
        _house(pen, x, horizon, width, height, wall, pointed=bool(rng.random() < 0.4))
        x += width
    pen.rect(shade(near, 1.3), 0, horizon, 1, horizon + 0.035)
    pen.rect(shade(near, 0.86), 0, horizon + 0.035, 1, horizon + 0.045)
    rows = [horizon + 0.045 + (0.955 - horizon) * share for share in (0.16, 0.38, 0.66)]
    for y in rows:
        pen.line(shade(near, 0.93), 0.006, (0, y), (1, y))
    for index in range(-3, 14):  # the joints of the slabs run to one far point
        foot = index / 10
        pen.line(shade(near, 0.95), 0.005, (0.5 + (foot - 0.5) * 0.6, horizon + 0.05), (0.5 + (foot - 0.5) * 1.5, 1.0))


def _house(pen: Pen, x: float, ground: float, width: float, height: float, wall: Colour, *, pointed: bool) -> None:
    top = ground - height
    if pointed:
        pen.poly(shade(wall, 0.66), (x - 0.01, top), (x + width / 2, top - 0.08), (x + width + 0.01, top))
    pen.rect(wall, x, top, x + width, ground)
    pen.rect(shade(wall, 0.8), x, top, x + width, top + 0.014)
    for row in range(int((height - 0.08) / 0.085)):
        for column in range(2):
            left, upper = x + (0.16 + 0.42 * column) * width, top + 0.035 + 0.085 * row
            pen.rect(shade(wall, 1.5), left - 0.006, upper - 0.006, left + 0.26 * width + 0.006, upper + 0.056)
            pen.rect((120, 144, 166), left, upper, left + 0.26 * width, upper + 0.05)
    pen.rect(shade(wall, 0.58), x + 0.40 * width, ground - 0.07, x + 0.62 * width, ground)


def _water(pen: Pen, horizon: float, near: Colour, rng: np.random.Generator) -> None:
    if rng.random() < 0.6:
        _sun(pen, rng)
    _clouds(pen, int(rng.integers(1, 4)), rng)
    for _ in range(int(rng.integers(1, 3))):
        x, width, height = rng.uniform(-0.1, 0.7), rng.uniform(0.3, 0.5), rng.uniform(0.05, 0.10)
        ridge = ((0.0, 0.0), (0.28, 1.0), (0.5, 0.6), (0.72, 0.9), (1.0, 0.0))
        pen.poly((150, 182, 198), *((x + along * width, horizon - up * height) for along, up in ridge))
    pen.rect(shade(near, 1.4), 0, horizon, 1, horizon + 0.008)
    for _ in range(22):
        x, y = rng.uniform(-0.05, 1), rng.uniform(horizon + 0.03, 0.99)
        width = 0.04 + 0.10 * (y - horizon) / (1 - horizon)
        tone = shade(near, float(rng.choice((1.3, 1.18, 0.9))))
        pen.line(tone, 0.007, *((x + 0.25 * step * width, y - 0.007 * (step % 2)) for step in range(5)))


def _road(pen: Pen, horizon: float, near: Colour, rng: np.random.Generator) -> None:
    _clouds(pen, int(rng.integers(1, 3)), rng)
    _hills(pen, horizon, (142, 178, 134), (0.12, 0.08), rng)
    for _ in range(int(rng.integers(2, 5))):
        index = rng.uniform(0.02, 0.98), rng.uniform(0.11, 0.19)
        _tree(pen, index[0], horizon + 0.02, index[1], shade((96, 144, 96), rng.uniform(0.9, 1.1)))
    pen.rect((150, 184, 124), 0, horizon, 1, horizon + 0.075)
    pen.rect((206, 202, 192), 0, horizon + 0.075, 1, horizon + 0.105)
    pen.rect(shade(near, 0.8), 0, horizon + 0.105, 1, horizon + 0.113)
    y, first = horizon + 0.6 * (1 - horizon), rng.uniform(-0.2, 0)
    for step in range(6):
        x = first + 0.22 * step
        pen.poly((240, 236, 220), (x + 0.012, y), (x + 0.132, y), (x + 0.12, y + 0.022), (x, y + 0.022))


def _room(pen: Pen, horizon: float, near: Colour, rng: np.random.Generator) -> None:
    wall = ((226, 208, 184), (206, 214, 204), (214, 206, 218), (208, 216, 226))[int(rng.integers(4))]
    pen.rect(wall, 0, 0, 1, horizon)
    for index in range(13):
        pen.rect(shade(wall, 1.14), 0.08 * index, 0, 0.08 * index + 0.035, horizon)
    left = bool(rng.random() < 0.5)
    x = rng.uniform(0.08, 0.30) + (0.0 if left else 0.34)
    _window(pen, x, rng)
    _picture(pen, rng.uniform(0.68, 0.82) if left else rng.uniform(0.06, 0.18), rng)
    pen.rect((252, 247, 238), 0, horizon - 0.03, 1, horizon)
    pen.rect(shade(near, 0.74), 0, horizon - 0.003, 1, horizon + 0.005)
    for share in (0.09, 0.24, 0.45, 0.72):
        y = horizon + share * (1 - horizon)
        pen.line(shade(near, 0.9), 0.006, (0, y), (1, y))
    rug = ((186, 96, 88), (96, 128, 156), (122, 142, 108), (168, 140, 168))[int(rng.integers(4))]
    x, y = rng.uniform(0.12, 0.34), horizon + 0.42 * (1 - horizon)
    pen.oval(shade(rug, 1.2), x, y, x + 0.56, y + 0.22)
    pen.oval(rug, x + 0.025, y + 0.012, x + 0.535, y + 0.208)
    pen.oval(shade(rug, 1.25), x + 0.09, y + 0.04, x + 0.47, y + 0.18)


def _window(pen: Pen, x: float, rng: np.random.Generator) -> None:
    frame, cloth = (252, 248, 240), ((214, 128, 112), (120, 150, 176), (226, 190, 120))[int(rng.integers(3))]
    pen.rect(frame, x, 0.06, x + 0.26, 0.31)
    pen.rect((170, 212, 238), x + 0.016, 0.076, x + 0.244, 0.294)
    pen.pie((142, 190, 132), x + 0.02, 0.235, x + 0.16, 0.353, 180, 360)
    pen.pie((122, 174, 118), x + 0.11, 0.25, x + 0.244, 0.338, 180, 360)
    pen.rect(frame, x, 0.294, x + 0.26, 0.31)
    pen.rect(frame, x + 0.123, 0.06, x + 0.137, 0.31)
    pen.rect(shade(cloth, 0.7), x - 0.05, 0.045, x + 0.31, 0.06, 0.5)
    for edge, inner in ((x - 0.035, x + 0.055), (x + 0.295, x + 0.205)):
        pen.poly(cloth, (edge, 0.06), (inner, 0.06), (edge + (inner - edge) * 0.45, 0.33), (edge, 0.33))
    pen.rect(shade(frame, 0.94), x - 0.012, 0.308, x + 0.272, 0.325)


def _picture(pen: Pen, x: float, rng: np.random.Generator) -> None:
    tone = ((206, 172, 120), (150, 176, 190), (206, 150, 140))[int(rng.integers(3))]
    pen.rect((128, 96, 68), x, 0.09, x + 0.14, 0.25)
    pen.rect((250, 246, 236), x + 0.012, 0.102, x + 0.128, 0.238)
    pen.rect(shade(tone, 1.3), x + 0.026, 0.118, x + 0.114, 0.222)
    pen.oval((248, 226, 150), x + 0.07, 0.13, x + 0.098, 0.158)
    pen.poly(tone, (x + 0.026, 0.222), (x + 0.055, 0.165), (x + 0.08, 0.20), (x + 0.095, 0.18), (x + 0.114, 0.222))


_LOOKS: dict[str, tuple[Colour, Colour, Callable[[Pen, float, Colour, np.random.Generator], None]]] = {
    "grass": ((158, 208, 242), (122, 180, 94), _grass),
    "street": ((196, 214, 228), (166, 164, 168), _street),
    "water": ((166, 210, 240), (70, 142, 190), _water),
    "road": ((178, 208, 230), (108, 112, 122), _road),
    "room": ((238, 224, 202), (184, 138, 98), _room),
}
"""The colours of the far and the near half, and what is drawn on them."""
assert set(_LOOKS) == set(BACKGROUNDS)
