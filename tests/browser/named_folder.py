"""A folder of images whose classes have the names that data sets can have, and a run on it."""

from __future__ import annotations

from pathlib import Path

import datasets

from tests.synthetic import map_of
from tests.tiny import tiny_config, write_images
from trainers.config import DataChoice, RunConfig
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.runs import RunFolder
from trainers.runs.records import Frame, RunState

LONG = "Extraordinarily" * 333 + "long."  # 5,000 letters without a space
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>' + "b" * 300
NAMES = (
    LONG,
    "כלב" * 100,
    "قطة سوداء",
    "e" + "\u0301\u0316" * 2000,
    "\u202egnorw \u2069 turned",
    "two\nlines\tand more",
    HOSTILE,
    "word " * 200,
)
GROUPS = ("A" * 5000, "مجموعة " * 60)


def write_named(root: Path) -> Path:
    """Parquet with two class labels, ``fine`` in ``coarse``: eight plain classes to train on, :data:`NAMES` to test."""
    pictures = write_images(root / "pictures", train=8, test=len(NAMES), each=10)
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "fine": datasets.ClassLabel(names=[*(f"plain {n}" for n in range(8)), *NAMES]),
            "coarse": datasets.ClassLabel(names=list(GROUPS)),
        }
    )
    (root / "set" / "data").mkdir(parents=True)
    for split, first in (("train", 0), ("test", 8)):
        folders = enumerate(sorted((pictures / split).iterdir()), first)
        rows = [(path.read_bytes(), label) for label, folder in folders for path in sorted(folder.iterdir())]
        table = {
            "image": [{"bytes": content, "path": None} for content, _ in rows],
            "fine": [label for _, label in rows],
            "coarse": [label % 2 for _, label in rows],
        }
        made = datasets.Dataset.from_dict(table, features=features)
        made.to_parquet(str(root / "set" / "data" / f"{split}-00000-of-00001.parquet"))
    return root / "set"


def train_on(folder: Path, runs: Path, **changes: object) -> RunFolder:
    """A finished run of a few steps on a folder, really trained, with maps by a plain projection."""
    config: RunConfig = tiny_config(folder, **{"steps": 2, **changes})
    run = RunFolder.create(runs, config)
    trainer = MetricLearningLoop(run)
    while trainer.advance(5.0):
        pass
    trainer.finish()
    for k, step, seconds in run.snapshots():
        arms = tuple(map_of(points.astype("float32"), k) for points in run.embeddings(k))
        run.add_frame(Frame(k=k, step=step, seconds=seconds, limit=10.0, arms=arms))
    run.db.set_state(RunState(phase="finished", step=trainer.step))
    return run


def named_choice(folder: Path) -> DataChoice:
    """How :func:`write_named` is read."""
    return DataChoice(source=str(folder), label_columns=("fine", "coarse"), image_size=24)
