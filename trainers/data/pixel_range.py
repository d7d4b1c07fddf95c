"""The values that are black and white in images of more than 8 bits: read off the images, once for a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trainers.cells import counted

_TOPS = (1, 255, 1023, 4095, 16_383, 65_535)
"""Largest values of cameras and programs: parts of 1, and 8, 10, 12, 14 and 16 bits."""
_BITS = {255: 8, 1023: 10, 4095: 12, 16_383: 14, 65_535: 16}
_FILLED = 1 / 8  # of a range that the largest value must reach: below it, an image would be nearly black
PIXELS = "pixel_range"
"""Under this name checkpoints and files of encoders keep the range of the images that they were trained on."""
DARK = 16
"""An image without a pixel as bright as this, of 255, is nearly black."""


@dataclass(frozen=True, kw_only=True)
class PixelRange:
    """Values of a file that become 0 and 255; those beyond become what is nearest."""

    low: float = 0.0
    high: float

    @classmethod
    def of(cls, low: float, high: float) -> PixelRange:
        """Return the range of images whose smallest and largest value these are.

        White is the next of 1, 255, 1,023, 4,095, 16,383 and 65,535, or the largest value itself where it is beyond
        them, or below an eighth of it. Black is 0, or the smallest value where it is negative.
        """
        if low < 0:
            return cls(low=low, high=max(high, low + 1e-6))
        top = next((top for top in _TOPS if high <= top), high)
        return cls(high=float(high if 0 < high < top * _FILLED else top))

    def as_list(self) -> list[float]:
        """Return it as JSON has it; :meth:`from_list` reads it."""
        return [self.low, self.high]

    @classmethod
    def from_list(cls, values: object) -> PixelRange | None:
        """Read what :meth:`as_list` gave; None: there is none.

        Raises:
            ValueError: it is no range.
        """
        if values is None:
            return None
        match values:
            case [float() | int() as low, float() | int() as high] if math.isfinite(high - low) and low < high:
                return cls(low=float(low), high=float(high))
        raise ValueError("a range of pixels needs two numbers, the smaller one first")

    @property
    def text(self) -> str:
        """In words, such as "0 to 1,023 (10 bits)"."""
        bits = _BITS.get(int(self.high)) if not self.low and self.high == int(self.high) else None
        return f"{number(self.low)} to {number(self.high)}" + (f" ({bits} bits)" if bits else "")

    def eight_bit(self, values: np.ndarray) -> np.ndarray:
        """Scale values, of any shape, to uint8."""
        scaled = (np.asarray(values, np.float64) - self.low) * 255 / (self.high - self.low)
        return np.clip(np.rint(np.nan_to_num(scaled)), 0, 255).astype(np.uint8)

    def note(self, spans: Spans, seen: int, total: int) -> str:
        """Say the range, where ``spans`` are of ``seen`` of ``total`` images."""
        what, their = counted(spans.images, "image", "is"), "its" if spans.images == 1 else "their"
        of = "" if seen == total else f"Of {seen:,} images looked at, of {total:,}, "
        values = f"{their} values are {number(spans.low)} to {number(spans.high)}"
        return f"{of}{what} stored with more than 8 bits a channel; {values}, so {self.text} is read as black to white."


UNDECIDED = PixelRange(high=math.nan)
"""The range of a dataset in which no image of more than 8 bits was met yet."""


@dataclass(frozen=True, kw_only=True)
class Spans:
    """Smallest and largest value of so many images of more than 8 bits."""

    images: int = 0
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def over(cls, each: Iterable[Spans]) -> Spans:
        """Return those of several sets of images."""
        listed = [spans for spans in each if spans.images]
        if not listed:
            return cls()
        return cls(
            images=sum(spans.images for spans in listed),
            low=min(spans.low for spans in listed),
            high=max(spans.high for spans in listed),
        )

    @property
    def range(self) -> PixelRange | None:
        """The range that is decided by them; None: there is no such image."""
        return PixelRange.of(self.low, self.high) if self.images else None


def number(value: float) -> str:
    """Write a value as people do: whole ones without a point."""
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"
