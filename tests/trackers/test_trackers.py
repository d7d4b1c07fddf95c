"""A tracker gets the numbers of a run, its settings and its last map, and goes on with a run that is resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.examples import ROOT
from tests.synthetic import make_run
from tests.tiny import tiny_config, write_images
from tests.trackers.wandb_file import records
from tests.waiting import PATIENCE
from trainers import trackers
from trainers.cli.output import print_json
from trainers.config import TRACKERS
from trainers.data import access
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.plans.children import Children
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder
from trainers.runs.records import Scalar
from trainers.trackers import Tracked, mirror
from trainers.worker import Worker

TRAIN = """
import contextlib, io, sys
from pathlib import Path
from tests.tiny import tiny_config, write_images
from tests.waiting import PATIENCE
from trainers.cli.main import main
from trainers.kinds import check
from trainers.runs import RunFolder
from trainers.trackers import mirror
from trainers.worker import Worker

mirror.WAIT_SECONDS = PATIENCE
images = write_images(Path("images"))
for name in sys.argv[1:]:
    config = tiny_config(images, steps=100, track=name)
    check(config)
    folder = RunFolder.create(Path("runs"), config)
    worker = Worker(folder, lambda state: state.step >= 2 and worker.leave("stopped"))
    assert worker.run().phase == "stopped"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["resume", folder.id, "--json"]) == 0
    assert said.getvalue().count("\\n") == 1, "a tracker writes nothing beside the results"
    print(name, folder.id)
"""


@dataclass
class Mirrored:
    """What a tracker has of a run: the numbers by name and step, the steps of maps, and the settings."""

    numbers: dict[str, dict[int, float]]
    maps: list[int]
    settings: str
    begun: int


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run for each tracker, stopped and resumed; its ids are in ``ids``."""
    place = tmp_path_factory.mktemp("trackers")
    told = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'trackers' / 'stand_in'}", "WANDB_MODE": "offline"}
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, *TRACKERS],
        cwd=place,
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (place / "ids").write_text(json.dumps(dict(line.split() for line in done.stdout.splitlines())))
    return place


def of_tensorboard(place: Path, run: str) -> Mirrored:
    script = (
        "import json, sys\n"
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
        "read = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0, 'images': 0, 'tensors': 0})\n"
        "read.Reload()\n"
        "tags = read.Tags()\n"
        "numbers = {tag: {e.step: e.value for e in read.Scalars(tag)} for tag in tags['scalars']}\n"
        "text = read.Tensors('settings/text_summary')\n"
        "print(json.dumps([numbers, [e.step for e in read.Images('maps')], str(text[0].tensor_proto), len(text)]))\n"
    )
    command = [sys.executable, "-c", script, str(place / "runs" / "tensorboard" / run)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    numbers, maps, settings, begun = json.loads(out)
    return Mirrored({k: {int(step): v for step, v in e.items()} for k, e in numbers.items()}, maps, settings, begun)


def of_wandb(place: Path, run: str) -> Mirrored:
    numbers: dict[str, dict[int, float]] = {}
    maps, settings = [], ""
    files = sorted((place / "wandb").glob(f"offline-run-*-{run}/run-{run}.wandb"))
    for record in (record for file in files for record in records(file)):
        settings += str(record.run.config) if record.HasField("run") else ""
        logged = {".".join(item.nested_key) or item.key: item.value_json for item in record.history.item}
        step = int(json.loads(logged.pop("step", "0")))
        for key, text in logged.items():
            if key.startswith("maps"):
                maps.append(step)
            elif not key.startswith("_"):
                numbers.setdefault(key, {})[step] = json.loads(text)
    return Mirrored(numbers, sorted(set(maps)), settings, len(files))


def of_trackio(place: Path, run: str) -> Mirrored:
    lines = [json.loads(line) for line in (place / "trackio.jsonl").read_text().splitlines()]
    mine = [line for line in lines if line[0].endswith(run)]
    assert len({name for name, *_ in mine}) == 1 and mine[-1][1] == "finish"
    inits = [values for _, what, _, values in mine if what == "init"]
    assert [values["resume"] for values in inits] == ["allow"] * 2
    numbers: dict[str, dict[int, float]] = {}
    for _, _, step, values in (line for line in mine if line[1] == "log"):
        for key, value in values.items():
            numbers.setdefault(key, {})[step] = value
    maps = numbers.pop("maps")
    assert all(shape == [720, 1280, 3] for shape in maps.values())
    return Mirrored(numbers, sorted(maps), json.dumps(inits[0]["config"]), len(inits))


READERS = {"tensorboard": of_tensorboard, "trackio": of_trackio, "wandb": of_wandb}


@pytest.mark.parametrize("name", TRACKERS)
def test_it_has_the_numbers_the_settings_and_the_last_map(name: str, place: Path) -> None:
    run = json.loads((place / "ids").read_text())[name]
    folder = RunFolder.open(place / "runs", run)
    seen = READERS[name](place, run)
    own: dict[str, dict[int, float]] = {}
    for scalar in folder.scalars():
        own.setdefault(f"{['Smooth-AP', 'SupCon'][scalar.arm]}/{scalar.key}", {})[scalar.step] = scalar.value
    assert folder.state().phase == "finished" and "tracker" not in (folder.path / "log.txt").read_text()
    assert seen.numbers.keys() == own.keys()
    for key, values in own.items():
        assert seen.numbers[key] == pytest.approx(values, rel=1e-5), key
    assert seen.maps[-1] == 100 and "learning_rate" in seen.settings and seen.begun == 2


class Fails:
    """A tracker that fails at everything but its beginning; ``hangs``: and does not end."""

    package: ClassVar[str] = "json"
    made: ClassVar[list[Tracked]] = []
    hangs = False

    def __init__(self, run: Tracked) -> None:
        self.made.append(run)

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        raise OSError("no space left")

    def picture(self, step: int, pixels: np.ndarray) -> None:
        raise RuntimeError("no connection")

    def finish(self) -> None:
        if self.hangs:
            time.sleep(5)


class Hangs(Fails):
    hangs = True


class NeverBegins(Fails):
    def __init__(self, run: Tracked) -> None:
        super().__init__(run)
        raise KeyError("login")


def use(tracker: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trackers, "TRACKERS", {"wandb": tracker})
    monkeypatch.setattr(mirror, "TRACKERS", {"wandb": tracker})
    monkeypatch.setattr(mirror, "WAIT_SECONDS", 0.5 if tracker.hangs else PATIENCE)
    monkeypatch.setattr(tracker, "made", [])


def test_numbers_after_the_last_frame_stay_when_a_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(Fails, monkeypatch)
    folder = make_run(tmp_path, points=48, frames=2)
    step = folder.snapshots()[-1][1] + 3
    folder.db.add_metrics([Scalar(arm=0, step=step, seconds=9.0, key="loss", value=0.5)])
    mirror.Mirror(folder, "wandb").close()
    assert [run.step for run in Fails.made] == [step]


def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: type[Any]) -> RunFolder:
    use(tracker, monkeypatch)
    folder = RunFolder.create(tmp_path / "runs", tiny_config(write_images(tmp_path / "images"), track="wandb"))
    assert Worker(folder).run().phase == "finished"
    return folder


