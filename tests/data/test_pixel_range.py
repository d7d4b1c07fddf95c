"""Images of more than 8 bits: black and white are decided once for a dataset, said, and kept with the run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.data.world import deep_png, deep_tiff, ramp, saved, write_tree, write_wide
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.captioned.loader import load_captioned
from trainers.data.decode import is_wide, spans, square
from trainers.data.picture import read_picture
from trainers.data.pixel_range import PixelRange
from trainers.retrieval.encoders import encoders_of
from trainers.runs import list_runs

SMALL = "--steps 1 --classes-per-batch 2 --images-per-class 2 --encoder small_conv:width=8 --dim 8"


@pytest.mark.parametrize(
    ("low", "high", "black", "white"),
    [
        (0, 1, 0, 1), (0, 0.9, 0, 1), (0, 0.02, 0, 0.02), (3, 250, 0, 255), (0, 20, 0, 20), (0, 256, 0, 1023),
        (0, 1023, 0, 1023), (0, 1024, 0, 4095), (0, 4095, 0, 4095), (900, 15_000, 0, 16_383), (0, 65_535, 0, 65_535),
        (0, 80_000, 0, 80_000), (-1024, 3071, -1024, 3071), (-1, 1, -1, 1), (0, 0, 0, 1),
    ],
)  # fmt: skip
def test_the_range_follows_from_the_values(low: float, high: float, black: float, white: float) -> None:
    assert PixelRange.of(low, high) == PixelRange(low=black, high=white)


@pytest.mark.parametrize(
    "write",
    [
        lambda top: deep_png(ramp(top)),
        lambda top: deep_tiff(ramp(top), "<"),
        lambda top: deep_tiff(ramp(top), ">"),
        lambda top: saved(ramp(top).astype(np.int32)),
        lambda top: saved(ramp(top).astype(np.float32)),
        lambda top: deep_png(np.repeat(ramp(top)[..., None], 3, axis=2)),
        lambda top: deep_tiff(np.repeat(ramp(top)[..., None], 3, axis=2), "<"),
        lambda top: deep_tiff(np.repeat(ramp(top)[..., None], 3, axis=2), ">"),
        lambda top: deep_png(np.dstack([*[ramp(top)] * 3, np.full((16, 16), 65_535)])),
        lambda top: deep_png(np.dstack([ramp(top), np.full((16, 16), 65_535)])),
    ],
    ids=["I;16", "TIFF", "I;16B", "I", "F", "RGB", "RGB TIFF", "RGB TIFF, Motorola", "RGBA", "LA"],
)
@pytest.mark.parametrize("top", [255, 1023, 4095, 16_383, 65_535])
def test_every_mode_is_scaled_from_its_own_values_or_by_the_range(write, top: int) -> None:
    data = write(top)
    assert is_wide(data) and spans(data).high == top
    for pixels in (square(data, 16), read_picture(data).pixels.transpose(2, 0, 1)):
        assert pixels.min() == 0 and pixels.max() == 255
    shared = square(data, 16, PixelRange(high=65_535)).max()
    assert abs(int(shared) - 255 * top / 65_535) <= 1


def test_numbers_that_are_none_do_not_decide_and_are_black_or_white() -> None:
    values = ramp(0.5).astype(np.float32)
    values[0, :3] = np.nan, np.inf, -np.inf
    assert spans(saved(values)).high == 0.5
    assert square(saved(values), 16)[0, 0, :3].tolist() == [0, 255, 0]


@pytest.mark.parametrize(
    ("tops", "white", "words"),
    [
        ([900, 1000, 40], 1023, "their values are 0 to 1,000, so 0 to 1,023 (10 bits) is read as black to white."),
        ([900, 1000, 4000], 4095, "their values are 0 to 4,000, so 0 to 4,095 (12 bits) is read as black to white."),
        ([200, 250, 90], 255, "their values are 0 to 250, so 0 to 255 (8 bits) is read as black to white."),
    ],
)
def test_a_dataset_has_one_range_that_both_the_look_and_training_say(
    tmp_path: Path, tops: list[float], white: int, words: str
) -> None:
    write_wide(tmp_path / "own", tops)
    choice = DataChoice(source=str(tmp_path / "own"), image_size=16)
    report, data, again = inspect_data(choice), load_data(choice), load_data(choice)
    assert report.pixel_range == data.pixel_range == again.pixel_range == PixelRange(high=white)
    said = f"12 images are stored with more than 8 bits a channel; {words}"
    assert said in report.notes and said in data.notes
    brightest = data.train.images.flatten(1).amax(1).tolist()
    assert sorted(set(brightest)) == sorted(round(255 * top / white) for top in tops)
    assert max(image.max() for sample in report.samples for image in sample.images) >= round(255 * max(tops) / white)
    dark = [name for name in (*data.train.names, *data.test.names) if "2.png" in name and min(tops) < 50]
    said = [f"4 images are nearly black in the range 0 to 1,023 (10 bits): {', '.join(dark)}."] if dark else []
    assert [note for note in data.notes if "nearly black" in note] == said


def test_one_image_of_more_bits_among_many_is_found_whenever_it_comes(tmp_path: Path) -> None:
    write_tree(tmp_path / "own", ["a", "b", "c", "d"], 60)
    (tmp_path / "own" / "b" / "37.png").write_bytes(deep_png(ramp(4000)))
    data = load_data(DataChoice(source=str(tmp_path / "own"), image_size=16))
    assert data.pixel_range == PixelRange(high=4095)
    (row,) = [row for row, name in enumerate(data.train.names + data.test.names) if name == "b/37.png"]
    assert [*data.train.images, *data.test.images][row].max() == 249


def test_the_look_has_no_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_wide(tmp_path / "own", [900, 1000, 4000])
    monkeypatch.setattr("trainers.data.labelled.report.LOOK_SECONDS", -1.0)
    assert inspect_data(DataChoice(source=str(tmp_path / "own"))).pixel_range == PixelRange(high=4095)


def test_the_range_is_kept_with_the_run_and_its_exported_encoder(tmp_path: Path, capsys) -> None:
    write_wide(tmp_path / "own", [900, 1000, 4000])
    runs = ["--runs", str(tmp_path / "runs")]
    assert main(["train", "--data", str(tmp_path / "own"), *SMALL.split(), *runs]) == 0
    (folder,) = list_runs(tmp_path / "runs")
    assert "0 to 4,095 (12 bits) is read as black to white" in (folder.path / "log.txt").read_text()
    assert encoders_of(folder.id, tmp_path / "runs").read(0).pixel_range == PixelRange(high=4095)
    assert main(["export", folder.id, "--out", str(tmp_path / "one.safetensors"), *runs]) == 0
    assert encoders_of(str(tmp_path / "one.safetensors"), tmp_path).read(0).pixel_range == PixelRange(high=4095)
    capsys.readouterr()
    dim = next(name for name in load_data(folder.config.single.data).test.names if name.endswith("0.png"))
    query = ["--image", str(tmp_path / "own" / dim), "--gallery", "test", "--k", "1", "--json"]
    assert main(["retrieve", folder.id, *query, *runs]) == 0
    nearest = json.loads(capsys.readouterr().out)["arms"][0]["ranking"]["results"][0]
    assert nearest["similarity"] == pytest.approx(1.0, abs=1e-5)


def test_captioned_images_share_a_range_too(tmp_path: Path) -> None:
    lines = []
    for number, top in enumerate([900, 4000, 1000]):
        (tmp_path / f"{number}.png").write_bytes(deep_png(ramp(top)))
        lines.append(json.dumps({"file_name": f"{number}.png", "caption": "a ramp"}))
    (tmp_path / "metadata.jsonl").write_text("\n".join(lines))
    dataset = load_captioned(str(tmp_path))
    (images,) = dataset.splits.values()
    assert any("so 0 to 4,095 (12 bits) is read as black to white" in note for note in dataset.notes)
    assert [int(read_picture(image.load() or b"").pixels.max()) for image in images] == [56, 249, 62]
