"""Random numbers for the pottery: a counter through splitmix64's mixing function.

The generators of numpy and Python keep their streams only by promise of a version; this one is integer arithmetic, so
a seed draws the same images everywhere, and every image owns its own stream, whatever is drawn before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


class Rng:
    """A stream of draws owned by one key, e.g. ``Rng(seed, "image", 17)``."""

    def __init__(self, *key: int | str) -> None:
        state = 0
        for part in key:
            words = part.encode() if isinstance(part, str) else part.to_bytes(16, "little", signed=True)
            for byte in words:
                state = _mix((state * 257 + byte + 1) & _MASK)
        self._state = state

    def bits(self) -> int:
        """Draw 64 uniform bits."""
        self._state = (self._state + _GOLDEN) & _MASK
        return _mix(self._state)

    def unit(self) -> float:
        """Draw a number in [0, 1) with 53 bits."""
        return (self.bits() >> 11) / (1 << 53)

    def between(self, low: float, high: float) -> float:
        """Draw uniformly from [low, high)."""
        return low + (high - low) * self.unit()

    def around(self, spread: float) -> float:
        """Draw around 0 within plus or minus ``spread``, bell-shaped: the mean of three uniforms."""
        return spread * (2.0 * (self.unit() + self.unit() + self.unit()) / 3.0 - 1.0)

    def below(self, count: int) -> int:
        """Draw a whole number in [0, count)."""
        return (self.bits() * count) >> 64

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.unit() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """Draw one of ``items``."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Put ``items`` in random order (Fisher-Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
