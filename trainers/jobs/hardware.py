"""The hardware that Hugging Face Jobs offer, as the Hub lists it, and the most that a job on it can cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from trainers.errors import ParameterError
from trainers.parameters import meant

HOUR = 3600
LEAST_SECONDS = 600
"""Shortest limit of a job: installing the program takes minutes of it."""
_UNITS = {"second": 1, "minute": 60, "hour": HOUR}  # seconds of what the Hub gives a price for
_LIMIT = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": HOUR, "d": 24 * HOUR}


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """One kind of machine.

    Attributes:
        name: what it is asked for by, such as ``a10g-small``.
        title: name, processors, memory and GPUs, for people.
        gpus: how many it has.
        hourly: price of an hour in US dollars.
    """

    name: str
    title: str
    gpus: int
    hourly: float

    def most(self, seconds: int) -> float:
        """Return what a job costs that lasts as long as its limit, in US dollars."""
        return self.hourly * seconds / HOUR


def read_hardware(entry: Any) -> Hardware | None:
    """Read an entry of ``HfApi.list_jobs_hardware``; None: its price is none, or for a unit that is not known here."""
    unit = _UNITS.get(str(entry.unit_label).lower().removesuffix("s"))
    price = entry.unit_cost_micro_usd
    if unit is None or not isinstance(price, (int, float)) or not 0 <= price < inf:
        return None
    accelerator = entry.accelerator
    parts = [str(entry.pretty_name), str(entry.cpu), f"{entry.ram} of memory"]
    gpus = 0
    if accelerator is not None and accelerator.type == "gpu":
        gpus = int(accelerator.quantity)
        parts.append(f"{gpus} x {accelerator.model} with {accelerator.vram} together")
    return Hardware(
        name=printable(entry.name), title=printable(", ".join(parts)), gpus=gpus, hourly=price / 1e6 * HOUR / unit
    )


def printable(text: object) -> str:
    """Write what the Hub says without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text))


def chosen(name: str, offered: Sequence[Hardware]) -> Hardware:
    """Return the hardware of that name.

    Raises:
        ParameterError: it is not offered; with what is.
    """
    for hardware in offered:
        if hardware.name == name:
            return hardware
    listed = ", ".join(f"{each.name} (${each.hourly:.2f} an hour)" for each in offered) or "none"
    names = [each.name for each in offered]
    raise ParameterError(
        f"The Hub offers no hardware called {name!r:.60}.{meant(name, names)} Give --flavor one of: {listed}."
    )


def limit_seconds(text: str) -> int:
    """Read a limit of time such as ``90m`` or ``2h``.

    Raises:
        ParameterError: it is none, or too short for a job.
    """
    seconds = duration(text, "--timeout")
    if seconds < LEAST_SECONDS:
        least = LEAST_SECONDS // 60
        raise ParameterError(f"A job needs {least} minutes or more, as it installs the program first; got {text!r}.")
    return seconds


def duration(text: str, flag: str) -> int:
    """Read a number with ``s``, ``m``, ``h`` or ``d``, in whole seconds.

    Raises:
        ParameterError: it is none; with the flag that it was given for.
    """
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        raise ParameterError(f"A time such as 90m or 2h was needed for {flag}; got {text!r:.40}.")
    return round(float(match[1]) * _SECONDS[match[2]])


def said(seconds: float) -> str:
    """Write a time in hours and minutes; below two minutes in seconds."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{minutes} min"] if minutes or not hours else [])])
