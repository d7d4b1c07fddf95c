"""The toy kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trainers.config import RunConfig
from trainers.kinds.arm_view import ArmView
from trainers.kinds.base import Kind
from trainers.metrics.measures import Measures, Panel
from trainers.parameters import default_of, parameter

MEASURES = Measures(
    numbers=("R_at_1",),
    part=("on {probe_images} points",),
    whole=("R_at_1",),
    whole_test=("whole test set, {images} points", "whole test set"),
    headline=("R_at_1",),
    panels=(Panel(key="R_at_1"), Panel(key="loss")),
    later=("images_per_s",),
    legend="",
)


@dataclass(frozen=True, kw_only=True)
class ToyConfig(RunConfig):
    """Clusters of points, and a learning rate per arm."""

    kind: ClassVar[str] = "toy"

    minutes: float | None = default_of(RunConfig, "minutes", None)
    steps: int | None = default_of(RunConfig, "steps", 40)
    clusters: int = parameter(5, low=2, high=20, help="Number of clusters.")
    rates: tuple[float, ...] = parameter((0.01, 0.1), help="Learning rate of each arm.")
    head_steps: int = parameter(10, low=1, high=1_000_000, help="Steps of the second stage.")

    @property
    def arms(self) -> int:
        """One per rate."""
        return len(self.rates)


class Toy(Kind[ToyConfig]):
    """See the module."""

    name = "toy"
    title = "Toy clusters"
    verb = "toy"
    sentence = "Learn to tell clusters of points apart."
    config = ToyConfig
    main = ("steps",)
    more = ("seed",)

    def loop(self):
        """The loop."""
        from trainers.kinds.toy.loop import ToyLoop

        return ToyLoop

    @property
    def measures(self) -> Measures:
        """R@1 alone."""
        return MEASURES

    def arms(self, config: ToyConfig) -> list[ArmView]:
        """One per rate."""
        return [ArmView(title=f"rate {rate:g}", name=f"rate_{rate:g}", label="rate") for rate in config.rates]

    def source(self, config: ToyConfig) -> str:
        """The clusters."""
        return f"{config.clusters} clusters"
