"""Kills a process soon after the pipe on its standard input closes, that is, after its parent has died.

A thread of the process itself may wait for the interpreter for seconds, while compiled code or a library that is being
loaded holds it, and forever once the interpreter ends. So a second process watches and does nothing else: it is forked
before anything large is imported, reads nothing, and wakes twice a second. Windows has no fork: a second interpreter
looks there whether the parent process still runs.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import subprocess
import sys
import time
from typing import NoReturn

BEAT_SECONDS = 0.5


def has_pipe() -> bool:
    """Return whether standard input is a pipe: its end then means that the parent process is gone."""
    try:
        return stat.S_ISFIFO(os.fstat(0).st_mode)
    except OSError:
        return False


def hold(grace: float) -> None:
    """Have this process killed ``grace`` seconds after its standard input ends, if that is a pipe.

    To be called while there is one thread only, and before anything is opened that a child must not share.
    """
    if not has_pipe():
        return
    held = os.getpid()
    if hasattr(os, "fork"):
        if os.fork() == 0:
            _watch(held, grace)
    else:
        command = [sys.executable, "-m", __name__, str(held), str(_starter()), str(grace)]
        quiet = subprocess.DEVNULL
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet).returncode = 0  # nobody waits for it


def leave(code: int) -> NoReturn:
    """End this process at once, without the interpreter's shutdown, during which nothing would watch it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _watch(held: int, grace: float) -> NoReturn:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        empty = os.open(os.devnull, os.O_RDWR)
        os.dup2(empty, 1)
        os.dup2(empty, 2)
        os.closerange(3, 256)
        pipe = select.poll()
        pipe.register(0, 0)  # no event but its end, which is always told; what is in the pipe is for the other
        while os.getppid() == held:
            if pipe.poll(1000 * BEAT_SECONDS):
                time.sleep(grace)
                if os.getppid() == held:
                    os.kill(held, signal.SIGKILL)
                break
    finally:
        os._exit(0)


def _starter() -> int:
    """Return the number of the process that started this one, not of the launcher of a virtual environment."""
    import psutil

    parent = os.getppid()
    if os.name == "nt" and sys.prefix != sys.base_prefix:
        return psutil.Process(parent).ppid()
    return parent


def _look_for(held: int, parent: int, grace: float) -> None:
    """Kill a process ``grace`` seconds after its parent ended; psutil tells apart those that get one number in turn."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(held)
        with contextlib.suppress(psutil.NoSuchProcess):
            starter = psutil.Process(parent)
            while starter.is_running():
                if not process.is_running():
                    return
                time.sleep(BEAT_SECONDS)
        time.sleep(grace)
        process.kill()


if __name__ == "__main__":
    _look_for(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
