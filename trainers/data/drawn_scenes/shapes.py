"""How each class looks: flat shapes of two or three tones that fill their box."""

from __future__ import annotations

from collections.abc import Callable

from trainers.data.drawn_scenes.pen import Colour, Pen, shade

_SKIN, _HAIR, _DARK = (222, 172, 136), (74, 52, 40), (44, 44, 52)


def person(pen: Pen, colour: Colour) -> None:
    """Standing, one arm raised a little."""
    pen.rect(shade(_DARK, 1.25), 0.28, 0.62, 0.47, 0.97, 0.3)
    pen.rect(_DARK, 0.52, 0.62, 0.71, 0.97, 0.3)
    pen.rect(_HAIR, 0.20, 0.95, 0.49, 1.0, 0.5)
    pen.rect(_HAIR, 0.50, 0.95, 0.80, 1.0, 0.5)
    pen.line(shade(colour, 0.8), 0.085, (0.30, 0.33), (0.10, 0.50), (0.07, 0.60))
    pen.oval(_SKIN, 0.0, 0.57, 0.15, 0.65)
    pen.line(shade(colour, 0.9), 0.085, (0.70, 0.33), (0.90, 0.44), (0.91, 0.34))
    pen.oval(_SKIN, 0.83, 0.27, 1.0, 0.36)
    pen.rect(colour, 0.22, 0.25, 0.78, 0.66, 0.3)
    pen.rect(shade(colour, 0.82), 0.22, 0.50, 0.78, 0.66, 0.3)
    pen.rect(_SKIN, 0.42, 0.18, 0.58, 0.29)
    pen.oval(_SKIN, 0.30, 0.02, 0.70, 0.23)
    pen.pie(_HAIR, 0.27, 0.0, 0.73, 0.24, 170, 370)


def dog(pen: Pen, colour: Colour) -> None:
    """Walking, seen from the side; the muzzle is at the right."""
    dark, light = shade(colour, 0.72), shade(colour, 1.3)
    pen.line(dark, 0.10, (0.16, 0.45), (0.05, 0.28), (0.04, 0.10))
    for x in (0.16, 0.58):
        pen.rect(dark, x + 0.06, 0.60, x + 0.16, 1.0, 0.4)
    for x in (0.14, 0.56):
        pen.rect(colour, x - 0.02, 0.58, x + 0.09, 1.0, 0.4)
    pen.rect(colour, 0.10, 0.36, 0.74, 0.74, 0.5)
    pen.oval(light, 0.22, 0.55, 0.66, 0.75)
    pen.poly(colour, (0.60, 0.60), (0.56, 0.32), (0.70, 0.12), (0.84, 0.34), (0.74, 0.62))
    pen.oval(colour, 0.58, 0.04, 0.88, 0.40)
    pen.rect(light, 0.76, 0.20, 1.0, 0.38, 0.5)
    pen.oval(_DARK, 0.92, 0.18, 1.0, 0.27)
    pen.poly(dark, (0.62, 0.02), (0.54, 0.30), (0.60, 0.38), (0.70, 0.16))
    pen.poly(dark, (0.62, 0.0), (0.66, 0.20), (0.72, 0.08))
    pen.oval((250, 250, 250), 0.75, 0.12, 0.81, 0.20)
    pen.oval(_DARK, 0.77, 0.13, 0.81, 0.20)
    pen.line((198, 60, 56), 0.06, (0.58, 0.42), (0.76, 0.46))


def cat(pen: Pen, colour: Colour) -> None:
    """Sitting, looking out of the picture."""
    dark, light = shade(colour, 0.7), shade(colour, 1.35)
    pen.line(dark, 0.10, (0.76, 0.92), (0.95, 0.80), (0.93, 0.52), (0.86, 0.44))
    pen.oval(colour, 0.16, 0.40, 0.82, 1.0)
    pen.oval(light, 0.34, 0.52, 0.64, 0.92)
    pen.rect(colour, 0.30, 0.70, 0.44, 1.0, 0.5)
    pen.rect(colour, 0.54, 0.70, 0.68, 1.0, 0.5)
    pen.oval(light, 0.28, 0.91, 0.45, 1.0)
    pen.oval(light, 0.53, 0.91, 0.70, 1.0)
    pen.poly(dark, (0.16, 0.30), (0.15, 0.0), (0.42, 0.14))
    pen.poly(dark, (0.80, 0.30), (0.83, 0.0), (0.56, 0.14))
    pen.poly((232, 160, 170), (0.20, 0.20), (0.20, 0.07), (0.32, 0.14))
    pen.poly((232, 160, 170), (0.77, 0.20), (0.78, 0.07), (0.66, 0.14))
    pen.oval(colour, 0.12, 0.08, 0.86, 0.54)
    pen.oval(light, 0.34, 0.32, 0.64, 0.52)
    for x in (0.26, 0.60):
        pen.oval((196, 208, 84), x, 0.22, x + 0.13, 0.36)
        pen.oval(_DARK, x + 0.045, 0.22, x + 0.09, 0.36)
    pen.poly((214, 110, 120), (0.45, 0.36), (0.53, 0.36), (0.49, 0.42))
    for y in (0.40, 0.46):
        pen.line(light, 0.012, (0.36, y), (0.0, y - 0.04))
        pen.line(light, 0.012, (0.62, y), (1.0, y - 0.04))


