"""Refuses numbers that are not finite, without waiting twice for a GPU."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import read
from trainers.errors import UserError


def check_finite(rows: Tensor, what: str) -> None:
    """Check rows on the CPU; those of a GPU are left to :func:`read_checked`.

    Args:
        rows: ``[N]`` or ``[N, D]``.
        what: names the rows in the message.

    Raises:
        UserError: some are NaN or infinite.
    """
    if rows.device.type == "cpu" and not torch.isfinite(rows).all():
        _refuse(int(_not_finite(rows)), len(rows), what)


def read_checked(table: Tensor, **sides: Tensor) -> np.ndarray:
    """Read a table together with how many rows of the sides are not finite: one wait for a GPU.

    Args:
        table: any shape, float64 or int64.
        sides: ``[N]`` or ``[N, D]``; those on the CPU were checked before. The argument's name names the rows.

    Raises:
        UserError: some rows are NaN or infinite.
    """
    known = {what: side for what, side in sides.items() if side.device.type != "cpu"}
    bad = [_not_finite(side)[None].to(table.dtype) for side in known.values()]
    numbers = read(torch.cat([table.reshape(-1), *bad]))
    for (what, side), count in zip(known.items(), numbers[table.numel() :], strict=True):
        _refuse(int(count), len(side), what)
    return numbers[: table.numel()].reshape(table.shape)


def _not_finite(rows: Tensor) -> Tensor:
    finite = torch.isfinite(rows)
    return (~(finite.all(1) if finite.ndim == 2 else finite)).sum()


def _refuse(bad: int, count: int, what: str) -> None:
    if bad:
        raise UserError(f"The {what} must hold finite numbers; {bad} of {count} rows hold NaN or infinity.")
