"""Random numbers that differ between the processes, beside those that must not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from trainers.distributed.group import rank, world


@contextmanager
def own_draws(device: torch.device) -> Iterator[None]:
    """Have dropout and the like draw other numbers in each process; what is drawn afterwards is the same in all."""
    if world() == 1:
        yield
        return
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed((torch.initial_seed() * world() + rank() + 1) % 2**63)
        yield
