"""Images with and without an object as a dataset: what is in it, read by the library that its readers use."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import numpy as np
import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard
from PIL import Image

from trainers.cli.main import main
from trainers.config import SceneChoice
from trainers.data.captioned.loader import load_captioned
from trainers.data.captioned_images import CaptionedDataset
from trainers.errors import DataError
from trainers.publishing.pairs import PairSettings, write_pairs

CHOICE = SceneChoice(limit=12)


@pytest.fixture(scope="module")
def scenes() -> CaptionedDataset:
    return load_captioned("drawn_scenes", limit=12)


def made(scenes: CaptionedDataset, to: Path, **settings: object) -> tuple[str, Path]:
    to.mkdir()
    files = write_pairs(scenes, PairSettings(scenes=CHOICE, **settings), "ada/gone", to, lambda *_: None)  # type: ignore[arg-type]
    (name,) = (name for name in files if name != "README.md")
    return files["README.md"].read_text(), files[name]


def test_the_images_of_a_pair_differ_inside_the_mask_alone(scenes: CaptionedDataset, tmp_path: Path) -> None:
    known = dataclasses.replace(scenes, revision="c" * 40, licence="CC BY 4.0")
    card, table = made(known, tmp_path / "files", pairs=5)
    rows = load_dataset("parquet", data_files=str(table), split="train", cache_dir=str(tmp_path / "cache"))
    assert 1 <= len(rows) <= 5
    for row in rows:
        image, without, mask = (np.asarray(row[name]) for name in ("image", "without", "mask"))
        gone = mask > 0
        assert image.shape == without.shape and gone.shape == image.shape[:2]
        assert (image[~gone] == without[~gone]).all() and (image[gone] != without[gone]).any()
        assert row["chosen"] in row["removed"] and not set(row["removed"]) & set(row["kept"])
        x0, y0, x1, y1 = row["boxes"][0]
        assert gone[int(y0 + y1) // 2, int(x0 + x1) // 2] and row["captions"]
    scene = next(scene for scene in scenes.splits[scenes.test_split] if scene.image_id == rows[0]["image_id"])
    original = np.asarray(Image.open(io.BytesIO(scene.load() or b"")).convert("RGB"))
    assert (np.asarray(rows[0]["image"]) == original).all()
    data = DatasetCard(card).data
    assert (data.license, data.source_datasets) == ("other", ["drawn_scenes"])
    assert (
        "c" * 40 in card and "CC BY 4.0" in card and "telea" in card and f"{len(rows)} images with and without" in card
    )


def test_what_cannot_be_made_is_a_sentence(scenes: CaptionedDataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"A split of .* was needed: .*; got 'none'"):
        made(scenes, tmp_path / "split", split="none")
    bare = [dataclasses.replace(scene, boxes=(), classes=()) for scene in scenes.splits[scenes.test_split]]
    empty = dataclasses.replace(scenes, splits={"test": bare})
    with pytest.raises(DataError, match=r"No object may be removed .* \(fewer than two classes: 12"):
        made(empty, tmp_path / "bare")


def test_a_wrong_name_of_the_repository_is_refused_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("trainers.publishing.pairs.write_pairs", lambda *_: pytest.fail("images are made"))
    assert main(["push-pairs", "--data", "drawn_scenes", "--limit", "12", "--to", "../x"]) == 1
    assert "owner/name" in capsys.readouterr().err
