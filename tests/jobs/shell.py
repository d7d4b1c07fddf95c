"""Commands given one after another to one process, which imports the program once: ``python -m tests.jobs.shell``."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Answer:
    status: int
    out: str
    err: str


class Shell:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *words: str, **environment: str) -> Answer:
        """Run a command, with what changes of the environment."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([words, environment]) + "\n")
        self._process.stdin.flush()
        return Answer(*json.loads(self._process.stdout.readline()))


@contextlib.contextmanager
def opened_shell(environment: dict[str, str]) -> Iterator[Shell]:
    command = [sys.executable, "-m", "tests.jobs.shell"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield Shell(process)
        assert process.stdin
        process.stdin.close()


def answer(words: list[str]) -> Answer:
    from trainers.cli.main import main

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = main(words)
        except SystemExit as left:
            status = int(left.code or 0)
    return Answer(status, out.getvalue(), err.getvalue())


if __name__ == "__main__":
    before = dict(os.environ)
    for line in sys.stdin:
        told, changes = json.loads(line)
        os.environ.update(changes)
        done = answer(told)
        for name in changes:
            os.environ.pop(name)
        os.environ.update(before)
        print(json.dumps([done.status, done.out, done.err]), flush=True)