def bird(pen: Pen, colour: Colour) -> None:
    """Flying, wings up; the beak is at the right."""
    dark, light = shade(colour, 0.7), shade(colour, 1.25)
    pen.poly(dark, (0.36, 0.62), (0.16, 0.0), (0.34, 0.12), (0.62, 0.58))
    pen.poly(dark, (0.22, 0.66), (0.0, 0.56), (0.02, 0.86), (0.26, 0.80))
    pen.oval(colour, 0.14, 0.46, 0.84, 1.0)
    pen.oval(light, 0.30, 0.68, 0.76, 0.98)
    pen.oval(colour, 0.64, 0.34, 0.92, 0.78)
    pen.poly((236, 160, 48), (0.88, 0.48), (1.0, 0.60), (0.88, 0.66))
    pen.oval(_DARK, 0.79, 0.46, 0.85, 0.56)
    pen.poly(shade(colour, 0.85), (0.30, 0.68), (0.40, 0.04), (0.56, 0.20), (0.66, 0.70))


def car(pen: Pen, colour: Colour) -> None:
    """From the side, the bonnet at the right."""
    dark, glass = shade(colour, 0.7), (166, 204, 226)
    pen.poly(colour, (0.16, 0.46), (0.28, 0.0), (0.66, 0.0), (0.82, 0.46))
    pen.poly(glass, (0.23, 0.42), (0.32, 0.09), (0.46, 0.09), (0.46, 0.42))
    pen.poly(glass, (0.50, 0.42), (0.50, 0.09), (0.63, 0.09), (0.74, 0.42))
    pen.rect(colour, 0.0, 0.40, 1.0, 0.84, 0.35)
    pen.rect(dark, 0.0, 0.68, 1.0, 0.84, 0.4)
    pen.rect((250, 232, 150), 0.93, 0.47, 1.0, 0.60, 0.4)
    pen.rect((214, 60, 56), 0.0, 0.47, 0.05, 0.60, 0.4)
    pen.line(dark, 0.03, (0.48, 0.44), (0.48, 0.68))
    for x in (0.13, 0.66):
        pen.oval(_DARK, x, 0.58, x + 0.21, 1.0)
        pen.oval((176, 180, 188), x + 0.06, 0.70, x + 0.15, 0.88)


def boat(pen: Pen, colour: Colour) -> None:
    """A sailing boat: hull, mast, two sails."""
    pen.line((112, 82, 60), 0.03, (0.50, 0.0), (0.50, 0.78))
    pen.poly((246, 244, 236), (0.54, 0.03), (0.54, 0.66), (0.97, 0.66))
    pen.poly(shade((246, 244, 236), 0.9), (0.46, 0.12), (0.46, 0.66), (0.12, 0.66))
    pen.poly(colour, (0.0, 0.72), (1.0, 0.72), (0.84, 1.0), (0.14, 1.0))
    pen.poly(shade(colour, 0.75), (0.07, 0.86), (0.92, 0.86), (0.84, 1.0), (0.14, 1.0))
    pen.rect((250, 248, 240), 0.02, 0.72, 0.98, 0.77)


def traffic_light(pen: Pen, colour: Colour) -> None:
    """Three lamps on a pole."""
    pen.rect((92, 96, 104), 0.40, 0.66, 0.60, 1.0)
    pen.rect(shade(colour, 0.8), 0.0, 0.0, 1.0, 0.72, 0.25)
    pen.rect(colour, 0.08, 0.03, 0.92, 0.69, 0.22)
    for y, lamp in ((0.06, (226, 62, 54)), (0.27, (240, 186, 60)), (0.48, (70, 184, 96))):
        pen.oval(shade(lamp, 0.5), 0.22, y, 0.78, y + 0.19)
        pen.oval(lamp, 0.28, y + 0.015, 0.72, y + 0.17)


