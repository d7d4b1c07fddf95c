"""The page over a Ray cluster of two nodes, killed and started again while a sweep trains there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from explorer.server.routes import PREFIX, TOKEN_HEADER
from tests.campaigns._page import LivePage, call
from tests.cluster.cluster import Cluster
from tests.tiny import tiny_config, write_images
from tests.waiting import wait
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder, list_runs

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    made = Cluster(processors=1)
    made.add()
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


def of_sweep(root: Path) -> dict[str, RunFolder]:
    return {run.id: run for run in list_runs(root) if run.part_of}


def training(root: Path) -> list[RunFolder]:
    """The runs of the sweep with two snapshots that have not finished."""
    return [run for run in of_sweep(root).values() if len(run.snapshots()) >= 2 and run.state().phase == "running"]


def started(page: LivePage, template: RunFolder) -> str:
    with httpx.Client(base_url=f"{page.url}{PREFIX}/form", timeout=60, trust_env=False) as client:
        shown = client.get(f"/run/{template.id}").json()
        body = {name: shown[name] for name in ("kind", "settings", "plan", "own", "vary")}
        return str(client.post("/train", json=body, headers={TOKEN_HEADER: "visitor"}).json()["id"])


def test_a_page_that_is_killed_finds_its_runs_again_and_trains_none_twice(cluster: Cluster, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    config = tiny_config(write_images(tmp_path / "images"), "contrastive", steps=1500, snapshot_steps=50, dim=8)
    template = RunFolder.create(root, SweepConfig(run=config, seeds=(0, 1), vary={"dim": [8, 16]}))
    template.db.set_state(dataclasses.replace(template.state(), phase="stopped"))
    page = LivePage(root, "--ray", cluster.address, patience=400)
    with page:
        plan = started(page, template)
        wait(lambda: len(training(root)) == 2, 400)
        page.process.kill()
        page.process.wait()
    before = {run.id: run.state().step for run in training(root)}
    wait(lambda: all(of_sweep(root)[id].state().step > step for id, step in before.items()))
    with (
        LivePage(root, "--ray", cluster.address, patience=400) as again,
        httpx.Client(base_url=again.url, timeout=60, trust_env=False) as client,
    ):
        wait(lambda: bool(of_sweep(root)) and call(client, "run_status", plan)["phase"] == "finished", 400)
        runs = of_sweep(root)
        wait(lambda: all(run.frames()[-1:] == [run.snapshots()[-1][0]] for run in runs.values()))
    assert len(runs) == 4 and {run.state().phase for run in runs.values()} == {"finished"}
    for run in runs.values():
        log = (run.path / "log.txt").read_text()
        assert (log.count("finished at step"), log.count("  device: ")) == (1, 1), log
