"""``python -m tests.make.record``: train a run or a plan, draw its maps and keep what a replay needs.

The recordings in ``assets/recorded`` are made by this command and nothing else. It takes the flags of
``python -m trainers train``; after another verb that starts runs as its first word, those of that verb, and the runs of
a recorded sweep are recorded beside it. What ships was made by

record train --data groceries --losses smooth_ap happier --steps 300 --snapshot-steps 6 --probe-size 400
record sweep --losses smooth_ap happier triplet --vary "label_noise=0;0.2;0.4" --seeds 0 1 2 --steps 300
    --snapshot-steps 75 --probe-size 240 --frames 5
record finetune --preset compare --snapshot-steps 10
record pretrain --method moco_v2:queue=1024,momentum=0.99 moco_v2:queue=1024,momentum=0 --steps 150 --head-steps 60
    --snapshot-steps 5
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np
from tqdm import tqdm

from explorer.layout.frames import Layouter
from explorer.layout.measuring import Measurer
from explorer.layout.snapshots import thin
from explorer.layout.umap_step import warm_up
from tests.programs import command
from trainers.cli.start import add_start_flags, configuration
from trainers.cli.work import train_to_end
from trainers.config import Config
from trainers.errors import RunError
from trainers.kinds import KINDS, check
from trainers.plans import PLANS
from trainers.plans.children import children_of
from trainers.plans.config import FIRST
from trainers.runs import RunFolder
from trainers.runs.atomic_files import as_tensor, write_tensors
from trainers.runs.records import Frame, Snapshot

KEPT_NEIGHBOURS = 10  # as many as the page shows; they are most of a recording's bytes


@command
def main(argv: list[str]) -> None:
    """Record one run, or one plan with its runs."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    plans = {plan.verb: plan for plan in PLANS.values()}
    kinds = {kind.verb: kind for kind in KINDS.values()}
    plan, argv = (plans[argv[0]], argv[1:]) if argv and argv[0] in plans else (None, argv)
    kind, argv = (kinds[argv[0]], argv[1:]) if argv and argv[0] in kinds else (KINDS[FIRST], argv)
    add_start_flags(flags, kind, plan)
    flags.add_argument("--out", type=Path, default=Path("assets") / "recorded", help="folder of the recordings")
    flags.add_argument("--frames", type=int, default=48, help="frames to keep, evenly spaced")
    arguments = flags.parse_args(argv)
    config = configuration(arguments, kind, plan)
    check(config)
    path = record(config, arguments.out, frames=arguments.frames)
    recorded = [RunFolder(path), *children_of(RunFolder(path))]
    print(f"recorded {path} ({sum(recording_size.size() for recording_size in recorded) / 1e6:.1f} MB)")


