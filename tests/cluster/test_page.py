"""The page over a Ray cluster of two nodes, killed and started again while a sweep trains there."""

from __future__ import annotations

import dataclasses
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from explorer.server.routes import PREFIX, TOKEN_HEADER
from tests.campaigns._page import LivePage, call
from tests.cluster.cluster import Cluster
from tests.tiny import tiny_config, write_images
from tests.waiting import wait
from trainers.cluster.remote import PREFIX as SCRATCH
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder, list_runs

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]
SECONDS = 10.0
"""From an embedding's file on the other machine to the one here: a look a second, on a machine that is busy."""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    made = Cluster(processors=1)
    made.add()
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


class Watched:
    """The runs of a sweep, and the folders in which each was ever seen to be trained: a trainer has one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.trainers: dict[str, set[str]] = defaultdict(set)

    def look(self) -> dict[str, RunFolder]:
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if "trainers.worker" in words:
                self.trainers[Path(words[-1]).name].add(words[-1])
        return {run.id: run for run in list_runs(self._root) if run.part_of}

    def reached(self, snapshots: int) -> list[RunFolder]:
        """Those with so many snapshots that have not finished."""
        return [
            run for run in self.look().values() if len(run.snapshots()) >= snapshots and run.state().phase == "running"
        ]


def started(page: LivePage, template: RunFolder) -> str:
    with httpx.Client(base_url=f"{page.url}{PREFIX}/form", timeout=60, trust_env=False) as client:
        shown = client.get(f"/run/{template.id}").json()
        body = {name: shown[name] for name in ("kind", "settings", "plan", "own", "vary")}
        return str(client.post("/train", json=body, headers={TOKEN_HEADER: "visitor"}).json()["id"])


def delays(run: RunFolder) -> list[float]:
    """Seconds from each embedding's file where it trains to the one here."""
    (there,) = Path(tempfile.gettempdir()).glob(f"{SCRATCH}*/{run.id}")
    files = [(path, there / "emb" / path.name) for path in sorted((run.path / "emb").glob("*.safetensors"))]
    return [here.stat().st_mtime - away.stat().st_mtime for here, away in files]


def test_a_page_that_is_killed_finds_its_runs_again_and_trains_none_twice(cluster: Cluster, tmp_path: Path) -> None:
    root, watched = tmp_path / "runs", Watched(tmp_path / "runs")
    config = tiny_config(write_images(tmp_path / "images"), "contrastive", steps=1500, snapshot_steps=50, dim=8)
    template = RunFolder.create(root, SweepConfig(run=config, seeds=(0, 1), vary={"dim": [8, 16]}))
    template.db.set_state(dataclasses.replace(template.state(), phase="stopped"))
    page = LivePage(root, "--ray", cluster.address, patience=400)
    with page:
        plan = started(page, template)
        wait(lambda: len(watched.reached(2)) == 2, 400)
        assert all(0 <= delay < SECONDS for run in watched.reached(2) for delay in delays(run))
        page.process.kill()
        page.process.wait()
    before = {run.id: run.state().step for run in watched.reached(2)}
    wait(lambda: all(watched.look()[id].state().step > step for id, step in before.items()))
    with (
        LivePage(root, "--ray", cluster.address, patience=400) as again,
        httpx.Client(base_url=again.url, timeout=60, trust_env=False) as client,
    ):
        wait(lambda: bool(watched.look()) and call(client, "run_status", plan)["phase"] == "finished", 400)
        runs = watched.look()
        wait(lambda: all(run.frames()[-1:] == [run.snapshots()[-1][0]] for run in runs.values()))
    assert len(runs) == 4 and {run.state().phase for run in runs.values()} == {"finished"}
    for run in runs.values():
        log = (run.path / "log.txt").read_text()
        assert (log.count("finished at step"), log.count("  device: ")) == (1, 1), log
        assert len(watched.trainers[run.id]) == 1
