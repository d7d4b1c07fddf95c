"""A training loop of one's own: what it logs is a run, and nothing that goes wrong reaches it."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.waiting import wait
from trainers.brought.log import log_run
from trainers.errors import DataError
from trainers.metrics import evaluate
from trainers.runs import list_runs
from trainers.runs.label import read_label

COUNT = 40
LABELS = {"species": [f"s{i % 8}" for i in range(COUNT)], "genus": [f"g{i % 4}" for i in range(COUNT)]}


def embeddings(step: int) -> torch.Tensor:
    made = torch.Generator().manual_seed(step)
    return torch.nn.functional.one_hot(torch.arange(COUNT) % 8).float() + torch.randn(COUNT, 8, generator=made)


def test_a_loop_is_a_run_while_it_goes_on_and_when_it_has_ended(tmp_path: Path) -> None:
    images = [torch.rand(3, 16, 16) for _ in range(COUNT)]
    run = log_run("triplet on my birds", runs=tmp_path, images=images, labels=LABELS)
    folder = list_runs(tmp_path)[0]
    assert folder.id == run.id and folder.state().phase == "running" and read_label(folder.path).name
    for step in range(3):
        run.log(step, loss=1.0 / (step + 1), lr=0.1)
        run.frame(step, embeddings(step))
        wait(lambda step=step: len(folder.snapshots()) == step + 1)
    run.finish()
    expected = evaluate(embeddings(2), torch.tensor([[i % 8, i % 4] for i in range(COUNT)]), metrics=["R_at_1", "HAP"])
    newest = folder.newest("loss", "logged/lr", "R_at_1", "test/R_at_1", "test/HAP")
    assert newest[0, "loss"] == pytest.approx(1 / 3) and newest[0, "logged/lr"] == pytest.approx(0.1)
    assert newest[0, "R_at_1"] == newest[0, "test/R_at_1"] == pytest.approx(expected["R_at_1"])
    assert newest[0, "test/HAP"] == pytest.approx(expected["HAP"])
    assert folder.state().phase == "finished" and not folder.is_alive()


def test_how_many_images_there_are_may_be_known_by_the_first_embeddings_alone(tmp_path: Path) -> None:
    with log_run("plain", runs=tmp_path) as run:
        assert run.id == ""
        run.frame(0, np.random.default_rng(0).normal(size=(50, 4)))
    assert list_runs(tmp_path)[0].state().phase == "finished"


def test_a_loop_that_ends_with_an_error_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lost"), log_run("x", runs=tmp_path, labels=LABELS) as run:
        run.frame(0, embeddings(0))
        raise ValueError("lost")
    state = list_runs(tmp_path)[0].state()
    assert state.phase == "failed" and "ValueError: lost" in (state.error or "")


@pytest.mark.parametrize("wrong", ["shape", "nan", "key", "text", "deleted", "none", "step", "model"])
def test_nothing_that_goes_wrong_reaches_the_loop(wrong: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = log_run("x", runs=tmp_path, labels=LABELS)
        if wrong == "deleted":
            shutil.rmtree(list_runs(tmp_path)[0].path)
        if wrong == "key":
            run.log(0, **{"<b>": 1.0})
        if wrong in ("step", "model"):
            run.log(*{"step": (-1,), "model": (0,)}[wrong], model=9 * (wrong == "model"), loss=1.0)
        if wrong == "text":
            run.log(0, loss="high")  # type: ignore[arg-type]
        run.frame(
            0, {"shape": torch.zeros(3, 2), "nan": embeddings(0) * torch.nan, "none": None}.get(wrong, embeddings(0))
        )
        run.log(1, loss=1.0)
        run.finish()
    said = [str(each.message) for each in caught if each.category is RuntimeWarning]
    assert len(said) == 1 and said[0].startswith("This run is not logged completely")

    for folder in list_runs(tmp_path) if wrong != "deleted" else ():
        state = folder.state()
        assert folder.scalars(), "what was right is kept"
        assert state.phase == ("failed" if wrong in ("shape", "nan", "none") else "finished")


def test_a_buffer_that_the_loop_uses_again_is_copied(tmp_path: Path) -> None:
    run = log_run("x", runs=tmp_path, labels=LABELS)
    buffer = embeddings(0)
    expected = evaluate(buffer.clone(), torch.tensor([[i % 8, i % 4] for i in range(COUNT)]), metrics=["R_at_1"])
    run.frame(0, buffer)
    buffer.zero_()
    run.finish()
    assert list_runs(tmp_path)[0].newest("test/R_at_1")[0, "test/R_at_1"] == pytest.approx(expected["R_at_1"])


def test_a_frame_that_fails_costs_no_numbers_whatever_they_are_called(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = log_run("x", runs=tmp_path)  # its numbers wait for the first frame
        run.log(1, **{"loss": 0.5, "step": 3})
        run.log(step=2, loss=0.25)
        run.frame(2, embeddings(2) * torch.nan)
        wait(lambda: list_runs(tmp_path) and len(list_runs(tmp_path)[0].scalars()) == 3)
        run.log(loss=0.125)
        run.finish()
    rows = [(row.key, row.step, row.value) for row in list_runs(tmp_path)[0].scalars()]
    assert rows == [("loss", 1, 0.5), ("logged/step", 1, 3.0), ("loss", 2, 0.25)]
    assert len([each for each in caught if each.category is RuntimeWarning]) == 1, "the first alone is told"


@pytest.mark.parametrize("labels", [list("abcd") * 10, np.arange(COUNT) % 4, torch.arange(COUNT) % 4])
def test_what_does_not_fit_leaves_the_rest(tmp_path: Path, labels: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = log_run("x", runs=tmp_path, labels=labels)
        for epoch in range(3):
            for step in range(4):
                run.log({"loss": epoch + step / 10, "step": step, "lr": [0.1], "more": None})  # type: ignore[dict-item]
            run.frame(step, embeddings(epoch))
            wait(lambda epoch=epoch: len(list_runs(tmp_path)[0].snapshots()) == epoch + 1)
        run.finish()
        run.log(9, loss=1.0)
    (folder,) = list_runs(tmp_path)
    losses = [(row.step, row.value) for row in folder.scalars() if row.key == "loss"]
    assert losses == [(4 * epoch + step, epoch + step / 10) for epoch in range(3) for step in range(4)]
    assert [step for _, step, _ in folder.snapshots()] == [3, 7, 11]
    said = [str(each.message).partition(": ")[2] for each in caught if each.category is RuntimeWarning]
    assert said == [
        "'lr' is left out (float() argument must be a string or a real number, not 'list')",
        "'more' is left out (float() argument must be a string or a real number, not 'NoneType')",
        "step 0 came after step 3, so steps are counted on from 4",
        "log and frame were called after finish, and keep nothing",
    ]


def test_a_run_says_what_its_embeddings_were(tmp_path: Path) -> None:
    with log_run("none", runs=tmp_path / "none", labels=LABELS) as run:
        run.log(0, loss=1.0)
    with pytest.warns(RuntimeWarning), log_run("nan", runs=tmp_path / "nan", labels=LABELS) as run:
        for step in range(3):
            run.frame(step, embeddings(step) / (step < 2))
            wait(lambda step=step: len(list_runs(tmp_path / "nan")[0].snapshots()) == min(step, 1) + 1)
    (none,), (nan,) = (list_runs(tmp_path / name) for name in ("none", "nan"))
    assert none.state().phase == nan.state().phase == "failed"
    assert "No embeddings were logged" in str(none.state().error)
    assert nan.state().error == "The embeddings of step 2, the last ones, could not be kept."


def test_where_warnings_are_errors_nothing_is_raised(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = log_run("x", runs=tmp_path, labels=LABELS)
        run.log(0, loss="high")  # type: ignore[arg-type]
        run.frame(0, embeddings(0))
        run.finish()
    assert list_runs(tmp_path)[0].state().phase == "finished"


def test_numbers_without_any_images_are_told(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match="no embeddings were logged"):
        run = log_run("x", runs=tmp_path)
        run.log(0, loss=1.0)
        run.finish()
    assert list_runs(tmp_path) == []


def test_what_is_wrong_at_the_beginning_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="A genus for each of 40 images was needed; got 3"):
        log_run("x", runs=tmp_path, labels=LABELS | {"genus": ["a", "b", "c"]})
    with pytest.raises(DataError, match="An image for each of 40 rows"):
        log_run("x", runs=tmp_path, labels=LABELS, images=[b""] * 3)
    assert list_runs(tmp_path) == []


def test_numbers_that_come_too_fast_are_dropped_and_the_newest_frame_is_kept(tmp_path: Path) -> None:
    run = log_run("x", runs=tmp_path, labels=LABELS)
    for step in range(300):
        run.log(step, loss=float(step))
        run.frame(step, embeddings(step))
    run.finish()
    folder = list_runs(tmp_path)[0]
    assert folder.snapshots()[-1][1] == 299
    assert folder.newest("loss")[0, "loss"] is not None
