"""The numbers that encoders compute in, and the scale of the loss that float16 needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

import torch
from torch import Tensor
from torch.optim import Optimizer

HALF: Mapping[str, torch.dtype] = MappingProxyType({"bf16": torch.bfloat16, "fp16": torch.float16})
OVERFLOWS_IN_A_ROW = 24
"""So many make the scale of 65,536 a 256th: it is not the scale that makes the gradient too large."""
_CPU = torch.device("cpu")
_asked: ContextVar[str] = ContextVar("precision", default="auto")


@contextmanager
def computing_in(precision: str) -> Iterator[None]:
    """Have encoders compute in ``precision``, one of :data:`trainers.config.PRECISIONS`, wherever :func:`autocast` is
    entered inside the block.
    """
    token = _asked.set(precision)
    try:
        yield
    finally:
        _asked.reset(token)


def autocast(device: torch.device) -> torch.autocast:
    """Return the context in which an encoder on ``device`` computes; its results are to be converted to float32.

    bfloat16 on a GPU and float32 elsewhere, unless :func:`computing_in` says otherwise.
    """
    precision = _asked.get()
    if precision == "auto":
        return torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda")
    return torch.autocast(device.type, HALF.get(precision), enabled=precision in HALF)


class LossScale:
    """Scales the loss, so that the gradients inside an encoder are large enough for float16, and halves the scale where
    they are too large: such a step changes no weight. Otherwise it does nothing.

    It is :class:`torch.amp.GradScaler`, which reads nothing from the device if the optimizer has a fused form, with its
    state in checkpoints.

    Attributes:
        overflows: steps that changed no weight.

    Args:
        precision: one of :data:`trainers.config.PRECISIONS`; ``fp16`` alone is scaled.
        device: of the weights.
    """

    def __init__(self, precision: str = "auto", device: torch.device = _CPU) -> None:
        self._scaler = torch.amp.GradScaler(device.type, enabled=precision == "fp16")
        self.overflows = 0
        self._in_a_row = 0

    def enlarged(self, loss: Tensor) -> Tensor:
        """Scale the loss."""
        return self._scaler.scale(loss)

    def reduce(self, optimiser: Optimizer) -> None:
        """Divide the gradients of the optimizer's weights by the scale."""
        self._scaler.unscale_(optimiser)

    def step(self, optimiser: Optimizer) -> None:
        """Take the optimizer's step, unless a gradient is not finite; then choose the next scale."""
        self._scaler.step(optimiser)
        self._scaler.update()

    def forgives(self, loss: float, norm: float) -> bool:
        """Count a step, in order; returns whether its gradient, ``norm`` long, is too large for the scale alone."""
        over = self._scaler.is_enabled() and math.isfinite(loss) and not math.isfinite(norm)
        self._in_a_row = self._in_a_row + 1 if over else 0
        forgiven = over and self._in_a_row <= OVERFLOWS_IN_A_ROW
        self.overflows += forgiven
        return forgiven

    def sentence(self, title: str) -> str:
        """Write the number of steps that changed no weight, for the log; empty without any."""
        if not self.overflows:
            return ""
        return f"precision: {self.overflows} steps of {title} changed no weight, because float16 overflowed"

    def tensors(self) -> dict[str, Tensor]:
        """Return the state, for a checkpoint; nothing without a scale. Waits for the device."""
        state = self._scaler.state_dict()
        if not state:
            return {}
        numbers = (state["scale"], state["_growth_tracker"], self.overflows, self._in_a_row)
        return {"scale": torch.tensor(numbers, dtype=torch.float64)}

    def load(self, numbers: Tensor | None) -> None:
        """Restore what :meth:`tensors` returned; None: the scale begins anew."""
        state = self._scaler.state_dict()
        if numbers is None or not state:
            return
        scale, unchanged, overflows, in_a_row = numbers.tolist()
        self._scaler.load_state_dict(state | {"scale": scale, "_growth_tracker": int(unchanged)})
        self.overflows, self._in_a_row = int(overflows), int(in_a_row)
