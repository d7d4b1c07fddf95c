"""The images that the tests of contrastive training share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tiny import write_images


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 images of 4 classes."""
    root = tmp_path_factory.mktemp("images")
    write_images(root / "made", train=4, test=2, each=12)
    return Path(shutil.move(root / "made" / "train", root / "classes"))