def record(config: Config, out: Path, *, frames: int) -> Path:
    """Train, draw and slim one run; of a plan also the runs that it is made of.

    The recording appears in ``out`` when it is whole, the runs of a plan before the plan.

    Args:
        config: what to train.
        out: where the recording goes, as ``out/<run id>``.
        frames: number of frames to keep, evenly spaced from the first to the last.

    Returns:
        the recording's folder; the runs of a plan lie beside it.

    Raises:
        RunError: the training, or that of a run of the plan, did not finish, or ``out`` cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        # beside the recordings, so that each is moved there whole; begun before the training, which takes long
        with (
            tempfile.TemporaryDirectory(prefix=".making-", dir=out) as making,
            tempfile.TemporaryDirectory() as scratch,
        ):
            folder = RunFolder.create(Path(scratch), config)
            train_to_end(folder)
            made = [path.rename(out / path.name) for path in _made(folder, Path(making), frames)]
            return made[-1]
    except (OSError, sqlite3.Error) as error:
        raise RunError(f"The recording cannot be written in {out}: {error}.") from error


def _made(folder: RunFolder, out: Path, frames: int) -> list[Path]:
    """Record a run that has ended, and the runs of a plan; that of ``folder`` comes last."""
    made, parts = [], _finished_parts(folder)
    for part in parts:
        _draw(part)
        made.append(slim(part, out, frames=frames))
    if parts:
        return [*made, _compacted(_copied(folder, out))]
    _draw(folder)
    return [*made, slim(folder, out, frames=frames)]


def _finished_parts(plan: RunFolder) -> list[RunFolder]:
    parts = list(children_of(plan))
    for part in parts:
        if (state := part.state()).phase != "finished":
            raise RunError(f"The run {part.id} of the plan ended as {state.phase}: {state.error or state.message}.")
    return parts


def slim(folder: RunFolder, out: Path, *, frames: int) -> Path:
    """Copy what a replay needs: configuration, numbers, probe, thumbnails, some frames, the last embeddings."""
    kept = thin(folder.frames(), frames)
    recording = _copied(folder, out)
    shutil.copytree(folder.path / "thumbs", recording.path / "thumbs")
    (recording.path / "emb").mkdir()
    tensors = {f"arm{i}": as_tensor(spanned(arm), np.float16) for i, arm in enumerate(folder.embeddings(kept[-1]))}
    write_tensors(recording.embeddings_path(kept[-1]), tensors, home=recording.path)
    last = folder.refined_frame()
    drawn = kept if last is None else [*kept, last[0]]
    for table, ks in (("snapshots", kept), ("frames", drawn)):
        marks = ", ".join("?" for _ in ks)
        recording.db.write(f"DELETE FROM {table} WHERE k NOT IN ({marks})", [tuple(ks)])
    recording.map_numbers.forget()
    for k in drawn:
        recording.add_frame(_trimmed(folder.frame(k)))
    return _compacted(recording)


def spanned(embeddings: np.ndarray) -> np.ndarray:
    """Embeddings ``[P, D]`` of more numbers than there are images, in axes of the space that they span, ``[P, P]``:
    every cosine and distance stays."""
    if embeddings.shape[1] <= len(embeddings):
        return embeddings
    axes, sizes, _ = np.linalg.svd(embeddings.astype(np.float64), full_matrices=False)
    turned: np.ndarray = axes * sizes
    return turned


def _copied(folder: RunFolder, out: Path) -> RunFolder:
    """Copy a run without maps, embeddings and images: all that a plan has."""
    recording = RunFolder(out / folder.id)
    recording.path.mkdir(parents=True)
    of_plans = ("part_of", "test_queries.safetensors") if folder.part_of else ()
    for name in ("config.json", "log.txt", "probe.safetensors", "untrained.safetensors", *of_plans):
        if (folder.path / name).exists():
            shutil.copy(folder.path / name, recording.path / name)
    folder.db.copy_to(recording.path / "run.db")
    return recording


def _compacted(recording: RunFolder) -> Path:
    """Compact a recording's database and return its folder, when all is written."""
    recording.db.close()
    with contextlib.closing(sqlite3.connect(recording.path / "run.db")) as copy:
        copy.execute("PRAGMA journal_mode=DELETE")  # a recording is read from read-only places: no side files
        copy.execute("VACUUM")
    return recording.path


def _draw(folder: RunFolder) -> None:
    warm_up()
    probe = folder.probe()
    layouter = Layouter(measurer=Measurer(None if probe is None else probe.labels))
    for k, step, seconds in tqdm(folder.snapshots(), desc="maps", disable=None):
        snapshot = Snapshot(k=k, step=step, seconds=seconds, embeddings=folder.embeddings(k))
        frame = layouter.next(snapshot)
        folder.add_frame(frame)
    last = layouter.refine(frame, snapshot)
    if last is not None:
        folder.add_frame(last)


def _trimmed(frame: Frame) -> Frame:
    arms = (dataclasses.replace(arm, neighbours=arm.neighbours[:, :KEPT_NEIGHBOURS]) for arm in frame.arms)
    return dataclasses.replace(frame, arms=tuple(arms))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
