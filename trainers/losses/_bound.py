"""The upper bound on the step function that counts wrongly ranked items.

Ramzi et al., "Robust and Decomposable Average Precision for Image Retrieval" (NeurIPS 2021), Eq. 3-5 of the later
"Optimization of Rank Losses for Image Retrieval" (2023): with t = s_j - s_i and j less relevant than i,

    H-(t) = sig(t/tau)               t <= 0
          = sig(t/tau) + start       0 < t <= delta
          = rho (t - delta) + offset t > delta

delta is where the sigmoid has become flat, delta = tau ln((1 - eps) / eps) (appendix A-C of the same): it follows tau.
The paper says eps = 0.01 and prints delta = 0.05 for tau = 0.01, which is 0.046 rounded. The eps for which the printed
number, and every published setting, is exact is 1 / (1 + e^5) = 0.0067, and then delta is 5 tau.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.parameters import parameter

DELTA_IN_TAUS = 5.0  # ln((1 - eps) / eps)

# start and offset as published with each set of numbers; an offset of None makes the bound continuous at delta.
PRESETS = {"paper": (0.5, None), "sop": (0.5, 1.44), "inat": (0.0, 1.0), "custom": (0.5, None)}

DIFFERS = (
    "The bound is the paper's, continuous at delta; the published code has a step down there for SOP and less than the "
    "true count below it for iNaturalist (`preset`)."
)


@dataclass(frozen=True, kw_only=True)
class SigmoidParameters:
    """The sigmoid's width: all that a Smooth-* loss has, and the bound too."""

    tau: float = parameter(
        0.01, low=0.001, high=1.0, log=True, help="Width of the sigmoid; small is close to true counting."
    )


@dataclass(frozen=True, kw_only=True)
class BoundParameters(SigmoidParameters):
    """The bound's shape, shared by every loss that uses it."""

    rho: float = parameter(
        100.0, low=0.0, high=1000.0, help="Slope beyond delta: the constant pull on badly ranked items."
    )
    delta: float | None = parameter(
        None,
        low=0.0,
        high=1.0,
        help="Similarity gap beyond which the bound grows in a line; empty is 5 tau, where the sigmoid is flat.",
    )
    start: float | None = parameter(
        None, low=0.0, high=2.0, help="Jump at a gap of zero; empty takes the preset's (paper 0.5)."
    )
    offset: float | None = parameter(
        None, low=0.0, high=10.0, help="Height just beyond delta; empty takes the preset's (paper: continuous)."
    )
    preset: str = parameter(
        "paper",
        choices=tuple(PRESETS),
        help="paper is continuous at delta; sop and inat rerun published tables; a start or offset given here wins.",
    )


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The resolved bound: every number known."""

    tau: float
    rho: float
    delta: float
    start: float
    offset: float

    @property
    def edge(self) -> float:
        """sig(delta / tau), the sigmoid's height at delta."""
        return 1.0 / (1.0 + math.exp(-self.delta / self.tau))

    @property
    def edge_slope(self) -> float:
        """The sigmoid's slope at delta, per unit of similarity."""
        return self.edge * (1.0 - self.edge) / self.tau


def resolve(parameters: BoundParameters) -> Bound:
    """Fill delta from tau, and start and offset from the preset, where they were not given."""
    delta = parameters.delta if parameters.delta is not None else DELTA_IN_TAUS * parameters.tau
    start, offset = PRESETS[parameters.preset]
    start = parameters.start if parameters.start is not None else start
    offset = parameters.offset if parameters.offset is not None else offset
    if offset is None:
        offset = start + 1.0 / (1.0 + math.exp(-delta / parameters.tau))
    return Bound(tau=parameters.tau, rho=parameters.rho, delta=delta, start=start, offset=offset)


@dataclass(frozen=True, kw_only=True)
class SmoothLift:
    """A step with a slope, for finer items counted above coarser ones (Ramzi et al. 2022, smooth H-rank).

    leak * t for t <= 0, min(beta * t + gamma, 1) for t > 0.
    """

    beta: float
    leak: float
    gamma: float

    def value(self, gap: Tensor) -> Tensor:
        """Return the height at each gap."""
        return torch.where(gap > 0, (self.beta * gap + self.gamma).clamp(max=1.0), self.leak * gap)

    def slope(self, gap: Tensor) -> Tensor:
        """Return the slope at each gap."""
        rising = self.beta * (self.beta * gap + self.gamma < 1.0).to(gap.dtype)
        return torch.where(gap > 0, rising, self.leak)
