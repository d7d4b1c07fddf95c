"""Run folders of earlier versions open, export and resume; ``tests/fixtures/runs/README.md`` says how each was made."""

from __future__ import annotations

import csv
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from explorer.exports import EXPORTS
from tests.explorer.page import Page
from tests.runs.old_runs import RESUMED, assert_resumes
from trainers.cli.main import main
from trainers.errors import RunError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.runs import RunFolder

FIXTURES = Path(__file__).parents[1] / "fixtures" / "runs"


@dataclass(frozen=True, kw_only=True)
class Old:
    """What a folder holds: phase, step, arms, number of maps, of points on them, and of scalars."""

    phase: str
    step: int
    arms: tuple[str, ...]
    maps: int = 0
    points: int
    scalars: int


_LOSSES = ("Proxy Anchor", "Contrastive (XBM)")
_COMPARED = partial(Old, arms=_LOSSES, points=40)
_TUNED = partial(Old, arms=("D", "D + D′ (phrases, telea, 0.08)"), points=20)
RUNS = {
    "metric_learning_stopped": _COMPARED(phase="stopped", step=94, scalars=86),
    "metric_learning_finished": _COMPARED(phase="finished", step=200, maps=6, scalars=186),
    "metric_learning_killed_before_clipping": _COMPARED(
        phase="interrupted",
        step=0,  # it was killed before it said where it stood; its checkpoint is of step 42
        arms=("Triplet",),
        scalars=37,
    ),
    "metric_learning_before_memory": Old(
        phase="finished", step=200, arms=("Proxy softmax", "Triplet"), maps=5, points=40, scalars=140
    ),
    "finetuning_stopped": _TUNED(
        phase="stopped",
        step=24,
        scalars=136,
    ),
    "finetuning_finished": _TUNED(phase="finished", step=100, maps=6, scalars=466),
    "finetuning_before_clipping": _TUNED(phase="finished", step=120, maps=5, scalars=392),
}


@dataclass(frozen=True)
class Opened:
    """One unpacked folder and a page that shows it."""

    old: Old
    root: Path
    page: Page

    @property
    def id(self) -> str:
        return next(self.root.iterdir()).name

    @property
    def folder(self) -> RunFolder:
        return RunFolder.open(self.root, self.id)

    def download(self, kind: str) -> bytes:
        reply = self.page.get(f"run/{self.id}/download/{kind}")
        assert reply.status_code == 200, reply.text
        return reply.content


def unpack(name: str, root: Path) -> None:
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
        archive.extractall(root)


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    root = tmp_path / "runs"
    unpack(request.param, root)
    page = Page(root, tmp_path / "recorded", tmp_path / "assets")
    yield Opened(RUNS[request.param], root, page)
    page.library.close()


every_run = pytest.mark.parametrize("run", RUNS, indirect=True)


def test_every_archive_is_tried() -> None:
    assert sorted(RUNS) == sorted(path.name.removesuffix(".tar.xz") for path in FIXTURES.glob("*.tar.xz"))


@every_run
def test_it_is_listed_and_opens(run: Opened, capsys: pytest.CaptureFixture[str]) -> None:
    (card,) = run.page.json("runs")["runs"]
    assert (card["id"], card["phase"], card["step"], card["error"]) == (run.id, run.old.phase, run.old.step, None)
    about = run.page.json(f"run/{run.id}")
    assert tuple(arm["title"] for arm in about["arms"]) == run.old.arms
    assert (len(about["frames"]), about["points"]) == (run.old.maps, run.old.points)
    assert len(run.page.json(f"run/{run.id}/poll")["metrics"]) == len(run.folder.scalars()) == run.old.scalars
    assert run.page.get(f"run/{run.id}/sheet/000.webp").content[:4] == b"RIFF"
    for k, _step in about["frames"]:
        coordinates = run.page.get(f"run/{run.id}/frame/{k}")
        assert coordinates.status_code == 200 and len(coordinates.content) == 4 * run.old.points * len(run.old.arms)
    assert main(["list", "--runs", str(run.root)]) == 0
    listed = capsys.readouterr().out.splitlines()[1]
    assert listed.startswith(run.id) and f" {run.old.phase} " in listed


@every_run
def test_it_is_exported(run: Opened) -> None:
    rows = list(csv.DictReader(io.StringIO(run.download("metrics.csv").decode())))
    of_maps = 2 * run.old.maps * len(run.old.arms)  # the neighbours that a map keeps, and how far it moved
    assert len(rows) == run.old.scalars + of_maps and {row["loss"] for row in rows} == set(run.old.arms)
    vectors = pq.read_table(io.BytesIO(run.download("embeddings.parquet")))
    assert vectors.num_rows == run.old.points * len(run.old.arms)
    curves = run.download("curves.html").decode()
    assert all(title in curves for title in run.old.arms)
    if run.old.maps:
        offered = run.page.json(f"run/{run.id}")["downloads"]
        of_plans = {"table.csv", "table.md", "table.tex", "report.json", "report.zip"}
        assert {*offered, "encoders.zip"} == set(EXPORTS) - of_plans
        if run.folder.read_checkpoint() is None:
            offered.pop("encoders.zip", None)
        assert all(run.download(kind) for kind in offered)
        table = pq.read_table(io.BytesIO(run.download("coordinates.parquet")))
        assert table.num_rows == run.old.maps * run.old.points * len(run.old.arms)


@every_run
def test_its_zip_opens_again(run: Opened, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(run.download("run.zip"))) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "elsewhere")
    again = RunFolder.open(tmp_path / "elsewhere", run.id)
    assert again.config == run.folder.config and again.scalars() == run.folder.scalars()
    assert (again.state().phase, again.frames()) == (run.old.phase, run.folder.frames())


@pytest.mark.parametrize("name", [name for name in RUNS if name in RESUMED])
def test_it_resumes_to_the_same_numbers(name: str, tmp_path: Path) -> None:
    unpack(name, tmp_path)
    assert_resumes(name, next(tmp_path.iterdir()))


def test_a_run_of_a_newer_version_says_to_update_and_not_to_delete(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, MetricLearningConfig())
    path = folder.path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(RunError, match=r"cannot be opened\. It was written by a newer version .* update it\.$"):
        _ = RunFolder.open(tmp_path, folder.id).config
