"""Training from a program, and what a run is then: the same as by command, as tables and arrays."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import rankscope
from tests.tiny import write_images
from trainers.errors import ParameterError, RunError, UserError
from trainers.metrics import evaluate

TINY = {"device": "cpu", "threads": 1, "encoder": "conv4:width=8"}
SMALL = {**TINY, "steps": 3, "probe_size": 30, "dim": 16, "quiet": True}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images"), groups=3)


@pytest.fixture(scope="module")
def run(images: Path, tmp_path_factory: pytest.TempPathFactory) -> rankscope.OpenedRun:
    data = {"source": str(images), "image_size": 24}
    losses = ["supcon_out", {"name": "happier", "parameters": {"alpha": 3.0}}, "roadmap:preset=sop"]
    return rankscope.train(data, losses, runs=tmp_path_factory.mktemp("runs"), **SMALL)


def test_every_public_name_is_there_and_has_words() -> None:
    for name in rankscope.__all__:
        offered = getattr(rankscope, name)
        assert offered.__doc__ if callable(offered) else all(entry.title for entry in offered.values()), name
        assert name in dir(rankscope)
    with pytest.raises(AttributeError, match="it has LoadedModel, LoggedRun"):
        rankscope.nothing  # noqa: B018


def test_a_run_is_tables_and_arrays(run: rankscope.OpenedRun) -> None:
    assert run.phase == "finished" and len(run.losses) == 3 and run.settings["steps"] == 3
    assert [choice["name"] for choice in run.settings["losses"]] == ["supcon_out", "happier", "roadmap"]
    assert run.settings["losses"][1]["parameters"]["alpha"] == 3.0
    results, numbers, labels = run.results(), run.numbers(), run.labels()
    assert list(results.index) == list(run.losses) and results["R_at_1"].between(0, 1).all()
    assert list(numbers.columns) == ["loss", "step", "seconds", "key", "value"] and set(numbers["loss"]) == {
        *run.losses
    }
    assert list(labels.columns) == list(run.levels) and len(labels) == 30
    embeddings = run.embeddings()
    codes = np.stack([pd.factorize(labels[level])[0] for level in run.levels], axis=1)
    for title, rows in embeddings.items():
        assert rows.shape == (30, 16) and rows.dtype == np.float32
        shown = numbers[(numbers.loss == title) & (numbers.key == "R_at_1")].value.iloc[-1]
        assert evaluate(torch.from_numpy(rows), torch.from_numpy(codes), metrics=["R_at_1"])["R_at_1"] == pytest.approx(
            shown
        )
    found = run.retrieved(4, count=5)
    assert found["rank"].tolist() == [1, 2, 3, 4, 5] * 3 and 4 not in found["image"].tolist()
    unit = embeddings[run.losses[0]] / np.linalg.norm(embeddings[run.losses[0]], axis=1, keepdims=True)
    cosines = unit @ unit[4]
    listed = cosines[found[found.loss == run.losses[0]]["image"]]
    assert listed == pytest.approx(np.sort(np.delete(cosines, 4))[::-1][:5], abs=1e-6)
    assert found["shared"].between(0, len(run.levels)).all()


def test_a_run_without_maps_has_a_picture_and_says_that_it_has_none(run: rankscope.OpenedRun) -> None:
    assert run.picture()[:8] == b"\x89PNG\r\n\x1a\n" == run._repr_png_()[:8]
    with pytest.raises(RunError, match="no maps yet"):
        run.maps()


def test_a_run_is_opened_by_its_folder_its_id_and_the_newest(run: rankscope.OpenedRun) -> None:
    for name in (run.path, str(run.path), run.id, "last", run.id[:12]):
        assert rankscope.open_run(name, runs=run.path.parent).id == run.id
    with pytest.raises(UserError, match="There is no run"):
        rankscope.open_run("nothing", runs=run.path.parent)
    with pytest.raises(RunError, match="A query from 0 to 29 was needed; got 30"):
        run.retrieved(30)
    with pytest.raises(RunError, match=r"A step of \[.*\] was needed; got 77"):
        run.embeddings(77)


def test_a_sweep_has_runs(images: Path, tmp_path: Path) -> None:
    data = {"source": str(images), "image_size": 24}
    before = signal.getsignal(signal.SIGINT)
    sweep = rankscope.sweep(data, ["supcon_out"], seeds=[1, 2], runs=tmp_path, **SMALL)
    assert signal.getsignal(signal.SIGINT) is before
    assert [child.settings["seed"] for child in sweep.runs()] == [1, 2]
    assert all(child.results()["R_at_1"].notna().all() for child in sweep.runs())


def test_a_program_trains_in_a_thread_too(images: Path, tmp_path: Path) -> None:
    data, made = {"source": str(images), "image_size": 24}, []
    thread = threading.Thread(
        target=lambda: made.append(rankscope.train(data, ["supcon_out"], runs=tmp_path, **(SMALL | {"steps": 1})))
    )
    thread.start()
    thread.join(120)
    assert [run.phase for run in made] == ["finished"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"losses": ["happyer"]}, "happier"),
        ({"stepz": 3}, "has no setting 'stepz'"),
        ({"losses": ["happier:alpha=-1"]}, "alpha"),
        ({"data": "no/such/folder"}, "no/such/folder"),
        ({"steps": "many"}, "steps"),
    ],
)
def test_what_is_wrong_is_said_and_leaves_no_run(tmp_path: Path, settings: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        rankscope.train(**{"losses": ["supcon_out"], "runs": tmp_path / "runs", **settings})  # type: ignore[arg-type]
    assert not list((tmp_path / "runs").glob("*/config.json"))


def test_pretraining_and_fine_tuning_are_runs_too(images: Path, tmp_path: Path) -> None:
    small = {**TINY, "runs": tmp_path, "quiet": True, "steps": 2}
    data = {"source": str(images), "image_size": 16, "held_out": "images"}
    pretrained = rankscope.pretrain(data, ["simclr"], batch=16, head_steps=1, probe_size=30, **small)
    assert pretrained.phase == "finished" and len(pretrained.losses) == 1
    with pytest.raises(ParameterError, match="recipe"):
        rankscope.finetune(recipes=[{"nothing": 1}], **small)
