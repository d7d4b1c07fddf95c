"""One arm of a fine-tuning: a copy of the model, and its training pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from trainers.devices.host import send
from trainers.devices.precision import autocast
from trainers.image_text.base import ImageTextModel
from trainers.kinds.finetuning.training_pairs import Examples
from trainers.training.arm import Arm
from trainers.training.augmentations import Augment
from trainers.training.stage import Stage


class RecipeArm(Arm):
    """Steps its own copy of a model on the pairs of one recipe.

    Args:
        augment: changes the images of a batch before the model's own preprocessing.
        seed: of the augmentation.
    """

    what = "pairs"

    def __init__(
        self,
        index: int,
        title: str,
        model: ImageTextModel,
        examples: Examples,
        device: torch.device,
        *,
        augment: Augment,
        seed: int,
    ) -> None:
        self.model = model.to(device)
        self.examples = examples
        self._augment = augment
        self._seed = seed
        super().__init__(index, title, {"model": self.model}, device)

    def groups(self, networks: Mapping[str, nn.Module], stage: Stage) -> list[dict[str, Any]]:
        """Return the matrices with weight decay, the rest without."""
        weights = [weight for net in networks.values() for weight in net.parameters() if weight.requires_grad]
        # gains, biases and temperatures are no directions in feature space: decay would only pull them off their scale
        return [
            {
                "params": [w for w in weights if w.ndim >= 2],
                "lr": stage.learning_rate,
                "weight_decay": stage.weight_decay,
            },
            {"params": [w for w in weights if w.ndim < 2], "lr": stage.learning_rate, "weight_decay": 0.0},
        ]

    def step(self, batch: int, factor: float) -> dict[str, Tensor | float]:
        """Take one optimizer step on the pairs of step number ``batch``."""
        self.model.train()
        pixels, tokens, rows = self.examples.at(batch)
        images = self.laid_out(self._augment(send(pixels, self._device), seed=self._seed, step=batch, view=0))
        with autocast(self._device):
            seen, read = self.model.image_features(images), self.model.text_features(send(tokens, self._device))
        terms = self.model.terms(seen.float(), read.float())
        loss = torch.stack(list(terms.values())).sum()
        self.descend(loss, factor, batch, rows)
        return {"loss": loss.detach(), "examples": float(len(rows))}

    def after_step(self) -> None:
        """Let the model clamp parameters that have bounds, such as its temperature."""
        self.model.after_step()