def umbrella(pen: Pen, colour: Colour) -> None:
    """Open, with a crook."""
    pen.line((96, 70, 52), 0.06, (0.50, 0.0), (0.50, 0.90), (0.56, 0.985), (0.63, 0.90))
    pen.pie(colour, 0.0, 0.06, 1.0, 1.06, 180, 360)
    pen.pie(shade(colour, 0.75), 0.0, 0.06, 1.0, 1.06, 180, 216)
    pen.pie(shade(colour, 0.75), 0.0, 0.06, 1.0, 1.06, 252, 288)
    pen.pie(shade(colour, 0.75), 0.0, 0.06, 1.0, 1.06, 324, 360)
    for x in (0.0, 0.25, 0.5, 0.75):
        pen.pie(shade(colour, 1.2), x, 0.48, x + 0.25, 0.66, 180, 360)


def frisbee(pen: Pen, colour: Colour) -> None:
    """A disc seen from the side, tilted by perspective alone."""
    pen.oval(shade(colour, 0.6), 0.0, 0.18, 1.0, 1.0)
    pen.oval(colour, 0.0, 0.0, 1.0, 0.80)
    pen.oval(shade(colour, 1.3), 0.16, 0.12, 0.84, 0.58)
    pen.oval(colour, 0.26, 0.20, 0.74, 0.50)


def sports_ball(pen: Pen, colour: Colour) -> None:
    """A ball with a band and seams."""
    pen.oval(shade(colour, 0.72), 0.0, 0.0, 1.0, 1.0)
    pen.oval(colour, 0.02, 0.0, 0.94, 0.92)
    pen.poly((250, 248, 240), (0.08, 0.30), (0.92, 0.56), (0.88, 0.72), (0.04, 0.46))
    pen.oval(shade(colour, 1.45), 0.22, 0.12, 0.42, 0.28)


def chair(pen: Pen, colour: Colour) -> None:
    """A kitchen chair, its back at the left."""
    dark = shade(colour, 0.68)
    pen.rect(dark, 0.20, 0.52, 0.30, 0.96, 0.3)
    pen.rect(dark, 0.86, 0.56, 0.96, 0.96, 0.3)
    pen.rect(colour, 0.0, 0.0, 0.14, 1.0, 0.3)
    pen.rect(colour, 0.70, 0.56, 0.82, 1.0, 0.3)
    pen.rect(shade(colour, 1.15), 0.04, 0.02, 0.34, 0.34, 0.2)
    pen.rect(dark, 0.08, 0.10, 0.28, 0.16)
    pen.poly(shade(colour, 1.2), (0.0, 0.50), (0.24, 0.42), (1.0, 0.46), (0.84, 0.58), (0.0, 0.60))
    pen.poly(dark, (0.0, 0.58), (0.84, 0.57), (1.0, 0.47), (1.0, 0.53), (0.84, 0.64), (0.0, 0.65))


def potted_plant(pen: Pen, colour: Colour) -> None:
    """Leaves over a pot."""
    leaf = (66, 140, 78)
    for points in (
        ((0.50, 0.66), (0.02, 0.44), (0.0, 0.20), (0.34, 0.36)),
        ((0.50, 0.66), (0.98, 0.44), (1.0, 0.18), (0.66, 0.36)),
    ):
        pen.poly(shade(leaf, 0.75), *points)
    pen.poly(leaf, (0.50, 0.68), (0.18, 0.30), (0.22, 0.04), (0.46, 0.30))
    pen.poly(leaf, (0.50, 0.68), (0.82, 0.30), (0.80, 0.04), (0.54, 0.30))
    pen.poly(shade(leaf, 1.25), (0.50, 0.70), (0.36, 0.28), (0.50, 0.0), (0.64, 0.28))
    pen.poly(colour, (0.16, 0.66), (0.84, 0.66), (0.74, 1.0), (0.26, 1.0))
    pen.poly(shade(colour, 0.78), (0.56, 0.66), (0.84, 0.66), (0.74, 1.0), (0.56, 1.0))
    pen.rect(shade(colour, 1.15), 0.10, 0.60, 0.90, 0.71, 0.3)


SHAPES: dict[str, Callable[[Pen, Colour], None]] = {
    "person": person,
    "bird": bird,
    "cat": cat,
    "dog": dog,
    "car": car,
    "boat": boat,
    "traffic light": traffic_light,
    "umbrella": umbrella,
    "frisbee": frisbee,
    "sports ball": sports_ball,
    "chair": chair,
    "potted plant": potted_plant,
}
