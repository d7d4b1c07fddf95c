"""Smaller worlds of drawn scenes."""

from __future__ import annotations

from trainers.config import SceneChoice


def fewer_scenes(train: int | None) -> SceneChoice:
    """The drawn scenes with so many to train on, the other splits in proportion; None: as they are."""
    if train is None:
        return SceneChoice()
    return SceneChoice(source=f"drawn_scenes:train={train},val={train // 12},test={max(20, train // 6)}")
