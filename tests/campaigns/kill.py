"""Trainers are killed at any moment; what is resumed must equal what was never interrupted.

python -m tests.campaigns.kill --kills 120

Trainers die at every kind of moment: at a file operation or a database statement of their own, chosen among those of
an uninterrupted run, or by ``kill -9`` from outside at a random time. Each is then resumed, some are killed once more
while they resume, and the outcome is compared with the uninterrupted run: the weights bit for bit, the numbers at
every snapshot, one row for each number, no temporary files. Runs of metric learning and of contrastive pretraining are
killed, and sweeps and fair comparisons of such runs, whose trainers die with them. The uninterrupted run has steps
alone; every other one that is killed has minutes as well, which must change nothing.
"""

from __future__ import annotations

import dataclasses
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.campaigns._fuse import trainer
from tests.campaigns._outcome import Outcome, PlanOutcome
from tests.programs import Tally, arguments, say
from tests.tiny import tiny_config, tiny_contrastive, write_images
from trainers.config import Conditions, Config, RunConfig
from trainers.kinds import kind_of
from trainers.parameters import Choice
from trainers.plans.config import FairComparisonConfig, SweepConfig
from trainers.runs import RunFolder
from trainers.runs.records import PHASES

STEPS, EVERY = 24, 8  # of a run, and between its snapshots
SECOND_STAGE = 6  # of these steps, in a run of two stages
ONCE_MORE = 0.3  # share of the runs that are killed again while they resume
RANDOM = "any time, from outside"
PATIENCE = 900.0  # seconds for a run of one, or a plan of half a minute, on a machine that is busy with other work
AFTER_A_KILL = {"queued", "finished", *(name for name, it in PHASES.items() if not it.moving and "resume" in it.acts)}
"""Phases that a killed trainer may leave behind; all but a finished run can go on."""
MINUTES = (None, 60.0)
"""Beside the steps: a limit that no run reaches must change nothing."""


class Reference:
    """A run or a plan that nobody interrupted, and what a resumed one of the same configuration must come to.

    Args:
        title: names its kills in the table; empty: each is named by its moment.
    """

    def __init__(self, root: Path, config: Config, title: str = "") -> None:
        self.title = title
        self.config = config
        folder = RunFolder.create(root, config)
        note = root.parent / "moments.json"
        begun = time.monotonic()
        trainer(folder.path, note).join(PATIENCE)
        self.seconds = time.monotonic() - begun
        self.outcome = PlanOutcome(folder) if kind_of(config).plans else Outcome(folder)
        self.moments: list[str] = json.loads(note.read_text())


def kill_trainers(tally: Tally, place: Path, images: Path, kills: int, draws: random.Random) -> None:
    """Kill and resume runs until so many trainers were killed."""
    plain = {"steps": STEPS, "snapshot_steps": EVERY}
    references = [
        Reference(place / "runs", config)
        for config in (
            tiny_config(images, "smooth_ap", "supcon_out", **plain),
            tiny_config(images, "happier", memory=48, memory_after=4, **plain),
            pretraining(images / "train"),
        )
    ]
    _kill(tally, place, references, kills, draws)
    for reference in references:
        _finish_twice(tally, place, reference)


def kill_plans(tally: Tally, place: Path, images: Path, kills: int, draws: random.Random) -> None:
    """Kill and resume sweeps and fair comparisons; the runs that train at that moment lose their parent."""
    plain = tiny_config(images, "smooth_ap", "triplet", steps=STEPS, snapshot_steps=EVERY)
    folds = dataclasses.replace(plain.data, conditions=Conditions(folds=2))
    searched = plain.changed(losses=plain.losses[:1], data=folds)
    configs = {
        "a sweep": SweepConfig(run=plain, seeds=(0, 1)),
        "a fair comparison": FairComparisonConfig(run=searched, seeds=(0,), trials=2),
    }
    for title, config in configs.items():
        reference = Reference(place / title.replace(" ", "_"), config, title)
        _kill(tally, place, [reference], kills, draws)


def _kill(tally: Tally, place: Path, references: Sequence[Reference], kills: int, draws: random.Random) -> None:
    done, note = 0, place / "moments.json"
    while done < kills:
        reference = draws.choice(references)
        config = reference.config.changed(minutes=draws.choice(MINUTES))
        folder = RunFolder.create(place / "runs", config)
        killed = []
        for _ in range(1 + (draws.random() < ONCE_MORE)):
            moment = _killed(folder, reference, note, draws)
            if moment is not None:
                killed.append(reference.title or moment)
        if not killed:
            continue  # it was faster than the clock
        done += len(killed)
        # a trainer that dies before its first word leaves the run in the queue; the page's scheduler takes it out
        left = folder.state().phase
        said = [] if left in AFTER_A_KILL else [f"after the kill it is {left}"]
        trainer(folder.path, note).join(PATIENCE)
        said += reference.outcome.differences(folder)
        for moment in killed[:-1]:
            tally.note(moment)  # what the last kill led to is told with the last
        tally.note(killed[-1], said)
        if said:
            say(f"{' and '.join(killed)}: {'; '.join(said)}")
        elif done % 10 < len(killed):
            say(f"{done} of {kills} kills")
        folder.db.close()


def pretraining(images: Path) -> RunConfig:
    """Every memory that a checkpoint holds beside weights: queues, key encoder, bank, split batch statistics."""
    queue = {"queue": 12}
    methods = (
        Choice(name="moco_v1", parameters=queue),
        Choice(name="memory_bank", parameters={"negatives": 12}),
        Choice(name="supcon_queue", parameters=queue),
    )
    steps: dict[str, int] = {"steps": STEPS - SECOND_STAGE, "head_steps": SECOND_STAGE, "snapshot_steps": EVERY}
    return tiny_contrastive(images, *methods, dim=16, batch=7, norm="split", splits=3, **steps)


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
    tally.note("resumed though finished (no kill)", reference.outcome.differences(folder))
    folder.db.close()


def campaign(kills: int, plans: int, seed: int) -> Tally:
    """All of it."""
    tally = Tally(name="kill", head="killed")
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        place = Path(folder).resolve()
        images = write_images(place / "images")
        kill_trainers(tally, place, images, kills, random.Random(seed))
        kill_plans(tally, place, images, plans, random.Random(seed + 3))
    return tally


def main() -> int:
    """Exit status 1 if anything failed."""
    given = arguments(
        __doc__,
        kills=(120, "trainers to kill"),
        plans=(8, "sweeps to kill, and as many fair comparisons"),
        seed=(0, "of every random choice"),
    )
    return campaign(given.kills, given.plans, given.seed).end()


if __name__ == "__main__":
    sys.exit(main())
