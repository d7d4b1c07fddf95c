"""The look of each class: flat shapes of two or three tones, in units of their height.

Every function takes the pen, the colour and a variant (any whole number): people differ in hair and skin, a traffic
light in the lamp that is lit. What a shape covers is measured, so that boxes are tight whatever is drawn here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from PIL import Image, ImageDraw

from trainers.data.synthetic.engine.colour import Colour, shade
from trainers.data.synthetic.engine.pen import Pen

_DARK, _EYE = (44, 44, 52), (36, 32, 40)
_SKIN = ((240, 198, 164), (204, 150, 112), (138, 94, 70))
_HAIR = ((112, 72, 46), (46, 36, 38), (36, 30, 32))
_ROOM_AROUND, _MEASURED = 0.5, 256  # units around the frame and pixels per unit when a shape is measured


def person(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a person standing and waving; long hair and a dress in odd variants."""
    skin, hair, dress = _SKIN[variant // 2 % 3], _HAIR[variant // 2 % 3], variant % 2 == 1
    dark = shade(colour, 0.8)
    if dress:
        pen.rect(hair, 0.085, 0.0, 0.315, 0.32, 0.5)
    legs = (skin, shade(skin, 0.92)) if dress else ((64, 70, 96), (52, 57, 80))
    for x, tone in ((0.115, legs[1]), (0.21, legs[0])):
        pen.rect(tone, x, 0.60, x + 0.075, 0.98, 0.2)
    for x in (0.088, 0.21):
        pen.rect(_DARK, x, 0.95, x + 0.102, 1.0, 0.5)
    pen.line(dark, 0.065, (0.115, 0.31), (0.06, 0.43), (0.045, 0.54))
    pen.oval(skin, 0.006, 0.54, 0.078, 0.61)
    pen.line(dark, 0.065, (0.285, 0.31), (0.37, 0.23), (0.385, 0.09))
    pen.oval(skin, 0.348, 0.0, 0.42, 0.075)
    pen.rect(colour, 0.095, 0.265, 0.305, 0.64, 0.32)
    if dress:
        pen.poly(colour, (0.11, 0.46), (0.29, 0.46), (0.345, 0.76), (0.055, 0.76))
        pen.poly(dark, (0.066, 0.72), (0.334, 0.72), (0.345, 0.76), (0.055, 0.76))
    else:
        pen.rect(dark, 0.095, 0.59, 0.305, 0.64, 0.3)
    pen.rect(shade(skin, 0.9), 0.168, 0.20, 0.232, 0.29, 0.3)
    pen.oval(skin, 0.108, 0.025, 0.292, 0.235)
    pen.pie(hair, 0.098, 0.0, 0.302, 0.22, 178, 362)
    pen.blob(hair, (0.10, 0.11), (0.14, 0.03), (0.24, 0.02), (0.30, 0.11), (0.25, 0.085), (0.17, 0.09))
    for x in (0.155, 0.228):
        pen.oval(_EYE, x, 0.125, x + 0.018, 0.147)
    pen.line(shade(skin, 0.66), 0.009, (0.178, 0.184), (0.20, 0.193), (0.222, 0.184))


def dog(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a dog standing, seen from the side; the muzzle is at the right."""
    dark, light = shade(colour, 0.74), shade(colour, 1.28)
    pen.line(dark, 0.085, (0.15, 0.50), (0.06, 0.36), (0.045, 0.20), (0.075, 0.11))
    for x in (0.25, 0.66):
        pen.rect(dark, x, 0.58, x + 0.11, 0.99, 0.45)
    pen.blob(
        colour, (0.08, 0.55), (0.15, 0.42), (0.42, 0.41), (0.68, 0.38), (0.86, 0.30), (0.96, 0.46), (0.88, 0.68),
        (0.66, 0.72), (0.40, 0.68), (0.20, 0.74), (0.09, 0.68),
    )  # fmt: skip
    pen.blob(light, (0.88, 0.46), (0.95, 0.54), (0.88, 0.68), (0.80, 0.69), (0.82, 0.58))
    for x in (0.11, 0.755):
        pen.rect(colour, x, 0.56, x + 0.125, 0.99, 0.45)
        pen.rect(light, x - 0.005, 0.91, x + 0.15, 1.0, 0.5)
    pen.line((206, 62, 58), 0.05, (0.755, 0.40), (0.86, 0.475), (0.955, 0.475))
    pen.oval(colour, 0.745, 0.05, 1.09, 0.44)
    pen.blob(light, (0.98, 0.24), (1.14, 0.205), (1.245, 0.26), (1.22, 0.37), (1.06, 0.42), (0.96, 0.36))
    pen.rect((228, 120, 130), 1.07, 0.375, 1.135, 0.475, 0.5)
    pen.line(dark, 0.014, (1.02, 0.365), (1.12, 0.375), (1.20, 0.345))
    pen.oval(_DARK, 1.155, 0.175, 1.265, 0.265)
    pen.blob(dark, (0.82, 0.04), (0.73, 0.11), (0.665, 0.30), (0.70, 0.43), (0.785, 0.40), (0.845, 0.23), (0.88, 0.09))
    pen.oval((250, 250, 250), 0.955, 0.135, 1.025, 0.215)
    pen.oval(_EYE, 0.97, 0.14, 1.03, 0.21)


def cat(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a cat sitting, looking out of the image."""
    dark, light = shade(colour, 0.72), shade(colour, 1.32)
    pen.line(dark, 0.085, (0.72, 0.94), (0.90, 0.88), (0.96, 0.72), (0.90, 0.58), (0.93, 0.49))
    pen.blob(
        colour, (0.28, 0.44), (0.70, 0.44), (0.82, 0.74), (0.78, 0.97), (0.49, 0.99), (0.20, 0.97), (0.16, 0.74)
    )  # fmt: skip
    pen.blob(light, (0.37, 0.52), (0.61, 0.52), (0.64, 0.70), (0.49, 0.86), (0.34, 0.70))
    for x in (0.31, 0.53):
        pen.rect(dark, x - 0.015, 0.70, x + 0.155, 0.97, 0.5)
        pen.rect(colour, x, 0.66, x + 0.14, 0.98, 0.5)
        pen.oval(light, x - 0.02, 0.91, x + 0.16, 1.0)
    for sign in (-1, 1):
        side = 0.49 + sign * 0.34, 0.49 + sign * 0.33, 0.49 + sign * 0.07
        pen.poly(colour, (side[0], 0.32), (side[1], 0.0), (side[2], 0.13))
        side = 0.49 + sign * 0.285, 0.49 + sign * 0.285, 0.49 + sign * 0.14
        pen.poly((232, 164, 172), (side[0], 0.20), (side[1], 0.075), (side[2], 0.14))
    pen.blob(
        colour, (0.49, 0.085), (0.74, 0.14), (0.86, 0.34), (0.75, 0.50), (0.49, 0.55), (0.23, 0.50), (0.12, 0.34),
        (0.24, 0.14),
    )  # fmt: skip
    for x in (0.42, 0.49, 0.56):
        pen.line(dark, 0.025, (x, 0.11), (x, 0.17))
    pen.oval(light, 0.35, 0.37, 0.63, 0.535)
    for x in (0.24, 0.60):
        pen.oval((206, 216, 96), x, 0.235, x + 0.14, 0.375)
        pen.oval(_EYE, x + 0.045, 0.24, x + 0.095, 0.37)
        pen.oval((255, 255, 255), x + 0.05, 0.255, x + 0.075, 0.285)
    pen.poly((222, 112, 124), (0.45, 0.395), (0.53, 0.395), (0.49, 0.44))
    pen.line(dark, 0.012, (0.43, 0.475), (0.46, 0.485), (0.49, 0.45), (0.52, 0.485), (0.55, 0.475))


def bird(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a bird flying, wings up; the beak is at the right."""
    dark, light = shade(colour, 0.72), shade(colour, 1.26)
    pen.blob(dark, (0.56, 0.62), (0.40, 0.36), (0.34, 0.06), (0.58, 0.16), (0.78, 0.56))
    pen.poly(dark, (0.30, 0.64), (0.0, 0.58), (0.06, 0.72), (0.0, 0.84), (0.32, 0.78))
    pen.blob(
        colour, (0.22, 0.70), (0.48, 0.54), (0.84, 0.50), (1.02, 0.40), (1.18, 0.46), (1.20, 0.64), (1.06, 0.84),
        (0.74, 0.98), (0.44, 0.92),
    )  # fmt: skip
    pen.blob(light, (0.50, 0.82), (0.84, 0.76), (1.10, 0.68), (1.04, 0.82), (0.76, 0.95), (0.56, 0.93))
    pen.poly((240, 164, 52), (1.17, 0.46), (1.38, 0.57), (1.17, 0.64))
    pen.oval((255, 255, 255), 1.045, 0.465, 1.125, 0.565)
    pen.oval(_EYE, 1.065, 0.475, 1.125, 0.555)
    pen.blob(shade(colour, 0.86), (0.50, 0.74), (0.48, 0.40), (0.60, 0.0), (0.78, 0.18), (0.90, 0.66), (0.70, 0.80))
    pen.blob(dark, (0.60, 0.0), (0.56, 0.13), (0.66, 0.20), (0.78, 0.18))


def car(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a car from the side, the bonnet at the right."""
    dark, glass = shade(colour, 0.72), (176, 212, 232)
    pen.blob(
        colour, (0.26, 0.50), (0.44, 0.10), (0.62, 0.0), (1.20, 0.0), (1.38, 0.08), (1.68, 0.48), (1.0, 0.56)
    )  # fmt: skip
    pen.poly(glass, (0.46, 0.42), (0.60, 0.11), (0.90, 0.09), (0.90, 0.42))
    pen.poly(glass, (0.99, 0.42), (0.99, 0.09), (1.24, 0.10), (1.50, 0.42))
    pen.poly(shade(glass, 1.5), (0.70, 0.10), (0.80, 0.10), (0.66, 0.42), (0.56, 0.42))
    pen.rect(colour, 0.02, 0.40, 1.98, 0.84, 0.4)
    pen.rect(dark, 0.0, 0.69, 2.0, 0.85, 0.5)
    pen.rect((255, 238, 168), 1.87, 0.48, 1.98, 0.61, 0.5)
    pen.rect((222, 70, 62), 0.02, 0.48, 0.10, 0.61, 0.4)
    pen.line(dark, 0.022, (0.945, 0.44), (0.945, 0.70))
    for x in (0.80, 1.28):
        pen.rect(dark, x, 0.50, x + 0.09, 0.535, 0.5)
    for x in (0.26, 1.30):
        pen.oval(shade(colour, 0.45), x - 0.03, 0.53, x + 0.45, 0.98)
        pen.oval(_DARK, x, 0.58, x + 0.42, 1.0)
        pen.oval((192, 196, 204), x + 0.11, 0.69, x + 0.31, 0.89)
        pen.oval((128, 132, 142), x + 0.17, 0.75, x + 0.25, 0.83)


def boat(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a sailing boat: hull, mast, two sails and a pennant."""
    sail = (250, 247, 238)
    pen.rect((122, 88, 62), 0.535, 0.02, 0.565, 0.80)
    pen.poly(colour, (0.565, 0.0), (0.70, 0.035), (0.565, 0.075))
    pen.blob(sail, (0.59, 0.09), (0.68, 0.26), (0.88, 0.50), (1.06, 0.665), (0.82, 0.675), (0.59, 0.67), (0.588, 0.40))
    pen.blob(shade(sail, 0.88), (0.51, 0.14), (0.51, 0.42), (0.51, 0.67), (0.31, 0.675), (0.14, 0.66), (0.34, 0.44))
    pen.line(shade(sail, 0.82), 0.008, (0.60, 0.42), (0.80, 0.42))
    pen.poly(colour, (0.0, 0.72), (1.14, 0.72), (1.02, 0.93), (0.94, 1.0), (0.20, 1.0), (0.12, 0.93))
    pen.poly(shade(colour, 0.76), (0.095, 0.88), (1.05, 0.88), (1.02, 0.93), (0.94, 1.0), (0.20, 1.0), (0.12, 0.93))
    pen.rect((252, 249, 240), 0.0, 0.715, 1.14, 0.765, 0.4)
    for x in (0.34, 0.54, 0.74):
        pen.oval((252, 249, 240), x, 0.79, x + 0.065, 0.855)


def traffic_light(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw three lamps on a pole, one of them lit."""
    pen.rect((96, 100, 110), 0.085, 0.44, 0.125, 1.0)
    pen.rect((78, 82, 92), 0.045, 0.96, 0.165, 1.0, 0.3)
    pen.rect(shade(colour, 0.74), 0.0, 0.0, 0.21, 0.50, 0.25)
    pen.rect(colour, 0.014, 0.012, 0.196, 0.488, 0.22)
    lamps = ((0.026, (236, 66, 56)), (0.178, (246, 190, 58)), (0.33, (72, 196, 104)))
    for index, (y, lamp) in enumerate(lamps):
        lit = index == variant % 3
        pen.oval((28, 28, 34), 0.033, y - 0.004, 0.177, y + 0.140)
        pen.oval(lamp if lit else shade(lamp, 0.62), 0.041, y + 0.004, 0.169, y + 0.132)
        if lit:
            pen.oval(shade(lamp, 1.45), 0.068, y + 0.026, 0.118, y + 0.076)


def umbrella(pen: Pen, colour: Colour, variant: int) -> None:
    """Open, with a crook."""
    light, dark, wood = shade(colour, 1.22), shade(colour, 0.78), (104, 74, 54)
    pen.line(wood, 0.038, (0.60, 0.03), (0.60, 0.92), (0.63, 0.97), (0.68, 0.97), (0.70, 0.93))
    for index, tone in enumerate((dark, colour, light, colour, dark)):
        left, right = ((0.0, 0.2), (0.2, 0.43), (0.43, 0.77), (0.77, 1.0), (1.0, 1.2))[index]
        pen.oval(tone, left, 0.49, right, 0.60)
    for tone, half in ((dark, 0.60), (colour, 0.40), (light, 0.17)):
        pen.pie(tone, 0.60 - half, 0.05, 0.60 + half, 1.05, 180, 360)
    pen.rect(wood, 0.58, 0.0, 0.62, 0.06, 0.4)


def frisbee(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a disc in flight, seen from a little above."""
    pen.oval(shade(colour, 0.62), 0.0, 0.16, 2.3, 1.0)
    pen.oval(colour, 0.0, 0.0, 2.3, 0.82)
    pen.oval(shade(colour, 1.3), 0.30, 0.10, 2.0, 0.64)
    pen.oval(shade(colour, 0.9), 0.46, 0.17, 1.84, 0.60)
    pen.oval(shade(colour, 1.12), 0.52, 0.21, 1.78, 0.58)


def sports_ball(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a ball with a band."""
    band = (250, 248, 240) if min(colour) < 200 else (120, 126, 140)
    pen.oval(shade(colour, 0.74), 0.0, 0.0, 1.0, 1.0)
    pen.oval(colour, 0.0, 0.0, 0.95, 0.94)
    pen.blob(band, (0.02, 0.42), (0.30, 0.40), (0.64, 0.50), (0.94, 0.66), (0.89, 0.78), (0.60, 0.64), (0.30, 0.54))
    pen.oval(shade(colour, 1.5), 0.22, 0.12, 0.44, 0.30)


def chair(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw a kitchen chair, seen from the front."""
    dark, light = shade(colour, 0.7), shade(colour, 1.2)
    for x in (0.10, 0.48):
        pen.rect(dark, x, 0.62, x + 0.06, 0.92, 0.3)
    pen.rect(dark, 0.12, 0.80, 0.52, 0.835)
    for x in (0.07, 0.49):
        pen.rect(colour, x, 0.0, x + 0.08, 0.56, 0.4)
    pen.rect(light, 0.07, 0.03, 0.57, 0.15, 0.4)
    pen.rect(colour, 0.13, 0.21, 0.51, 0.28, 0.3)
    pen.rect(colour, 0.13, 0.34, 0.51, 0.41, 0.3)
    pen.poly(light, (0.08, 0.50), (0.56, 0.50), (0.64, 0.62), (0.0, 0.62))
    pen.rect(dark, 0.0, 0.61, 0.64, 0.685, 0.3)
    for x in (0.02, 0.53):
        pen.rect(colour, x, 0.67, x + 0.09, 1.0, 0.3)


def potted_plant(pen: Pen, colour: Colour, variant: int) -> None:
    """Draw leaves over a pot."""
    green = (64, 142, 82)
    for tip, tone, width in (
        ((0.0, 0.34), 0.72, 0.15), ((0.66, 0.32), 0.72, 0.15), ((0.06, 0.14), 0.86, 0.17), ((0.60, 0.13), 0.86, 0.17),
        ((0.20, 0.03), 1.0, 0.17), ((0.45, 0.02), 1.0, 0.17), ((0.33, 0.0), 1.12, 0.18),
    ):  # fmt: skip
        pen.leaf(shade(green, tone), (0.33, 0.70), tip, width)
    pen.poly(colour, (0.12, 0.66), (0.54, 0.66), (0.48, 1.0), (0.18, 1.0))
    pen.poly(shade(colour, 0.8), (0.38, 0.66), (0.54, 0.66), (0.48, 1.0), (0.36, 1.0))
    pen.rect(shade(colour, 1.16), 0.085, 0.62, 0.575, 0.715, 0.3)
    pen.rect(shade(colour, 0.74), 0.12, 0.715, 0.54, 0.74)


_EVERY = (person, bird, cat, dog, car, boat, traffic_light, umbrella, frisbee, sports_ball, chair, potted_plant)
SHAPES: dict[str, Callable[[Pen, Colour, int], None]] = {draw.__name__.replace("_", " "): draw for draw in _EVERY}


@lru_cache(maxsize=256)
def extent(name: str, variant: int) -> tuple[float, float, float, float]:
    """Measure what a shape covers, on a large drawing: x0, y0, x1, y1 in its own units."""
    edge, side = round(_ROOM_AROUND * _MEASURED), round((3 + 2 * _ROOM_AROUND) * _MEASURED)
    image = Image.new("RGB", (side, edge * 2 + _MEASURED))  # no shape has a black as deep as this
    pen = Pen(ImageDraw.Draw(image), (edge, edge, edge + _MEASURED, edge + _MEASURED), mirrored=False)
    SHAPES[name](pen, (90, 91, 92), variant)
    left, top, right, bottom = ((value - edge) / _MEASURED for value in image.getbbox() or (0, 0, 0, 0))
    return left, top, right, bottom


def draw_shape(
    draw: ImageDraw.ImageDraw,
    name: str,
    colour: Colour,
    box: tuple[float, float, float, float],
    *,
    mirrored: bool,
    variant: int,
) -> None:
    """Draw a class so that it fills ``box``, x0, y0, x1, y1 in pixels, to every edge."""
    left, top, right, bottom = extent(name, variant)
    if mirrored:
        left, right = 1 - right, 1 - left
    x_scale, y_scale = (box[2] - box[0]) / (right - left), (box[3] - box[1]) / (bottom - top)
    x, y = box[0] - left * x_scale, box[1] - top * y_scale
    SHAPES[name](Pen(draw, (x, y, x + x_scale, y + y_scale), mirrored), colour, variant)
