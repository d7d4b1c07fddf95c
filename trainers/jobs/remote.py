"""The program of a job: ``python -m trainers.jobs.remote OWNER/NAME RUN --every SECONDS``.

It fetches the run from its repository, has ``python -m trainers resume`` train it from its last checkpoint, and brings
the copy in the repository up to date: at intervals, some time before the job's limit, when the job is told to end, and
at the end. ``RANKSCOPE_JOB_END`` says when the limit is.
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from trainers.data.hf_logging import ThrottledError
from trainers.errors import RunError, UserError
from trainers.jobs.client import SECRET
from trainers.jobs.repository import Repository, opened
from trainers.jobs.script import END
from trainers.publishing.upload import Target
from trainers.runs import RunFolder, list_runs

SHARE = 10
"""A copy is begun after so many times what the last one took, so that copies take a tenth of a job at most."""
MOST_COPIES = 24
"""So many in the time of a job: the repository keeps all checkpoints that it ever held."""
LEAVE_SECONDS = 60.0
"""Before the limit at which training ends, beside twice the time of the longest copy."""
_LOOK_SECONDS = 0.5
_LAST_TRIES = 3
_TRY_SECONDS = 5.0
_FAILURES = (UserError, OSError, sqlite3.Error)  # of a copy; also a file that the trainer has just replaced


class Remote:
    """Trains one run and keeps its copy.

    Args:
        root: folder of the runs in the job.
        end: when the job's limit is, in seconds since the epoch.
        every: least seconds between two copies.
    """

    def __init__(self, repository: Repository, root: Path, run: str, end: float, every: float) -> None:
        self._repository, self._root, self._run, self._end = repository, root, run, end
        self._every = max(every, (end - time.time()) / MOST_COPIES)
        self._longest = 0.0
        self._child: subprocess.Popen[bytes] | None = None
        self._leaving = False

    def train(self) -> int:
        """Train until the end, the limit or SIGTERM; returns the exit status of the trainer, or 1 without a last copy.

        Raises:
            UserError: the run cannot be fetched.
        """
        for manifest in self._repository.fetch():
            self._repository.restore(manifest, self._root)
        words = [sys.executable, "-m", "trainers", "resume", self._run, "--runs", str(self._root)]
        due = time.monotonic() + self._every
        signal.signal(signal.SIGTERM, lambda _number, _frame: self._leave())
        with subprocess.Popen(words) as child:
            self._child = child
            if self._leaving:  # told before there was a trainer to tell
                child.terminate()
            while child.poll() is None:
                self._watch_limit()
                if time.monotonic() >= due and not self._leaving:
                    took = self._copy()
                    due = time.monotonic() + max(self._every, SHARE * took)
                time.sleep(_LOOK_SECONDS)
            status = child.returncode
        return status if self._copy_last() else 1

    def _leave(self) -> None:
        """Have the trainer write a checkpoint and end."""
        self._leaving = True
        if self._child is not None:
            self._child.terminate()

    def _watch_limit(self, *_: object) -> None:
        if not self._leaving and time.time() > self._end - LEAVE_SECONDS - 2 * self._longest:
            print("The job's time is almost up: the run is saved.", flush=True)
            self._leave()

    def _copy(self) -> float:
        """Bring the copy up to date, or say why not; returns the seconds that this took."""
        began = time.monotonic()
        try:
            self._push()
        except _FAILURES as error:
            print(f"The run was not copied, and will be later: {error}", flush=True)
        took = time.monotonic() - began
        self._longest = max(self._longest, took)
        return took

    def _push(self) -> None:
        if self._repository.push(list_runs(self._root), {}, self._watch_limit) is not None:
            state = RunFolder.open(self._root, self._run).state()
            print(f"Copied to {self._repository.target.name}: {state.phase}, step {state.step}.", flush=True)

    def _copy_last(self) -> bool:
        self._leaving = True
        for left in reversed(range(_LAST_TRIES)):
            try:
                self._push()
                return True
            except _FAILURES as error:
                print(f"The last copy of the run failed: {error}", file=sys.stderr, flush=True)
                wait = getattr(error, "seconds", None) if isinstance(error, ThrottledError) else None
                wait = _TRY_SECONDS if wait is None else float(wait)
                if not left or time.time() + wait > self._end:
                    return False
                time.sleep(wait)
        return False


def main(argv: list[str]) -> int:
    """Train the run of a repository in the folder ``runs`` of the working directory; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m trainers.jobs.remote")
    parser.add_argument("repository")
    parser.add_argument("run")
    parser.add_argument("--every", type=float, required=True)
    arguments = parser.parse_args(argv)
    try:
        target = Target(name=arguments.repository, private=True, token=os.environ.get(SECRET))
        root = Path("runs").resolve()
        root.mkdir(exist_ok=True)
        with opened(target) as repository:
            return Remote(repository, root, arguments.run, _end(), arguments.every).train()
    except UserError as error:
        print(f"rankscope: {error}", file=sys.stderr, flush=True)
        return 1


def _end() -> float:
    try:
        return float(os.environ[END])
    except (KeyError, ValueError) as error:
        raise RunError(f"{END} was needed: when the job's limit is, in seconds since the epoch.") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
