"""The seeds of a plan as they are written: how many there are, or the seeds themselves."""

from __future__ import annotations

import re
from typing import Any

from trainers.errors import ParameterError
from trainers.values import is_number

MOST_SEEDS = 20
_BETWEEN = re.compile(r"[,;\s，；、]+")
_NEEDED = (
    f"Seeds are given by their number, 1 to {MOST_SEEDS} (3 for the seeds 0, 1 and 2), or one by one with commas "
    "(4,7,9; of a single seed 4,)"
)


def read_seeds(value: Any) -> Any:
    """Return the seeds that a number or a text stands for; a list of seeds, and what is none of these, stays as it is.

    A number N stands for the seeds 0 to N-1, as a number or as text; text with a comma or a space lists the seeds.

    Raises:
        ParameterError: it is a number of seeds that no plan has, or text that holds something else than whole numbers.
    """
    if isinstance(value, str):
        text = value.strip()
        words = [word for word in _BETWEEN.split(text) if word]
        try:
            numbers = tuple(map(int, words))
        except ValueError:
            numbers = ()
        if not numbers:
            raise ParameterError(f"{_NEEDED}; got {value!r:.60}.")
        return numbers if _BETWEEN.search(text) else _counted(numbers[0])
    if is_number(value) and value == int(value):
        return _counted(int(value))
    return value


def _counted(number: int) -> tuple[int, ...]:
    if not 1 <= number <= MOST_SEEDS:
        raise ParameterError(f"{_NEEDED}; got {number!s:.40}.")
    return tuple(range(number))
