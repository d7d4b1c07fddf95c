"""The command behind the shipped weights, at a toy size: the mechanics, not the numbers."""

from __future__ import annotations

import pytest

from tests.make import tiny_clip
from trainers.image_text.models import MODELS
from trainers.image_text.models.tiny_clip import WEIGHTS

SMALL = ["--scenes", "60", "--threads", "1"]


@pytest.mark.long
def test_weights_are_trained_mended_and_written(tmp_path, capsys):
    assert tiny_clip.main([*SMALL, "--steps", "2", "--finetune-steps", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in ("tiny_clip", "tiny_clip_mended"):
        assert (tmp_path / name / WEIGHTS).stat().st_size < 6_000_000
        MODELS["tiny_clip"].build({"weights": str(tmp_path / name)})
        card = (tmp_path / name / "README.md").read_text()
        assert "python -m tests.make.tiny_clip" in card and "ODmAP_at_1" in card and f"{name}:" in said
    first = (tmp_path / "tiny_clip" / WEIGHTS).read_bytes()
    assert first != (tmp_path / "tiny_clip_mended" / WEIGHTS).read_bytes()
    assert tiny_clip.main([*SMALL, "--keep-base", "--finetune-steps", "1", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "tiny_clip" / WEIGHTS).read_bytes() == first
