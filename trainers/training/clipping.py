"""Gradient clipping by norm, with a count of the clipped steps: it affects some losses only, so the log reports it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Clipping:
    """Shortens gradients that are longer than a limit, and counts them.

    Attributes:
        steps: steps taken under the limit; clipped: those whose gradient was shortened. Both stay 0 without a limit.

    Args:
        limit: the longest gradient, as the L2 norm over all weights of one model and its loss; None: no limit.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.steps = 0
        self.clipped = 0

    def shorten(self, weights: Sequence[nn.Parameter], norm: Tensor) -> None:
        """Bring gradients of L2 norm ``norm`` (scalar, on their device) down to the limit, in place; reads nothing."""
        if self.limit is not None:
            nn.utils.clip_grads_with_norm_(weights, self.limit, norm)

    def count(self, norm: float) -> None:
        """Count a step whose gradient was ``norm`` long before it was shortened."""
        if self.limit is not None:
            self.steps += 1
            self.clipped += norm > self.limit

    def scalars(self) -> dict[str, float]:
        """Return ``clipped_share``, 0..1 of all steps so far; nothing without a limit or before the first step."""
        return {"clipped_share": self.clipped / self.steps} if self.steps else {}

    def sentence(self, title: str) -> str:
        """Write the number of clipped steps, for the log; empty without a limit."""
        if not self.steps:
            return ""
        return (
            f"clipping: the gradient of {title} was longer than {self.limit:g} in {self.clipped} of {self.steps} steps"
        )

    def tensors(self) -> dict[str, Tensor]:
        """Return the counts, for a checkpoint."""
        return {"clipping": torch.tensor([self.steps, self.clipped])} if self.steps else {}

    def load(self, counts: Tensor | None) -> None:
        """Restore what :meth:`tensors` returned; None: nothing was counted."""
        self.steps, self.clipped = (0, 0) if counts is None else counts.tolist()
