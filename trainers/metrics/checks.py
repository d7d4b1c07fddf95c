"""Checks of numbers and of rows with labels before they are measured."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import finest, host, read
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


def check_rows(rows: Tensor, what: str, *, least: int = 1) -> None:
    """Check that rows are a floating table of ``least`` rows or more, finite where they are on the CPU.

    Raises:
        UserError: they are not.
    """
    if rows.dim() != 2 or not rows.is_floating_point() or rows.shape[1] == 0:
        raise UserError(f"The {what} must be a floating table [N, D]; got {rows.dtype} {list(rows.shape)}.")
    if len(rows) < least:
        raise UserError(f"The {what} need at least {least} row{'s' * (least > 1)}; got {len(rows)}. Use more images.")
    check_finite(rows, what)


def check_labels(rows: Tensor, labels: Tensor, what: str) -> np.ndarray:
    """Return the finest labels int64 ``[N]`` on the host, of ``[N]`` or ``[N, L]``, finest level first.

    Raises:
        UserError: there is not one whole number per row.
    """
    labels = torch.as_tensor(labels)
    if labels.dim() not in (1, 2) or len(labels) != len(rows) or labels.is_floating_point():
        raise UserError(
            f"The {what} need whole-number labels, [{len(rows)}] or [{len(rows)}, L]; "
            f"got {labels.dtype} {list(labels.shape)}."
        )
    return host(finest(labels))


def unit_rows(rows: Tensor) -> Tensor:
    """Scale the rows to length one, float64; a row of zeros stays one."""
    return functional.normalize(rows.double(), dim=1, eps=1e-12)
