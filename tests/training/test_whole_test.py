"""The numbers at the end: over every test image, told while they are made, stopped and taken up again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.exports.pages import curve_panels, write_curves
from explorer.server.library import Library
from tests.tiny import tiny_config
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.kinds import kind_of
from trainers.kinds.metric_learning.evaluation import Evaluator
from trainers.metrics import describe
from trainers.runs import RunFolder, list_runs
from trainers.runs.records import RunState
from trainers.worker import Worker


class EnoughError(Exception):
    """Raised to stop."""


def evaluator(test: torch.Tensor, labels: torch.Tensor) -> Evaluator:
    return Evaluator(
        train=test[:8],
        train_labels=labels[:8],
        test=test,
        test_labels=labels,
        probe=torch.arange(8),
        device=torch.device("cpu"),
    )


def test_a_large_test_set_is_not_cut() -> None:
    count = 20_500
    test = torch.zeros(count, 3, 2, 2, dtype=torch.uint8)
    said: list[str] = []

    def tell(text: str, _fraction: float) -> None:
        said.append(text)
        if "20,500 of" in text:
            raise EnoughError

    model = torch.nn.Flatten().train()
    with pytest.raises(EnoughError):
        evaluator(test, torch.arange(count)[:, None] // 2).whole_test(model, tell)
    assert said[0] == "embedding the whole test set: 128 of 20,500"
    assert said[-1] == "embedding the whole test set: 20,500 of 20,500"
    assert model.training


def test_it_says_how_far_the_scoring_is_and_how_many_images_there_were() -> None:
    draws = torch.Generator().manual_seed(0)
    test = torch.randint(0, 256, (60, 3, 4, 4), dtype=torch.uint8, generator=draws)
    said: list[str] = []
    whole = evaluator(test, torch.arange(60)[:, None] // 3).whole_test(
        torch.nn.Flatten(), lambda text, _fraction: said.append(text)
    )
    numbers = whole.numbers
    assert said[-1] == "scoring the whole test set: 60 of 60"
    assert numbers["test/images"] == 60 and "test/images_before_cap" not in numbers


def test_the_numbers_stand_beside_the_figures(tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tiny_config(images, data=DataChoice(source=str(images), image_size=24, max_images=24), probe_size=20)
    assert Worker(RunFolder.create(tmp_path, config)).run().phase == "finished"
    (folder,) = list_runs(tmp_path)
    values = {scalar.key: scalar.value for scalar in folder.scalars()}
    assert (values["probe_images"], values["train_images"]) == (20, 24)
    assert (values["test/images"], values["test/images_before_cap"]) == (24, 36)
    run = Library(tmp_path, tmp_path / "none").get(folder.id)
    page = tmp_path / "curves.html"
    write_curves(run, page)
    assert "At the end, test set, 24 of its 36 images under the cap:" in page.read_text(encoding="utf-8")
    counted = {describe(key).title for key in ("train_images", "probe_images")}
    assert not counted & set(curve_panels(folder.scalars(), 2, kind_of(run.config).measures))
    small = "--steps 2 --classes-per-batch 4 --images-per-class 3 --encoder small_conv:width=8 --dim 16 --threads 1"
    assert main(["train", "--data", str(images), *small.split(), "--runs", str(tmp_path / "two")]) == 0
    assert "; whole test set, 36 images:" in capsys.readouterr().out


def test_a_fine_tuning_says_how_many_removals_and_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.finetuning.world import mend_config, write_coco

    config = mend_config(write_coco(tmp_path / "coco", test=16), {})
    config = dataclasses.replace(config, queries=10)
    folder = RunFolder.create(tmp_path / "runs", config)
    messages: list[str] = []
    assert Worker(folder, lambda state: messages.append(state.message)).run().phase == "finished"
    values = {scalar.key: scalar.value for scalar in folder.scalars()}
    assert values["queries"] == 10 < values["test/queries"] <= 16 and values["sentences"] <= values["test/sentences"]
    log = (folder.path / "log.txt").read_text()
    assert f"benchmark: {values['test/queries']:.0f} removals" in log and "test images 0 cannot be read" in log
    assert main(["resume", folder.id, "--runs", str(tmp_path / "runs")]) == 0
    said = f"all {values['test/queries']:,.0f} removals of the test set against all {values['test/sentences']:,.0f}"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(("limit", "reached"), [(10, True), (24, True), (25, False)])
def test_a_fine_tuning_on_some_photos_of_a_set_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: int, reached: bool
) -> None:
    from tests.finetuning.world import mend_config, write_coco

    config = mend_config(write_coco(tmp_path / "coco", test=16), {"removed": False}, steps=1)
    scenes = dataclasses.replace(config.scenes, limit=limit)
    config = dataclasses.replace(config, scenes=scenes)
    folder = RunFolder.create(tmp_path / "runs", config)
    assert Worker(folder).run().phase == "finished"
    found = {scalar.key: scalar.value for scalar in folder.scalars()}
    assert main(["resume", folder.id, "--runs", str(tmp_path / "runs")]) == 0
    told = capsys.readouterr().out
    if reached:
        assert found["test/photos_of_each_split"] == limit
        assert f", of {limit} images of each split at most:" in told and "all " not in told.partition(":")[0]
    else:
        assert "test/photos_of_each_split" not in found and " removals of the test set against all " in told
    run = Library(tmp_path / "runs", tmp_path / "none").get(folder.id)
    panels = curve_panels(folder.scalars(), 1, kind_of(run.config).measures)
    assert "ODmAP@1" in panels and describe("photos_of_each_split").title not in panels


def test_stopped_while_it_scores_it_is_resumed_to_the_same_end(tmp_path: Path, images: Path) -> None:
    config = tiny_config(images, "supcon_out")
    whole = RunFolder.create(tmp_path, config)
    assert Worker(whole).run().phase == "finished"
    folder = RunFolder.create(tmp_path, config)

    def stop(state: RunState) -> None:
        if state.message == "scoring the whole test set":
            folder.send("stop")

    state = Worker(folder, stop).run()
    assert (state.phase, state.step) == ("stopped", 6) and folder.test_queries() is None
    assert not [scalar for scalar in folder.scalars() if scalar.key.startswith("test/")]
    assert Worker(folder).run().phase == "finished"
    for row, other in zip(_rows(whole), _rows(folder), strict=True):
        assert row == other
    kept, again = whole.test_queries(), folder.test_queries()
    assert kept and again and np.array_equal(kept.values, again.values, equal_nan=True)
    assert kept.fingerprint == again.fingerprint != ""
    (first, _), (second, _) = whole.read_checkpoint() or ({}, {}), folder.read_checkpoint() or ({}, {})
    assert first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def _rows(folder: RunFolder) -> list[tuple[int, int, str, float]]:
    timed = ("images_per_s", "loss", "test/processor")  # speeds, and means over windows of time
    found = [dataclasses.astuple(s) for s in folder.scalars() if not s.key.startswith((*timed, "term/"))]
    return sorted((arm, step, key, value) for arm, step, _, key, value in found if step in (0, 6))