@pytest.mark.parametrize("tracker", [Fails, Hangs, NeverBegins])
def test_its_failure_stops_no_run_and_is_a_line_in_the_log(
    tracker: type[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = trained(tmp_path, monkeypatch, tracker)
    lines = [line for line in (folder.path / "log.txt").read_text().splitlines() if "tracker wandb: " in line]
    assert len(lines) == 1 and "not everything is mirrored, and the run goes on" in lines[0]
    assert [run.id for run in tracker.made] == [folder.id]


def test_results_are_printed_while_trackio_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun, ended, before = threading.Event(), threading.Event(), set(threading.enumerate())

    def hang(**_: object) -> None:
        print("begun")
        begun.set()
        ended.wait(60)

    monkeypatch.syspath_prepend(ROOT / "tests" / "trackers" / "stand_in")
    monkeypatch.setattr("trackio.init", hang)
    monkeypatch.setattr(mirror, "WAIT_SECONDS", 0.5)
    folder = RunFolder.create(tmp_path / "runs", tiny_config(write_images(tmp_path / "images"), track="trackio"))
    assert Worker(folder).run().phase == "finished"
    print_json({"id": folder.id})
    assert begun.wait(PATIENCE)
    said = capsys.readouterr()
    ended.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
    assert said.out == f'{{"id": "{folder.id}"}}\n' and "begun" in said.err


def test_on_a_public_page_nothing_is_mirrored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.PUBLIC, "1")
    monkeypatch.setenv(access.FOLDERS, str(tmp_path))
    trained(tmp_path, monkeypatch, Fails)
    assert Fails.made == []


def test_absence_is_a_sentence_before_there_is_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tuple(trackers.TRACKERS) == TRACKERS
    (tmp_path / "rankscope_absent").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    for package in ("no_such_package", "rankscope_absent"):  # the second is a folder in the working directory
        monkeypatch.setattr(trackers.Trackio, "package", package)
        with pytest.raises(ParameterError, match=f"needs the package {package}, which is not installed"):
            check(tiny_config(tmp_path, track="trackio"))


def test_the_runs_of_a_sweep_are_mirrored_and_settings_are_not_changed(tmp_path: Path) -> None:
    run = tiny_config(tmp_path, track="tensorboard")
    assert run == tiny_config(tmp_path) and "track" not in run.to_json()
    plan = RunFolder.create(tmp_path, SweepConfig(run=run, seeds=(0,)))
    children = Children(RunFolder.open(tmp_path, plan.id))
    made = children.begin(children.all()[0])
    assert made is not None and made.track == "tensorboard" and made.tracked_row == 0
    (made.path / "tracker").write_bytes(b"\xff" * 10)
    assert made.track == "none"
