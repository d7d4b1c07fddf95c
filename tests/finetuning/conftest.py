"""The captioned photos that the tests of fine-tuning share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.finetuning.world import write_coco


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_coco(tmp_path_factory.mktemp("coco"))
