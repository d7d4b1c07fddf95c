"""The run folder: what is written is read back, and damage is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from trainers.config import DataChoice
from trainers.errors import ParameterError, RunError
from trainers.hierarchy import Hierarchy
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder, list_runs, new_id
from trainers.runs.identity import read_config
from trainers.runs.records import Frame, FrameArm, Probe, Scalar, Snapshot

CONFIG = MetricLearningConfig(
    data=DataChoice(source="x", label_columns=("a", "b")),
    losses=(Choice(name="l", parameters={"k": [1, 2]}), Choice(name="m")),
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, CONFIG, owner="me")


def frame(k: int) -> Frame:
    arm = FrameArm(
        xy=np.arange(10, dtype=np.uint16).reshape(5, 2) * 6553,
        neighbours=np.arange(15).reshape(5, 3) % 5,
        quality=0.5,
        drift=0.25,
        method="umap",
    )
    return Frame(k=k, step=10 * k, seconds=1.0 * k, limit=3.5, arms=(arm, arm))


def snapshot(k: int) -> Snapshot:
    return Snapshot(k=k, step=10 * k, seconds=1.0 * k, embeddings=(torch.eye(5), torch.eye(5)))


def test_config_survives_the_folder(tmp_path: Path, folder: RunFolder) -> None:
    again = RunFolder.open(tmp_path, folder.id)
    assert again.config == CONFIG
    assert again.owner == "me"
    assert again.state().phase == "queued"
    assert [run.id for run in list_runs(tmp_path)] == [folder.id]


def test_ids_sort_by_time_and_fit_the_pattern() -> None:
    ids = [new_id() for _ in range(50)]
    assert len(set(ids)) == 50 and all(len(i) == 26 for i in ids)
    assert [i[:10] for i in ids] == sorted(i[:10] for i in ids)


def test_probe_snapshots_and_frames_are_read_back(folder: RunFolder) -> None:
    probe = Probe(
        labels=np.array([[0, 0], [1, 0]]),
        rows=np.array([4, 9]),
        hierarchy=Hierarchy(levels=("fine", "coarse"), names=(("a", "<b>"), ("c",))),
        data_title="t",
        notes=("n",),
    )
    folder.write_probe(probe, [b"one", b"two"])
    read = folder.probe()
    assert read is not None and read.sheets == 2 and read.hierarchy == probe.hierarchy and read.notes == ("n",)
    assert (read.labels == probe.labels).all() and (read.rows == probe.rows).all()
    assert folder.sheet_path(1).read_bytes() == b"two"
    folder.add_snapshot(snapshot(3))
    assert folder.snapshots() == [(3, 30, 3.0)]
    assert folder.embeddings(3)[1].dtype == np.float16
    folder.add_frame(frame(3))
    read_frame = folder.frame(3)
    assert (read_frame.step, read_frame.limit) == (30, 3.5)
    assert (read_frame.arms[0].xy == frame(3).arms[0].xy).all()
    assert (read_frame.arms[1].neighbours == frame(3).arms[1].neighbours).all()


def test_rewind_forgets_only_what_is_later(folder: RunFolder) -> None:
    for k in range(4):
        folder.add_snapshot(snapshot(k))
        folder.add_frame(frame(k))
        folder.db.add_metrics([Scalar(arm=0, step=10 * k, seconds=0, key="loss", value=k)])
    folder.rewind(20)
    assert [k for k, _, _ in folder.snapshots()] == [0, 1, 2] == folder.frames()
    assert [s.step for s in folder.scalars()] == [0, 10, 20]
    with pytest.raises(RunError):
        folder.frame(3)


def test_checkpoint_falls_back_to_the_one_before(folder: RunFolder) -> None:
    for step in (1, 2):
        folder.write_checkpoint({"w": torch.full((2,), float(step))}, {"step": step})
    last = folder.path / "ckpt" / "last.safetensors"
    last.write_bytes(last.read_bytes()[:20])
    checkpoint = folder.read_checkpoint()
    assert checkpoint is not None and checkpoint[1]["step"] == 1 and checkpoint[0]["w"][0] == 1


def test_commands_arrive_in_order(folder: RunFolder) -> None:
    folder.send("pause")
    folder.send("stop")
    assert [command for _, command in folder.commands(0)] == ["pause", "stop"]
    with pytest.raises(RunError, match="pause, resume or stop"):
        folder.send("rm -rf")


def test_a_config_is_read_and_written_to_the_same_bytes() -> None:
    """Whole numbers stay whole where fractions are allowed too, and names of folders may be no Unicode."""
    losses = (Choice(name="sup_recall", parameters={"at_k": [1, 2]}),)
    text = MetricLearningConfig(losses=losses, minutes=3, data=DataChoice(source="photos\udce9")).to_json()
    assert '"minutes": 3,' in text and read_config(text).to_json() == text


@pytest.mark.parametrize(
    "wrong", [{"minutes": True}, {"dim": 8.0}, {"drops": [0.5, "x"]}, {"encoder": "conv4"}, {"wings": 2}]
)
def test_a_config_of_other_types_is_refused(wrong: dict[str, object]) -> None:
    values = json.loads(MetricLearningConfig().to_json())
    assert read_config(json.dumps(values)) == MetricLearningConfig()
    with pytest.raises(ParameterError, match="cannot be read"):
        read_config(json.dumps(values | wrong))
