"""Typical faults, one at a time in a copy of the program: which test notices each.

python -m tests.campaigns.faults [NAME ...]

A fault is a text of the program that is found exactly once, and what takes its place; in which file it is, is looked
up, so that code can be moved. The copy holds the files that git knows, as they are now, and the tests of the fault are
run in it. The exit status is 1 where no test fails, and where a text is not found exactly once.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.programs import markdown, say
from tests.shared import SHARED

ROOT = Path(__file__).parents[2]
PROGRAM = ("trainers/*.py", "explorer/*.py", "app.py")  # of git, where a star stands for folders too
MISSED = "NOT CAUGHT"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault that somebody could make.

    Attributes:
        name: one word or two.
        sentence: what is wrong with the program that has it.
        find: a text of the program, found in one place.
        replace: what stands there instead.
        tests: files of tests, of which one should fail.
    """

    name: str
    sentence: str
    find: str
    replace: str
    tests: tuple[str, ...]


FAULTS = (
    Fault(
        name="gradient",
        sentence="The slope of a positive by its own rank has the wrong sign.",
        find="slopes[i] -= pull * _pull(",
        replace="slopes[i] += pull * _pull(",
        tests=("tests/losses/test_against_reference.py",),
    ),
    Fault(
        name="rank",
        sentence="What is at the rank of the cut-off is left out.",
        find="return self.rank <= self._block.spread(cut)",
        replace="return self.rank < self._block.spread(cut)",
        tests=("tests/metrics/test_values.py",),
    ),
    Fault(
        name="ties",
        sentence="Of equal similarities the more relevant one comes first.",
        find="ranked = sort_rows(keys).bitwise_and_(2**codes.bits - 1)",
        replace="ranked = sort_rows(keys ^ 2**codes.bits - 1).bitwise_and_(2**codes.bits - 1) ^ 2**codes.bits - 1",
        tests=("tests/metrics/test_values.py",),
    ),
    Fault(
        name="split",
        sentence="The numbers over the whole test set are those of the training images.",
        find="            test=test,\n            test_labels=data.test.labels,\n",
        replace="            test=train,\n            test_labels=data.train.labels,\n",
        tests=("tests/training/test_whole_test.py", "tests/training/test_loop.py"),
    ),
    Fault(
        name="stale",
        sentence="A search goes on with the encoder of an earlier checkpoint.",
        find="self._encoders.get((arm.folder.path, arm.arm, written), read)",
        replace="self._encoders.get((arm.folder.path, arm.arm), read)",
        tests=("tests/retrieval/test_retriever.py",),
    ),
    Fault(
        name="optimiser",
        sentence="A checkpoint holds no state of the optimiser.",
        find='return states | self.optimizer.tensors(f"{prefix}/optimiser/")',
        replace="return states",
        tests=("tests/contracts/test_training.py",),
    ),
    Fault(
        name="lock",
        sentence="Two processes may hold the lock of a run.",
        find="self._handle = locked(self._path, os.O_RDWR | os.O_CREAT)",
        replace="self._handle = locked(self._path, os.O_RDWR | os.O_CREAT, shared=True)",
        tests=("tests/runs/test_lock.py",),
    ),
    Fault(
        name="path",
        sentence="The path of a file that is dropped on the page leads out of its folder.",
        find='part in ("", ".", "..") or len(part.encode()) > LONGEST',
        replace='part in ("", ".") or len(part.encode()) > LONGEST',
        tests=("tests/explorer/test_drops.py",),
    ),
    Fault(
        name="html",
        sentence="The names of classes are HTML in the legend of a downloaded map.",
        find='html.escape(" / ".join(names[label] for names, label',
        replace='str(" / ".join(names[label] for names, label',
        tests=("tests/explorer/test_figures.py", "tests/explorer/test_exports.py"),
    ),
    Fault(
        name="bound",
        sentence="A body that does not say how long it is may have any length.",
        find="            total += len(part)\n            if total > most:\n",
        replace="            if len(part) > most:\n",
        tests=("tests/explorer/test_public.py",),
    ),
    Fault(
        name="seed",
        sentence="Runs of every seed begin with the same weights.",
        find="torch.manual_seed(self.config.seed)\n        channels, side = self._images",
        replace="torch.manual_seed(0)\n        channels, side = self._images",
        tests=("tests/training/test_loop.py",),
    ),
    Fault(
        name="resume",
        sentence="A run that is resumed begins with an empty cross-batch memory.",
        find='self.register_buffer("pushed", torch.tensor(0))',
        replace='self.register_buffer("pushed", torch.tensor(0), persistent=False)',
        tests=("tests/losses/test_memory.py",),
    ),
    Fault(
        name="itself",
        sentence="The match of a query with its copy in the memory counts.",
        find="if self.loss.leaves_self_out and self_index is not None else {}",
        replace="if self_index is None else {}",
        tests=("tests/losses/test_memory.py",),
    ),
    Fault(
        name="norm",
        sentence="Images are embedded with the norms of their batch, as in training.",
        find="    twin.eval()\n",
        replace="    twin.train(module.training)\n",
        tests=("tests/training/test_folding.py",),
    ),
    Fault(
        name="uneven",
        sentence="The last images that are evaluated are not shared evenly between processes.",
        find="missing = -len(images) % processes",
        replace="missing = 0",
        tests=("tests/distributed/test_launch.py",),
    ),
    Fault(
        name="noise",
        sentence="Test images get wrong labels too.",
        find="return dataclasses.replace(data, train=train, notes=(*data.notes, note))\n\n\ndef _too_few(",
        replace=(
            "mixed = data.test.labels[draws.permutation(len(data.test.labels))]\n"
            "    test = dataclasses.replace(data.test, labels=mixed)\n"
            "    return dataclasses.replace(data, train=train, test=test, notes=(*data.notes, note))\n\n\ndef _too_few("
        ),
        tests=("tests/data/test_conditions.py",),
    ),
    Fault(
        name="setting",
        sentence="Batches hold fewer classes than were asked for, and nothing says so.",
        find="notes = () if per_batch == wanted else (fewer,)",
        replace="notes = ()",
        tests=("tests/training/test_loop.py",),
    ),
)


