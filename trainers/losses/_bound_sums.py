"""Sums of the rank bound over (ranked item, less relevant item) pairs, and their derivatives, without autograd.

Two exact forms of the same sum. ``_dense`` evaluates every branch for every pair and suits a few ranked items.
``_sorted`` suits many: the steps and the linear part come from sorting and running sums, so that one sigmoid is left
for each pair.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trainers.losses._bound import Bound

# Given the pair sums of a slice of ranked items [b, r], return d loss / d sum [b, r].
Pull = Callable[[Tensor, slice], Tensor]

# Up to this many ranked items of a query the dense form is faster.
FEW = 12


def bound_pull(rows: Tensor, columns: Tensor, bound: Bound, pull: Pull, budget: int) -> tuple[Tensor, Tensor]:
    """Sum H-(s_j - s_i) over columns j for each row i, get the loss's slope from ``pull``, apply the chain rule.

    Args:
        rows: ``[b, R]`` ascending similarities of the ranked items; fillers far above every column, with slope zero.
        columns: ``[b, C]`` similarities of the less relevant items; fillers far below every row.
        bound: the bound's shape.
        pull: called once for each slice of rows, with their sums.
        budget: largest number of pairs held at once (at least one row's).

    Returns:
        ``[b, R]`` d loss / d rows and ``[b, C]`` d loss / d columns.
    """
    step = max(1, budget // max(1, columns.numel()))
    walk = _dense if rows.shape[1] <= FEW else _sorted
    return walk(rows, columns, bound, pull, step)


def _dense(rows: Tensor, columns: Tensor, bound: Bound, pull: Pull, step: int) -> tuple[Tensor, Tensor]:
    to_rows, to_columns = torch.zeros_like(rows), torch.zeros_like(columns)
    for first in range(0, rows.shape[1], step):
        part = slice(first, min(first + step, rows.shape[1]))
        gap = columns[:, None, :] - rows[:, part, None]
        # Masks are written as numbers into one buffer: several times faster than Booleans on a processor.
        mask = torch.empty_like(gap)
        above = torch.gt(gap, 0, out=mask).sum(-1)
        beyond = torch.gt(gap, bound.delta, out=mask).sum(-1)
        near = gap.div(bound.tau).sigmoid_()
        near.addcmul_(near, mask, value=-1)
        line = gap.sub_(bound.delta).clamp_(min=0).sum(-1)
        steps = bound.start * (above - beyond) + bound.offset * beyond
        pulled = pull(near.sum(-1) + steps + bound.rho * line, part)
        # The sigmoid's slope is near (1 - near) / tau; the division is left for the sums.
        slope = near.addcmul_(near, near, value=-1).add_(mask, alpha=bound.rho * bound.tau)
        to_rows[:, part] = -pulled * slope.sum(-1) / bound.tau
        to_columns += torch.bmm(pulled[:, None, :], slope)[:, 0] / bound.tau
    return to_rows, to_columns


def _sorted(rows: Tensor, columns: Tensor, bound: Bound, pull: Pull, step: int) -> tuple[Tensor, Tensor]:
    low, back = columns.sort(-1)
    known, far = _steps_and_line(rows, low, bound)
    to_rows, to_low, pulls = torch.zeros_like(rows), torch.zeros_like(low), torch.zeros_like(rows)
    edge, slope = bound.edge, bound.edge_slope
    for first in range(0, rows.shape[1], step):
        part = slice(first, min(first + step, rows.shape[1]))
        near = _near(low, rows[:, part], bound)
        # Pairs beyond delta stand at the sigmoid's height there; take that out, the line is already in.
        pulled = pull(known[:, part] + near.sum(-1) - far[:, part] * edge, part)
        near = near.addcmul_(near, near, value=-1)
        to_rows[:, part] = -pulled * (near.sum(-1) / bound.tau + far[:, part] * (bound.rho - slope))
        to_low += torch.bmm(pulled[:, None, :], near)[:, 0] / bound.tau
        pulls[:, part] = pulled
    running = torch.zeros(len(rows), rows.shape[1] + 1, dtype=torch.float64, device=rows.device)
    running[:, 1:] = pulls.double().cumsum(-1)
    passed = torch.searchsorted((rows + bound.delta).contiguous(), low)
    to_low += ((bound.rho - slope) * running.gather(1, passed)).to(low.dtype)
    return to_rows, torch.empty_like(to_low).scatter_(1, back, to_low)


def _steps_and_line(rows: Tensor, low: Tensor, bound: Bound) -> tuple[Tensor, Tensor]:
    """Return all of the bound but its sigmoid, ``[b, R]``, and the number of columns beyond delta, ``[b, R]``."""
    width = low.shape[1]
    # Running sums in double precision: the linear part is a difference of two large sums.
    tail = torch.zeros(len(low), width + 1, dtype=torch.float64, device=low.device)
    tail[:, :width] = low.double().flip(-1).cumsum(-1).flip(-1)
    edges = rows + bound.delta
    above = torch.searchsorted(low, rows, right=True)
    beyond = torch.searchsorted(low, edges, right=True)
    far = width - beyond
    line = tail.gather(1, beyond) - far * edges.double()
    known = bound.rho * line + bound.start * (beyond - above).double() + bound.offset * far.double()
    return known.to(rows.dtype), far.to(rows.dtype)


def _near(low: Tensor, rows: Tensor, bound: Bound) -> Tensor:
    """Return sig(min(s_j - s_i, delta) / tau), ``[b, r, c]``, in one buffer."""
    gap = (low / bound.tau)[:, None, :] - (rows / bound.tau)[:, :, None]
    return gap.clamp_(max=bound.delta / bound.tau).sigmoid_()
