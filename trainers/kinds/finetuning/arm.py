"""One arm of a mending run: a copy of the model, its optimiser and its training pairs."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from trainers.image_text.base import CrossModal
from trainers.kinds.finetuning.training_pairs import Examples
from trainers.training.clipping import Clipping
from trainers.training.deferred import depth_for
from trainers.training.host import send
from trainers.training.optimizer import Stepper, under


class MendArm:
    """Steps one model on the pairs of one recipe. Arms of a run start from the same weights.

    Args:
        index, title: of the arm.
        model: its own copy.
        examples: its training pairs.
    """

    def __init__(
        self,
        index: int,
        title: str,
        model: CrossModal,
        examples: Examples,
        *,
        optimiser: str = "adamw",
        learning_rate: float,
        weight_decay: float,
        device: torch.device,
        clip_norm: float | None = None,
    ) -> None:
        self.index = index
        self.title = title
        self.model = model.to(device)
        self.examples = examples
        self._device = device
        weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        # gains, biases and temperatures are no directions in feature space: decay would only pull them off their scale
        groups = [
            {"params": [w for w in weights if w.ndim >= 2], "lr": learning_rate, "weight_decay": weight_decay},
            {"params": [w for w in weights if w.ndim < 2], "lr": learning_rate, "weight_decay": 0.0},
        ]
        self._stepper = Stepper(
            [group for group in groups if group["params"]],
            optimiser=optimiser,
            clip_norm=clip_norm,
            depth=depth_for(device),
        )

    def step(self, step: int, factor: float) -> dict[str, Tensor | float]:
        """One optimiser step on the batch of ``step``; ``factor`` is the schedule's, 0..1.

        Returns:
            ``loss``, a scalar on the device, and ``pairs``, how many the batch held.

        Raises:
            NonFiniteLossError: this step, or on a GPU the one before, was bad; it changed no weight.
        """
        self.model.train()
        photos, tokens, rows = self.examples.at(step)
        images = send(photos, self._device).float() / 255
        with torch.autocast("cuda", torch.bfloat16, enabled=self._device.type == "cuda"):
            seen, read = self.model.image_features(images), self.model.text_features(send(tokens, self._device))
        terms = self.model.terms(seen.float(), read.float())
        loss = torch.stack(list(terms.values())).sum()
        self._stepper.step(loss, factor, lambda value, norm: self._blame(step, rows.tolist(), value, norm))
        self.model.after_step()
        return {"loss": loss.detach(), "pairs": float(len(rows))}

    def settle(self) -> None:
        """Wait for the steps taken so far.

        Raises:
            NonFiniteLossError: one of them was bad.
        """
        self._stepper.settle()

    @property
    def clipping(self) -> Clipping:
        """How often this arm's gradient was clipped."""
        return self._stepper.clipping

    def tensors(self) -> dict[str, Tensor]:
        """Weights and optimiser state by name, for a checkpoint."""
        prefix = f"arm{self.index}"
        found = {f"{prefix}/model/{name}": value for name, value in self.model.state_dict().items()}
        return found | self._stepper.tensors(f"{prefix}/optimiser/")

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`tensors` gave."""
        own = under(tensors, f"arm{self.index}/")
        self.model.load_state_dict(under(own, "model/"))
        self._stepper.load(under(own, "optimiser/"))

    def _blame(self, step: int, rows: list[int], value: float, norm: float) -> str:
        first = ", ".join(str(row) for row in rows[:6])
        return (
            f"{self.title} stopped being a number (loss {value}, gradient {norm}) in step {step + 1}. The batch held "
            f"{len(rows)} pairs, the first of them rows {first} of the training pairs. The model is as it was before "
            "this step. Try a smaller learning rate, or look at these photos."
        )
