"""Trainers, the page and its map process are killed; what is resumed must equal what was never interrupted.

python -m tests.campaigns.kill --kills 120

Trainers die at every kind of moment: at a file operation or a database statement of their own, chosen among those of
an uninterrupted run, or by ``kill -9`` from outside at a random time. Each is then resumed, some are killed once more
while they resume, and the outcome is compared with the uninterrupted run: the weights bit for bit, the numbers at
every snapshot, one row for each number, no temporary files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import torch

from explorer.layout.supervisor import LayoutSupervisor
from tests.campaigns._fuse import trainer
from tests.campaigns._page import LivePage, call, wait
from tests.campaigns._table import Tally, arguments, say
from tests.layout.worlds import make_run, pid_of, set_phase
from tests.synthetic import alive
from tests.tiny import tiny_config, write_images
from trainers.config import DataChoice, RunConfig
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.records import RESUMABLE

STEPS, EVERY = 24, 8  # of a run, and between its snapshots
SECOND_STAGE = 6  # of these steps, in a run of two stages
ONCE_MORE = 0.3  # share of the runs that are killed again while they resume
RANDOM = "any time, from outside"
PATIENCE = 120.0  # seconds for a run of one
GONE_SECONDS = 2.0
FRAMES = 33


class Reference:
    """A run that nobody interrupted, and what a resumed run of the same configuration must come to."""

    def __init__(self, root: Path, config: RunConfig) -> None:
        self.config = config
        folder = RunFolder.create(root, config)
        note = root.parent / "moments.json"
        begun = time.monotonic()
        process = trainer(folder.path, note)
        process.join(PATIENCE)
        self.seconds = time.monotonic() - begun
        if folder.state().phase != "finished":
            raise RuntimeError(f"the uninterrupted run is {folder.state().phase}: {folder.state().error}")
        self.moments: list[str] = json.loads(note.read_text())
        self.weights = weights(folder)
        self.numbers = numbers(folder)
        self.snapshots = folder.snapshots()

    def differences(self, folder: RunFolder) -> list[str]:
        """Sentences on whatever is other than here."""
        state = folder.state()
        if state.phase != "finished" or state.step != STEPS:
            return [f"it is {state.phase} at step {state.step} ({state.error or state.message})"]
        said = []
        found = weights(folder)
        other = [name for name in self.weights if name not in found or not torch.equal(found[name], self.weights[name])]
        if other or set(found) != set(self.weights):
            said.append(f"{len(other)} tensors differ, {other[0] if other else 'and there are others'}")
        rows = Counter((scalar.arm, scalar.step, scalar.key) for scalar in folder.scalars())
        twice = [row for row, count in rows.items() if count > 1]
        if twice:
            said.append(f"{len(twice)} numbers have two rows, {twice[0]} among them")
        got = numbers(folder)
        lost = [row for row in self.numbers if row not in got]
        if lost:
            said.append(f"{len(lost)} numbers are missing, {lost[0]} among them")
        wrong = [row for row in self.numbers if row in got and got[row] != self.numbers[row]]
        if wrong:
            said.append(f"{len(wrong)} numbers differ, {wrong[0]} among them")
        if [k for k, _, _ in folder.snapshots()] != [k for k, _, _ in self.snapshots]:
            said.append("its snapshots are others")
        left = [path.name for path in folder.path.rglob("*") if path.suffix == ".tmp" or path.name.startswith(".")]
        if left:
            said.append(f"{len(left)} temporary files are left")
        return said


def weights(folder: RunFolder) -> dict[str, torch.Tensor]:
    """Everything in the last checkpoint."""
    found = folder.read_checkpoint()
    return {} if found is None else found[0]


def numbers(folder: RunFolder) -> dict[tuple[int, int, str], float]:
    """Those that do not depend on time: at the start, at every snapshot and at the end."""
    kinds = (
        "R_at_",
        "AP_",
        "HAP",
        "NDCG",
        "ASI",
        "train_R_at_",
        "test/",
        "floor_",
        "queries_",
        "knn",
        "probe",
        "queue_",
    )
    return {(s.arm, s.step, s.key): s.value for s in folder.scalars() if s.key.startswith(kinds)}


# ------------------------------------------------------------------- trainers


def kill_trainers(tally: Tally, place: Path, kills: int, draws: random.Random) -> None:
    """Kill and resume runs until so many trainers were killed."""
    images = write_images(place / "images")
    plain = {"steps": STEPS, "snapshot_steps": EVERY}
    configs = [
        tiny_config(images, "smooth_ap", "supcon_out", **plain),
        tiny_config(images, "happier", memory=48, memory_after=4, **plain),
        pretraining(images / "train"),
    ]
    references = [Reference(place / "runs", config) for config in configs]
    done, note = 0, place / "moments.json"
    while done < kills:
        reference = draws.choice(references)
        folder = RunFolder.create(place / "runs", reference.config)
        killed = []
        for _ in range(1 + (draws.random() < ONCE_MORE)):
            moment = _killed(folder, reference, note, draws)
            if moment is not None:
                killed.append(moment)
        if not killed:
            continue  # it was faster than the clock
        done += len(killed)
        # a trainer that dies before its first word leaves the run in the queue; the page's scheduler takes it out
        left = folder.state().phase
        said = [] if left in {*RESUMABLE, "queued", "finished"} else [f"after the kill it is {left}"]
        trainer(folder.path, note).join(PATIENCE)
        said += reference.differences(folder)
        for moment in killed[:-1]:
            tally.note(moment)  # what the last kill led to is told with the last
        tally.note(killed[-1], said)
        if said:
            say(f"{' and '.join(killed)}: {'; '.join(said)}")
        elif done % 10 < len(killed):
            say(f"{done} of {kills} kills")
        folder.db.close()
    for reference in references:
        _finish_twice(tally, place, reference)


def pretraining(images: Path) -> RunConfig:
    """Every memory that a checkpoint holds beside weights: queues, key encoder, bank, split batch statistics."""
    queue = {"queue": 12}
    return ContrastiveConfig(
        data=DataChoice(source=str(images), image_size=16, held_out="images"),
        methods=(
            Choice(name="moco_v1", parameters=queue),
            Choice(name="memory_bank", parameters={"negatives": 12}),
            Choice(name="supcon_queue", parameters=queue),
        ),
        encoder=Choice(name="conv4", parameters={"width": 8}),
        dim=16,
        batch=7,
        norm="split",
        splits=3,
        steps=STEPS - SECOND_STAGE,
        head_steps=SECOND_STAGE,
        minutes=None,
        snapshot_steps=EVERY,
        probe_size=20,
        device="cpu",
        threads=1,
    )


def _killed(folder: RunFolder, reference: Reference, note: Path, draws: random.Random) -> str | None:
    """Start the trainer and kill it; at which moment that was, or None if it came to its end."""
    kind = draws.choice([*sorted(set(reference.moments)), "resume", RANDOM])
    resumed = folder.read_checkpoint() is not None
    if kind == RANDOM:
        process = trainer(folder.path, note)
        process.join(draws.uniform(0, reference.seconds))
        process.kill()
        process.join()
        return RANDOM if process.exitcode == -signal.SIGKILL else None
    # a resumed run does less before it trains, and has fewer events
    places = range(40) if resumed else [n for n, moment in enumerate(reference.moments) if moment == kind]
    process = trainer(folder.path, note, draws.choice(places or range(len(reference.moments))))
    process.join(PATIENCE)
    return json.loads(note.read_text())[-1] if process.exitcode == -signal.SIGKILL else None


def _finish_twice(tally: Tally, place: Path, reference: Reference) -> None:
    """A finished run that is resumed stays as it was."""
    folder = RunFolder.create(place / "runs", reference.config)
    for _ in range(2):
        trainer(folder.path, place / "moments.json").join(PATIENCE)
    tally.note("resumed though finished (no kill)", reference.differences(folder))
    folder.db.close()


# ----------------------------------------------------------- page, map process


def kill_pages(tally: Tally, place: Path, times: int, port: int, draws: random.Random) -> None:
    """Kill the page while its trainer starts, trains or scores: trainer and map process end within two seconds."""
    for number in range(times):
        delay = draws.uniform(0, 12)
        with (
            LivePage(place / f"page{number}", port=port) as page,
            httpx.Client(base_url=page.url, timeout=30) as client,
        ):
            training = {"minutes": 3.0, "steps": 40 if number % 2 else 100_000}
            call(client, "start_run", ["smooth_ap"], "drawn", None, "small_conv", None, "m_per_class", training, "")
            wait(lambda page=page: bool(page.children("trainers.worker")), 20, "the trainer starts")
            time.sleep(delay)
            below = page.children("trainers.worker") + page.children("explorer.layout.process")
            page.process.kill()
            page.process.wait()
            begun = time.monotonic()
            with contextlib.suppress(TimeoutError):
                wait(lambda below=below: not any(map(_lives, below)), 2 * GONE_SECONDS + 6, "they end")
            taken = time.monotonic() - begun
        late = [pid for pid in below if _lives(pid)]
        for pid in late:
            os.kill(pid, signal.SIGKILL)
        tally.note(
            "the page", [f"after {delay:.1f} s: its processes took {taken:.1f} s"] if taken > GONE_SECONDS else []
        )


def kill_layouts(tally: Tally, place: Path, times: int, draws: random.Random) -> None:
    """Kill the map process again and again while a run trains and after it: in the end every map is drawn."""
    root = place / "layout"
    for _ in range(times):
        folder = make_run(root, FRAMES, phase="running")
        supervisor = LayoutSupervisor(root)
        supervisor.start()
        with alive(folder):
            _interrupted(supervisor, folder, draws, 2)
        set_phase(folder, "finished")
        _interrupted(supervisor, folder, draws, 2)
        with contextlib.suppress(TimeoutError):
            wait(lambda folder=folder, by=supervisor: _drawn(folder, by) == FRAMES, 60, "every map is drawn")
        drawn = _drawn(folder, supervisor)
        supervisor.stop()
        folder.db.close()
        tally.note("the map process", [f"{FRAMES - drawn} of {FRAMES} maps stay undrawn"] if drawn < FRAMES else [])


def _interrupted(supervisor: LayoutSupervisor, folder: RunFolder, draws: random.Random, times: int) -> None:
    for _ in range(times):
        target = _drawn(folder, supervisor) + draws.randrange(1, 5)
        with contextlib.suppress(TimeoutError):
            wait(lambda target=target: _drawn(folder, supervisor) >= target, 10, "some maps are drawn")
        pid = pid_of(supervisor)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)


def _drawn(folder: RunFolder, supervisor: LayoutSupervisor) -> int:
    supervisor.watch(folder.id)
    return len(folder.frames())


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def campaign(kills: int, pages: int, layouts: int, seed: int, port: int = 0) -> Tally:
    """All of it."""
    tally = Tally(name="kill", head="killed")
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        place = Path(folder).resolve()
        parts: Sequence[Callable[[], None]] = (
            lambda: kill_trainers(tally, place, kills, random.Random(seed)),
            lambda: kill_layouts(tally, place, layouts, random.Random(seed + 1)),
            lambda: kill_pages(tally, place, pages, port, random.Random(seed + 2)),
        )
        for part in parts:
            part()
    return tally


def main() -> int:
    """Exit status 1 if anything failed."""
    given: argparse.Namespace = arguments(
        __doc__,
        kills=(120, "trainers to kill"),
        pages=(6, "pages to kill"),
        layouts=(4, "runs whose map process is killed, four times each"),
    )
    return campaign(given.kills, given.pages, given.layouts, given.seed, given.port).end(given)


if __name__ == "__main__":
    sys.exit(main())
