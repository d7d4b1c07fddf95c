"""Checks features and their labels, and normalises rows, in float64."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import finest, host
from trainers.errors import UserError
from trainers.metrics.checks import check_finite


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
