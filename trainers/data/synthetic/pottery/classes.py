"""The classes: every pot is a silhouette with a glaze, a motif and an ink that no other pot combines."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.data.synthetic.engine.colour import Colour
from trainers.data.synthetic.engine.rng import Rng
from trainers.data.synthetic.pottery.motifs import MOTIFS
from trainers.data.synthetic.pottery.silhouettes import SHELVES, Silhouette
from trainers.hierarchy import Hierarchy

Paint = tuple[str, str, str]
"""Glaze, motif, ink."""
LEVELS = ("pot", "shape", "shelf")
TRAIN_PER_SHAPE, TEST_PER_SHAPE = 6, 5

GLAZES: dict[str, Colour] = {
    "celadon": (141, 179, 155),
    "cobalt": (52, 97, 143),
    "oatmeal": (219, 205, 178),
    "umber": (92, 68, 58),
    "brick": (184, 90, 66),
    "ochre": (214, 163, 72),
    "sky": (146, 187, 208),
    "plum": (126, 92, 128),
    "teal": (46, 124, 120),
    "rose": (212, 156, 150),
}
INKS: dict[str, Colour] = {
    "cream": (244, 236, 218),
    "indigo": (38, 50, 92),
    "rust": (154, 58, 36),
    "forest": (38, 82, 62),
    "black": (40, 36, 38),
    "gold": (232, 184, 84),
}
SPANS: tuple[tuple[float, float], ...] = ((0.04, 0.96), (0.12, 0.62), (0.42, 0.94))
_LEAST_CONTRAST = 125


@dataclass(frozen=True, kw_only=True)
class Pot:
    """A finest class.

    Attributes:
        name: e.g. ``celadon tea bowl, indigo waves``.
        silhouette: its outline; ``shape`` and ``shelf`` are the class ids of the two coarser levels.
        span: share of the silhouette's canvas, from its lower end up, that is painted.
    """

    name: str
    silhouette: Silhouette
    shape: int
    shelf: int
    glaze: str
    motif: str
    ink: str
    span: tuple[float, float]


def make_pots(seed: int) -> tuple[tuple[Pot, ...], tuple[Pot, ...]]:
    """Make the train and the test pots, shelf by shelf, shape by shape.

    Glazes and motifs are dealt out evenly to every shape and inks without regard to it, so that none of them tells a
    shape or a shelf; the three together tell a pot wherever it stands. A loss that only separates pots is thus free to
    ignore shapes and shelves.
    """
    rng = Rng(seed, "pots")
    taken: set[Paint] = set()
    glazes, motifs = _Deck(tuple(GLAZES), rng), _Deck(tuple(MOTIFS), rng)
    train: list[Pot] = []
    test: list[Pot] = []
    shape = 0
    for shelf, (_, silhouettes) in enumerate(SHELVES):
        for silhouette in silhouettes:
            for number in range(TRAIN_PER_SHAPE + TEST_PER_SHAPE):
                glaze, motif, ink = paint = _paint(taken, glazes, motifs, rng)
                taken.add(paint)
                pot = Pot(
                    name=f"{glaze} {silhouette.name}, {ink} {motif}",
                    silhouette=silhouette,
                    shape=shape,
                    shelf=shelf,
                    glaze=glaze,
                    motif=motif,
                    ink=ink,
                    span=rng.pick(SPANS),
                )
                (train if number < TRAIN_PER_SHAPE else test).append(pot)
            shape += 1
    return tuple(train), tuple(test)


def hierarchy(pots: tuple[Pot, ...]) -> Hierarchy:
    """Return the tree over ``pots``, whose class ids are their positions."""
    shapes = tuple(silhouette.name for _, silhouettes in SHELVES for silhouette in silhouettes)
    shelves = tuple(name for name, _ in SHELVES)
    return Hierarchy(levels=LEVELS, names=(tuple(pot.name for pot in pots), shapes, shelves))


class _Deck:
    """Cards dealt without replacement and shuffled again when they run out."""

    def __init__(self, cards: tuple[str, ...], rng: Rng) -> None:
        self._cards, self._rng = cards, rng
        self._left: list[str] = []

    def deal(self) -> str:
        if not self._left:
            self._left = self._rng.shuffled(self._cards)
        return self._left.pop()


def _paint(taken: set[Paint], glazes: _Deck, motifs: _Deck, rng: Rng) -> Paint:
    """Choose a paint that no pot has: the next glaze, the next motif that still has a free ink on it."""
    glaze = glazes.deal()
    inks = [ink for ink in INKS if _contrast(GLAZES[glaze], INKS[ink]) >= _LEAST_CONTRAST]  # they stand out on it
    while True:
        motif = motifs.deal()
        free = [(glaze, motif, ink) for ink in inks if (glaze, motif, ink) not in taken]
        if free:
            return rng.pick(free)


def _contrast(a: Colour, b: Colour) -> int:
    """Return the difference of two colours, (2 red + 4 green + 3 blue) / 4."""
    return (2 * abs(a[0] - b[0]) + 4 * abs(a[1] - b[1]) + 3 * abs(a[2] - b[2])) // 4
