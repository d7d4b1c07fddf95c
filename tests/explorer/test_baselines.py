"""The runs that can be pinned beside another, and what the page is told of their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.tabs.live import baselines
from tests.explorer.page import Page
from tests.synthetic import add_snapshot, alive, make_run
from trainers.retrieval.baseline import differences
from trainers.runs import RunFolder
from trainers.runs.records import RunState


def other_images(root: Path) -> RunFolder:
    """A run whose probe names other images."""
    folder = make_run(root, points=48, frames=1)
    config = folder.path / "config.json"
    config.write_text(config.read_text().replace('"max_images": 20000', '"max_images": 960'))
    return RunFolder(folder.path)


def test_runs_on_the_same_images_can_be_pinned(page: Page, root: Path, tmp_path: Path) -> None:
    run = make_run(root, points=48, frames=2)
    recorded = make_run(tmp_path / "recorded", points=48, frames=1)
    other = make_run(root, points=48, frames=1, arms=1)
    make_run(root, phase="queued")
    broken = make_run(root, points=48, frames=1)
    (broken.path / "probe.safetensors").write_bytes(b"no tensors")
    apart = other_images(root)
    runs = page.json(f"run/{run.id}/baselines")["runs"]
    assert [one["id"] for one in runs] == [other.id, recorded.id]
    assert runs[0]["title"] == "Smooth-AP on Made-up world" and runs[1]["recorded"]
    for folder, words in ((apart, "not on the same images"), (broken, broken.id)):
        refused = page.json(f"run/{run.id}/baseline/{folder.id}")
        assert list(refused) == ["why"] and words in refused["why"]
    assert "nothing" in page.json(f"run/{run.id}/baseline/nothing")["why"]


def test_its_numbers_are_those_of_its_run(page: Page, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = make_run(root, points=48, frames=3), make_run(root, points=40, frames=2, arms=1)
    whole = page.json(f"run/{run.id}/baseline/{other.id}")
    assert (whole["why"], whole["moving"], whole["more"], whole["whole"]) == (None, False, False, False)
    assert whole["arms"] == ["Smooth-AP"]
    assert tuple(whole["pairs"]) == differences(run, other).pairs == (0, 0)
    stored = [[scalar.arm, scalar.step, scalar.key, scalar.value] for scalar in other.scalars()]
    assert sorted(whole["metrics"]) == sorted(stored)
    monkeypatch.setattr(baselines, "ROWS", 10)
    found, row, more = [], 0, True
    while more:
        part = page.json(f"run/{run.id}/baseline/{other.id}?row={row}")
        found, row, more = found + part["metrics"], part["row"], part["more"]
        assert len(part["metrics"]) <= 10
    assert found == whole["metrics"]


def test_a_baseline_that_trains_says_so_and_goes_on(page: Page, root: Path) -> None:
    run, other = make_run(root, points=48, frames=2), make_run(root, points=48, frames=1, phase="running")
    with alive(other):
        first = page.json(f"run/{run.id}/baseline/{other.id}")
        assert first["moving"]
        add_snapshot(other, 1)
        again = page.json(f"run/{run.id}/baseline/{other.id}?row={first['row']}")
        assert {step for _, step, _, _ in again["metrics"]} == {25}
        other.db.set_state(RunState(phase="finished", step=25))
    assert not page.json(f"run/{run.id}/baseline/{other.id}?row={again['row']}")["moving"]
    assert other.id not in page.watched.ids, "its maps need not be drawn"
