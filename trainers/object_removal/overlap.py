"""The classes that may be taken out of an image (Kim et al. 2023, equations 1 to 3), with the gaps filled.

Readings of ours, where the paper is silent: areas are those of unions; an overlap between tau1 and tau2 forbids the
removal; in the case of several classes the survivors are measured against everything that is removed; a removal after
which no class is left is refused; one class per image is chosen with equal chances under a fixed seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trainers.errors import UserError
from trainers.object_removal.regions import Regions

TAU1, TAU2, TAU3 = 0.4, 0.8, 0.7
"""A class that stays loses less than ``TAU1`` of its area; one that loses more than ``TAU2`` is removed too; the
removed region is less than ``TAU3`` of the image."""
ONE_CLASS = "This image has one class only: nothing is left to be named, so only hallucination can be shown."


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict on taking out one class.

    Attributes:
        chosen: the class asked for.
        removed: it and every class it nearly covers, in the image's order.
        kept: classes that stay.
        case: ``single`` (equation 1) or ``several`` (equation 2).
        lost: class that stays to the share of its area that goes, 0 to 1.
        share: removed region as a share of the image.
        problems: plain sentences, empty if the removal counts for the metric. The page may still do it and show them.
    """

    chosen: str
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    case: Literal["single", "several"]
    lost: dict[str, float]
    share: float
    problems: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        """Whether the removal counts for ODmAP and for object-removed pairs."""
        return not self.problems


def judge(regions: Regions, chosen: str) -> Judgement:
    """Apply equations 1 to 3 to one class of an image.

    Raises:
        UserError: the image has no such class.
    """
    if chosen not in regions.cells:
        raise UserError(f"The image has no {chosen!r}; it has {', '.join(regions.classes) or 'no objects'}.")
    first = regions.cells[chosen]
    swallowed = {name for name in regions.classes if name != chosen and _lost(regions, name, first) > TAU2}
    removed = tuple(name for name in regions.classes if name == chosen or name in swallowed)
    kept = tuple(name for name in regions.classes if name not in removed)
    gone = regions.union(removed)
    lost = {name: _lost(regions, name, gone) for name in kept}
    share = regions.pixels(gone) / regions.total
    return Judgement(
        chosen=chosen,
        removed=removed,
        kept=kept,
        case="several" if swallowed else "single",
        lost=lost,
        share=share,
        problems=_problems(regions, removed, lost, share),
    )


def _problems(regions: Regions, removed: tuple[str, ...], lost: dict[str, float], share: float) -> tuple[str, ...]:
    problems = []
    if len(regions.classes) < 2:
        problems.append(ONE_CLASS)
    elif not lost:
        problems.append(f"With {', '.join(removed)} gone no object is left.")
    for name, part in lost.items():
        if part >= TAU1:
            problems.append(
                f"{name} would lose {part:.0%} of its area: too much to stay (limit {TAU1:.0%}), too "
                f"little to be removed with it (above {TAU2:.0%})."
            )
    if share >= TAU3:
        problems.append(f"The removed region is {share:.0%} of the image; less than {TAU3:.0%} is needed.")
    return tuple(problems)


def judge_all(regions: Regions) -> tuple[Judgement, ...]:
    """Return one judgement per class of the image."""
    return tuple(judge(regions, name) for name in regions.classes)


def choose(regions: Regions, seed: int) -> Judgement | None:
    """Choose one allowed removal with equal chances, the same for the same seed; None if there is none.

    Args:
        seed: any whole number; give every image its own, for example from its id.
    """
    allowed = [judgement for judgement in judge_all(regions) if judgement.allowed]
    return allowed[int(np.random.default_rng(seed).integers(len(allowed)))] if allowed else None


def _lost(regions: Regions, name: str, gone: np.ndarray) -> float:
    """Compute area(gone and B_c) / area(B_c): the class that must survive is the denominator."""
    area = regions.cells[name]
    return regions.pixels(area & gone) / regions.pixels(area)
