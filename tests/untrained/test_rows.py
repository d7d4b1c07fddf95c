"""The rows without training: what each sees, what a run keeps of them, and what they say of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from tests.tiny import tiny_config, write_images
from trainers.cli.main import main
from trainers.cli.work import described, result
from trainers.data import load_data
from trainers.errors import RunError, UserError
from trainers.metrics import evaluate
from trainers.retrieval.untrained.findings import findings
from trainers.retrieval.untrained.of_run import score_run
from trainers.runs import RunFolder, list_runs
from trainers.runs.records import Scalar
from trainers.runs.untrained import Untrained, UntrainedRow, packed_untrained
from trainers.scripting.opened import OpenedRun
from trainers.untrained import scoring
from trainers.untrained.ways import UNTRAINED
from trainers.untrained.ways.base import Setting
from trainers.worker import Worker


def drawn(*squares: tuple[int, int]) -> torch.Tensor:
    """Images of 32 px, a square of some brightness in a corner of each."""
    images = torch.zeros(len(squares), 3, 32, 32, dtype=torch.uint8)
    for image, (value, at) in zip(images, squares, strict=True):
        image[:, at : at + 16, at : at + 16] = value
    return images


IMAGES = drawn((255, 0), (255, 16), (100, 0))


@pytest.mark.parametrize(("name", "alike"), [("colour", 1), ("pixels", 2)])
def test_colour_sees_no_places_and_pixels_do(name: str, alike: int) -> None:
    made = torch.nn.functional.normalize(UNTRAINED[name].embed(IMAGES, Setting()), dim=1)
    assert int((made[0] @ made[1:].T).argmax()) + 1 == alike
    assert torch.isfinite(UNTRAINED[name].embed(IMAGES[:, :1], Setting())).all(), "grey images too"


def test_features_are_those_that_the_run_has_read_and_refuse_what_takes_too_long() -> None:
    features, images = torch.randn(3, 5), IMAGES
    entry = UNTRAINED["features"]
    assert entry.embed(images, Setting(features=features)).equal(features)
    assert entry.of_run(Setting()) == "EfficientNet-Lite0 (ImageNet) at 160 px"
    for small, seconds, said in ((images[..., :16, :16], None, "32 px or more"), (images, 0.0, "take about")):
        with pytest.raises(UserError, match=said):
            entry.embed(small, Setting(seconds=seconds))
    assert entry.embed(images, Setting(seconds=600.0)).shape == (3, 1280)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    place = tmp_path_factory.mktemp("runs")
    config = tiny_config(write_images(place / "images", groups=3), "triplet", "supcon_out", steps=2)
    made = RunFolder.create(place / "runs", config)
    assert Worker(made).run().phase == "finished"
    return made


def test_a_run_keeps_them_beside_its_own_results(folder: RunFolder) -> None:
    record, test = folder.untrained(), load_data(folder.config.data).test
    assert record is not None and [row.name for row in record.rows] == ["chance", "colour", "pixels"]
    assert "32 px or more" in record.lacking["features"] and record.total == len(record.images) == 36
    colour = record.row("colour")
    own = evaluate(UNTRAINED["colour"].embed(test.images, Setting()), test.labels, metrics=["R_at_1", "HAP"])
    assert colour is not None and colour.numbers["test/R_at_1"] == pytest.approx(own["R_at_1"])
    assert colour.numbers["test/HAP"] == pytest.approx(own["HAP"]) and colour.neighbours.shape == (30, 10)
    queries = folder.test_queries()
    assert queries is not None and np.array_equal(record.arms[:, 0], queries.values[:, queries.metrics.index("R_at_1")])
    assert record.before.shape == (2, 2, 30) and np.array_equal(record.before[0], record.before[1], equal_nan=True)
    opened = OpenedRun(folder)
    assert opened.untrained().loc["Colour", "R_at_1"] == pytest.approx(own["R_at_1"])
    text, about = result(folder), described(folder)["untrained"]
    assert "Without training, 36 test images:" in text and opened.findings() == [
        f["sentence"] for f in about["findings"]
    ]
    assert all(sentence in text for sentence in opened.findings())


def test_a_run_of_before_gets_the_same_rows(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = folder.untrained()
    assert first is not None
    folder.untrained_path.unlink()
    again = score_run(folder)
    assert np.array_equal(first.arms, again.arms, equal_nan=True) and [row.title for row in again.rows] == [
        row.title for row in first.rows
    ]
    monkeypatch.setattr(scoring, "MOST", 20)
    folder.untrained_path.unlink()
    some = score_run(folder)
    assert len(some.images) == 20 and some.total == 36 and not len(some.arms), "its own results are of other images"
    folder.write_untrained(first)


@pytest.mark.parametrize("harm", ["images", "labels", "arms", "values0", "neighbours1", "metadata"])
def test_a_damaged_file_is_a_sentence(tmp_path: Path, folder: RunFolder, harm: str) -> None:
    copy, record = RunFolder.create(tmp_path, folder.config), folder.untrained()
    assert record is not None and copy.untrained() is None
    copy.write_untrained(record)
    tensors = load_file(copy.untrained_path)
    if harm in tensors:
        tensors[harm] = tensors[harm] + 40 if "neighbours" in harm else tensors[harm][..., :-1].copy()
    save_file(tensors, copy.untrained_path, {} if harm == "metadata" else packed_untrained(record)[1])
    with pytest.raises(RunError, match="incomplete or damaged"):
        copy.untrained()


def measured(share: float, count: int = 400) -> np.ndarray:
    """Results of so many queries, about a share of them right in both metrics; a query right at one is at a larger."""
    return np.tile((np.random.default_rng(0).random(count) < share).astype(np.float32), (2, 1))


@pytest.mark.parametrize(
    ("ends", "begins", "row", "train", "expected"),
    [
        ((0.4, 0.9), 0.3, 0.7, 0.5, {"below": (0,)}),
        ((0.4, 0.4), 0.7, 0.2, 0.4, {"worse": (0, 1)}),
        ((0.5, 0.8), 0.5, 0.3, 0.9, {"memorised": (0,)}),
        ((0.5, 0.5), 0.5, 0.5, 0.6, {}),
    ],
)
def test_what_they_say_of_a_run(
    tmp_path: Path,
    folder: RunFolder,
    ends: tuple[float, float],
    begins: float,
    row: float,
    train: float,
    expected: dict[str, tuple[int, ...]],
) -> None:
    copy, probe = RunFolder.create(tmp_path, folder.config), folder.probe()
    assert probe is not None
    labels = np.repeat(np.arange(40, dtype=np.int32), 10)
    shown = dataclasses.replace(probe, labels=np.stack([labels % 6, labels % 3], 1), rows=np.arange(400))
    copy.write_probe(dataclasses.replace(shown, attributes=(), files=(), sheets=0), [])
    arms = np.stack([measured(end) for end in ends])
    colour = UntrainedRow(
        name="colour", title="Colour", sentence="", numbers={}, values=measured(row), neighbours=np.zeros((0, 0))
    )
    copy.write_untrained(
        Untrained(
            rows=(colour,),
            images=np.arange(400),
            labels=labels,
            total=400,
            classes=12,
            arms=arms,
            before=np.stack([measured(begins)] * 2),
            after=arms,
        )
    )
    numbers = {"train_R_at_1": (train, train), "test/R_at_1": ends}
    copy.db.add_metrics(
        Scalar(arm=arm, step=2, seconds=1.0, key=key, value=values[arm])
        for key, values in numbers.items()
        for arm in (0, 1)
    )
    found = {finding.kind: finding for finding in findings(copy)}
    assert {kind: finding.arms for kind, finding in found.items()} == expected
    for kind, words in {"below": "Colour without any training: R@1 ", "memorised": "12 training classes"}.items():
        assert kind not in found or words in found[kind].sentence


def test_images_without_classes_are_a_map_of_published_features(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loose = tmp_path / "loose"
    loose.mkdir()
    for number, file in enumerate(sorted(write_images(tmp_path / "images").rglob("*.png"))[:20]):
        file.rename(loose / f"{number}.png")
    assert main(["open", str(loose), "--runs", str(tmp_path / "runs")]) == 0
    assert "These images have no classes, so this is the map of a published encoder" in capsys.readouterr().out
    (run,) = list_runs(tmp_path / "runs")
    assert run.state().phase == "finished" and run.embeddings(0)[0].shape == (20, 1280) and run.untrained() is None