def tracked(*patterns: str) -> list[str]:
    """The files that git knows, below the root."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, check=True)
    return [path for path in listed.stdout.decode().split("\0") if path and (ROOT / path).is_file()]


def places(fault: Fault) -> list[str]:
    """The files of the program with the text of a fault, each as often as it has it."""
    counts = {path: (ROOT / path).read_text(encoding="utf-8").count(fault.find) for path in tracked(*PROGRAM)}
    return [path for path, count in counts.items() for _ in range(count)]


def faulty(fault: Fault, text: str) -> str:
    """The text of a file with the fault."""
    return text.replace(fault.find, fault.replace)


@contextmanager
def copied(fault: Fault) -> Iterator[Path]:
    """A copy of the program with the fault; beside it what is shared, where it is beside this one."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy = Path(folder) / "program"
        for path in tracked():
            target = copy / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, target)
        target = copy / places(fault)[0]
        target.write_text(faulty(fault, target.read_text(encoding="utf-8")), encoding="utf-8")
        if SHARED.exists():
            (Path(folder) / SHARED.name).symlink_to(SHARED)
        yield copy


def caught(fault: Fault) -> str:
    """The first test that fails, or :data:`MISSED`.

    Raises:
        RuntimeError: the tests could not be run.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout=1200", *fault.tests]
    with copied(fault) as folder:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": "", "COLUMNS": "300"}
        )
    failed = _FAILED.search(done.stdout)
    if done.returncode == 0:
        return MISSED
    if failed is None or "Timeout" in (failed[2] or ""):
        raise RuntimeError(f"{' '.join(fault.tests)} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    say(f"  {failed[2]}")
    return failed[1]


def main() -> int:
    """Try the faults that are named, or all; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(fault.name for fault in FAULTS)}")
    given = parser.parse_args()
    if unknown := set(given.names) - {fault.name for fault in FAULTS}:
        parser.error(f"no fault has the name {', '.join(sorted(unknown))}")
    chosen = [fault for fault in FAULTS if not given.names or fault.name in given.names]
    wrong = False
    rows = []
    for fault in chosen:
        count, begun = len(places(fault)), time.monotonic()
        found = caught(fault) if count == 1 else f"found {count} times"
        wrong = wrong or count != 1 or found == MISSED
        rows.append((fault.name, fault.sentence, found, f"{time.monotonic() - begun:.0f}"))
        say("  ".join(rows[-1]))
    print(markdown(("fault", "what is wrong", "caught by", "seconds"), rows))
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
