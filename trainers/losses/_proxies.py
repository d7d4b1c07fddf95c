"""Class proxies: learned rows that stand for the classes, and the softmax over them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.devices.host import finest, host, send, tensor
from trainers.errors import UserError

# Only a proxy's direction counts, so what matters is the angle moved per step. An Adam step of rate r is about
# r * sqrt(D) long and nearly square to the proxy, whose length starts at 0.58: the angle starts at r * sqrt(D) / 0.58
# and, as the proxy grows, falls towards 1 / sqrt(steps) whatever r is. The papers' rate of 10 (11 000 classes, long
# schedules) turns proxies to arbitrary directions at the start. 0.01 begins with 8 degrees at D = 64, 22 at D = 512:
# proxies reach their classes within some tens of steps, and later steps do not undo earlier ones.
PROXY_LEARNING_RATE = 0.01


def draw_proxies(count: int, dim: int) -> nn.Parameter:
    """Return ``[count, dim]`` rows uniform in +-1/sqrt(dim), from torch's global generator."""
    bound = dim**-0.5
    return nn.Parameter(torch.empty(count, dim).uniform_(-bound, bound))


def known_classes(title: str, labels: Tensor, classes: int) -> Tensor:
    """Return the finest labels ``[B]`` as int64 on the CPU, once each is known to have a proxy.

    Raises:
        UserError: a label is not in 0..classes - 1.
    """
    rows = host(finest(labels))
    unknown = rows[(rows < 0) | (rows >= classes)]
    if len(unknown):
        raise UserError(
            f"{title} has proxies for classes 0 to {classes - 1}; got label {unknown[0]}. "
            f"Build the loss with num_classes of the training set."
        )
    return tensor(rows)


def proxy_softmax(
    queries: Tensor,
    labels: Tensor,
    proxies: Tensor,
    temperature: float,
    num_centers: int = 1,
    temperature_centers: float = 0.1,
) -> Tensor:
    """Return the mean of -log softmax over classes of x . p / T at the true class (Zhai and Wu 2019; Ramzi et al. 2023,
    Eq. 8).

    Args:
        queries: ``[B, D]`` unit rows.
        labels: ``[B]`` or ``[B, L]`` int64, the finest in 0..C-1; best on the CPU.
        proxies: ``[C * num_centers, D]`` raw, rows grouped by class; normalised here.
        temperature: T.
        num_centers: centres per class, pooled by their own softmax-weighted mean.
        temperature_centers: temperature of that pooling.

    Raises:
        UserError: a label has no proxy.
    """
    classes = len(proxies) // num_centers
    targets = known_classes("The proxy softmax", labels, classes)
    logits = queries @ functional.normalize(proxies.to(queries.dtype), dim=-1, eps=1e-12).T
    if num_centers > 1:
        centres = logits.unflatten(1, (classes, num_centers))
        logits = (centres * (centres / temperature_centers).softmax(-1)).sum(-1)
    return functional.cross_entropy(logits / temperature, send(targets, logits.device))
