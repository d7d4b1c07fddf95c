"""The contents of ``config.json`` of a run that was not trained here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trainers.config import RunConfig
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class BroughtConfig(RunConfig):
    """Whose embeddings, and of which images. Nothing here can be trained, so no setting of a training counts."""

    kind: ClassVar[str] = "brought"
    described: ClassVar[str] = "trainers.brought.kind:BROUGHT"

    models: tuple[str, ...] = parameter((), title="Model", help="Name of each model.")
    title: str = parameter("", title="Images", help="Name of the images.")
    logged: bool = parameter(False, help="A training loop of somebody's own logs it; otherwise it came from files.")

    @property
    def arms(self) -> int:
        """How many models there are."""
        return len(self.models)

    @property
    def single(self) -> RunConfig:
        """The settings of the run: these."""
        return self
