"""The descriptor of runs that were not trained here."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import TYPE_CHECKING

from trainers.brought.config import BroughtConfig
from trainers.errors import RunError
from trainers.kinds.arm_view import ArmView, numbered
from trainers.kinds.base import Kind
from trainers.metrics.measures import LevelPlot, Measures, Panel
from trainers.runs.records import PHASES, Phase

if TYPE_CHECKING:
    from trainers.training.trainer import Trainer

MEASURES = Measures(
    numbers=("R_at_1", "AP_at_R", "HAP"),
    part=("on {probe_images} images",),
    whole=("R_at_1", "AP_at_R", "HAP"),
    whole_test=("all {images} images", "all images"),
    headline=("R_at_1", "HAP"),
    panels=(Panel(key="R_at_1"), Panel(key="AP_at_R"), Panel(key="HAP")),
    later=("loss", "logged/*", "NDCG", "ASI", "AP_level_l"),
    legend="solid: the images on the maps",
    plots=(
        LevelPlot(
            name="levels",
            title="AP at each level of the label tree",
            note="Bars are AP at the step shown, finest level first; lines are the same over the steps.",
            source="Ramzi et al. 2023, table VI",
            url="https://arxiv.org/abs/2309.08250",
            measure="AP_level_l",
            missing="The run has no AP by level.",
        ),
    ),
)


class Brought(Kind[BroughtConfig]):
    """Embeddings that somebody brought, a model an arm."""

    name = "brought"
    title = "Brought along"
    verb = "open"
    sentence = "Shows embeddings that were not made here."
    config = BroughtConfig
    compares = "models"

    @property
    def measures(self) -> Measures:
        """Those of retrieval; loss and others where a loop logs them."""
        return MEASURES

    def loop(self) -> type[Trainer]:
        """Raise RunError: nothing is trained."""
        raise RunError("This run was not trained here, so it cannot be resumed. What it has can be looked at.")

    def phase(self, name: str) -> Phase:
        """Return the phase without what can be done with it: whoever brought it trains it elsewhere."""
        return dataclasses.replace(PHASES[name], acts=())

    def arms(self, config: BroughtConfig) -> list[ArmView]:
        """List the models."""
        return [
            ArmView(title=title, name=name, label=name)
            for title, name in zip(numbered(config.models), config.models, strict=True)
        ]

    def source(self, config: BroughtConfig) -> str:
        """Return the name of the images."""
        return config.title or "own images"

    def data_title(self, config: BroughtConfig) -> str:
        """Return the name of the images."""
        return self.source(config)

    def run_title(self, config: BroughtConfig, data: str) -> str:
        """Name the models, and the images where these have a name of their own."""
        return " vs ".join(config.models) if data in config.models else super().run_title(config, data)

    def budget(self, config: BroughtConfig) -> list[str]:
        """Say where it comes from."""
        return ["logged by a training loop" if config.logged else "opened from files"]

    def seeds(self, config: BroughtConfig) -> str:
        """Return nothing: its seed is not known."""
        return ""

    def begins_as(self, config: BroughtConfig) -> str:
        """Say of what the numbers at the beginning are."""
        return "at the first step"


BROUGHT = MappingProxyType({Brought.name: Brought()})
"""The descriptor by name, as configurations look it up."""
