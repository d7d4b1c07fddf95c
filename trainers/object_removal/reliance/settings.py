"""The settings of a measurement; quick to import."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a measurement."""

    data: str | None = parameter(
        None,
        title="Images",
        help="A dataset with boxes or masks: drawn, drawn_scenes, a folder or a Hub id. Empty: the run's test set.",
    )
    fill: str | None = parameter(
        None,
        registry="trainers.object_removal.fills:FILLS",
        help="What is put in the place of the object; empty: drawn again where that can be done, else telea.",
    )
    queries: int = parameter(500, low=10, high=20_000, log=True, help="Most queries, chosen at random.")
    gallery: int = parameter(20_000, low=20, high=1_000_000, help="Most images that are searched.")
    seed: int = parameter(0, low=0, high=2**31 - 1, flag="query-seed", help="Of the choice of the queries.")
