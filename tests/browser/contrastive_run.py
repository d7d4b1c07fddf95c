"""A finished contrastive run on real images, trained in seconds, with linear maps."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.synthetic import add_maps
from tests.tiny import tiny_contrastive, write_images
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.worker import Worker


def trained(root: Path, *methods: Choice, **changes: object) -> RunFolder:
    """Train ``methods`` on 96 images of eight classes under ``root`` and draw the maps; changes are of the settings."""
    images = root / "images"
    if not images.exists():
        write_images(root / "made", train=8, test=1, each=12)
        shutil.move(root / "made" / "train", images)
    few = {"batch": 16, "steps": 12, "head_steps": 8, "snapshot_steps": 4}
    folder = RunFolder.create(root / "runs", tiny_contrastive(images, *methods, **(few | changes)))
    state = Worker(folder, lambda _state: None).run()
    assert state.phase == "finished", state.error
    add_maps(folder).db.close()
    return folder
