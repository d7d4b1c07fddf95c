"""How a loss answers while one image comes nearer to a query: a wrong one, which passes the right ones, or a right one.

The batch is small and fixed: four classes of four images in two families, and two images that are alone in their
classes, a relative of the query's family and a stranger. The query is the centre of the first class. One image is
turned towards it, all else stays. Loss and gradient are those of the loss's own code with its default parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock

import torch
from torch import Tensor

from trainers.errors import UserError
from trainers.losses import LOSSES, LossModule, surrogates

COSINES = (0.9, 0.7, 0.5)
"""Of the other images of a class with its centre."""
RELATED, VIEWED = 0.3, 0.95
"""Cosines of the centres of the classes of a family, and of the views of an image."""
LABELS = torch.tensor([[0, 0], [1, 0], [2, 1], [3, 1], [4, 0], [5, 2]])
"""Class and family of each class; the last two have one image each."""
RIGHT, RELATIVE, STRANGER = 3, -2, -1
"""Rows of the images that move."""
DIM = 64
POINTS, NEAREST = 100, 0.99
STEPS = 50
"""Of training that a loss's own parameters, such as proxies, get on the batch before an image moves."""
DRAWS = 8
"""That a loss which draws at random is the mean of."""
_TURN = Lock()


@dataclass(frozen=True, kw_only=True)
class Move:
    """One image that moves.

    Attributes:
        title: what image it is.
        loss: at each cosine.
        push: how fast the loss falls with the angle between image and query; above 0 the image is pushed away.
    """

    title: str
    loss: list[float]
    push: list[float]


@dataclass(frozen=True, kw_only=True)
class Response:
    """The loss and its gradient while an image moves.

    Attributes:
        cosines: of the moving image and the query.
        marks: cosines of the other images of the query's class with it, at rest.
        moves: of each image that is moved.
        made: how it was computed.
    """

    cosines: list[float]
    marks: tuple[float, ...]
    moves: list[Move]
    made: str


@cache
def response(name: str) -> Response:
    """Compute it for a registered loss.

    Raises:
        UserError: there is no such loss.
    """
    if name not in LOSSES:
        raise UserError(f"There is no loss {name[:80]!r}.")
    loss = LOSSES[name]
    movers = {STRANGER: "image of another class", RIGHT: "image of the query's class"}
    if loss.hierarchy:
        movers = {
            STRANGER: "image of another family",
            RIGHT: "image of the query's class",
            RELATIVE: "image of another class of its family",
        }
    with _alone():
        module = loss.build(num_classes=len(LABELS), dim=DIM, class_labels=LABELS)
        batch = Batch(loss.views)
        learned = batch.train(module)
        draws = 1 if batch.value(module, batch.rows, 1) == batch.value(module, batch.rows, 2) else DRAWS
        moves = [batch.move(module, row, title, draws) for row, title in movers.items()]
    facts = (
        (learned, "its own parameters, such as proxies, were trained on this batch first"),
        (loss.views > 1, f"every image has {loss.views} views, of cosine {VIEWED}"),
        (loss.memory > 0, "there is no memory"),
        (draws > 1, f"each value is the mean of {draws} draws"),
    )
    made = (
        f"Computed by the code of this loss with its default parameters: one image of {len(batch.rows)} is turned "
        "towards the query, the others stay. Dotted lines: the other images of the query's class."
    )
    made = " ".join([made, *(f"{words[0].upper()}{words[1:]}." for holds, words in facts if holds)])
    return Response(cosines=_path().tolist(), marks=COSINES, moves=moves, made=made)


class Uncompiled(Tensor):
    """Of which rank losses are computed by torch alone: for so small a batch, compiling them takes longer."""


class Batch:
    """The images at rest.

    Attributes:
        rows: ``[18, D]`` unit; labels: ``[18, 2]``.
    """

    def __init__(self, views: int) -> None:
        free = iter(torch.eye(max(DIM, 32 * views)))
        axes = [next(free) for _ in LABELS]
        centres = [axes[0], _between(axes[0], axes[1], RELATED), axes[2], _between(axes[2], axes[3], RELATED)]
        rows = [row for at in centres for row in (at, *(_between(at, next(free), cosine) for cosine in COSINES))]
        self.rows = torch.stack([*rows, _between(axes[0], axes[RELATIVE], RELATED), axes[STRANGER]])
        sizes = torch.tensor([1 + len(COSINES)] * len(centres) + [1, 1])
        self.labels = LABELS.repeat_interleave(sizes, 0)
        self._noise = [torch.stack([next(free) for _ in self.rows]) for _ in range(1, views)]

    def value(self, module: LossModule, rows: Tensor, seed: int) -> Tensor:
        """Compute the loss of these rows, or of so many views of them."""
        torch.default_generator.manual_seed(seed)
        views = [rows, *(_between(rows, noise, VIEWED) for noise in self._noise)]
        given = torch.stack(views, 1) if self._noise else rows
        loss: Tensor = module(given.as_subclass(Uncompiled) if surrogates(module) else given, self.labels)
        return loss.as_subclass(Tensor)

    def train(self, module: LossModule) -> bool:
        """Train the loss's own parameters on the images at rest; return whether it has any."""
        parameters = list(module.parameters())
        for step in range(STEPS if parameters else 0):
            slopes = torch.autograd.grad(self.value(module, self.rows, step), parameters, allow_unused=True)
            with torch.no_grad():  # Adam would do; its first use imports torch's compiler, for seconds
                for parameter, slope in zip(parameters, slopes, strict=True):
                    if slope is not None:
                        parameter.sub_(0.02 * (1 - step / STEPS) * slope.sign())
        return bool(parameters)

    def move(self, module: LossModule, row: int, title: str, draws: int) -> Move:
        """Turn the image in a row towards the query."""
        query, mover = self.rows[0], self.rows[row]
        square = torch.nn.functional.normalize(mover - (mover @ query) * query, dim=0)
        losses, pushes = [], []
        for cosine in _path():
            angle = cosine.acos().requires_grad_()
            moved = self.rows.clone()
            moved[row] = angle.cos() * query + angle.sin() * square
            loss = torch.stack([self.value(module, moved, seed) for seed in range(draws)]).mean()
            (slope,) = torch.autograd.grad(loss, angle)
            losses.append(loss.item())
            pushes.append(-slope.item())
        return Move(title=title, loss=[_rounded(value) for value in losses], push=[_rounded(value) for value in pushes])


def _path() -> Tensor:
    return torch.linspace(0, NEAREST, POINTS)


def _rounded(value: float) -> float:
    return round(value, 5) + 0.0  # no negative zero


def _between(first: Tensor, second: Tensor, cosine: float) -> Tensor:
    """Return unit vectors in the plane of two orthogonal ones, at a cosine with the first."""
    return cosine * first + math.sqrt(1 - cosine**2) * second


@contextmanager
def _alone() -> Iterator[None]:
    """One computation at a time; torch's random numbers are afterwards as they were."""
    with _TURN, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        yield
