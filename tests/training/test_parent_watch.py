"""A process on a leash is gone within two seconds of its parent, whatever it is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import wait

PARENT = """
import subprocess, sys, time

child = subprocess.Popen([sys.executable, sys.argv[1]], stdin=subprocess.PIPE)
print(child.pid, flush=True)
time.sleep(600)
"""
WATCH = "from trainers.training import parent_watch\n"
HOLD = WATCH + "parent_watch.hold(0.5)\nopen(__file__ + '.held', 'w').close()\n"
BUSY = {
    "code that holds the interpreter": "import ctypes\nctypes.PyDLL(None).sleep(600)\n",
    "a step of many seconds": "import numpy as np\nwhile True: np.sort(np.random.default_rng(0).random(30_000_000))\n",
    "the end of the interpreter": "import atexit, time\natexit.register(time.sleep, 600)\n",
    "nothing, where there is no fork": "import time\ntime.sleep(600)\n",
    "a thread that never ends": "import threading\nthreading.Thread(target=threading.Event().wait).start()\n",
}


def _is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("doing", BUSY)
def test_it_is_gone_soon_after_its_parent_was_killed(tmp_path: Path, doing: str) -> None:
    script = tmp_path / "held.py"
    no_fork = "import os\ndel os.fork\n" if "no fork" in doing else ""
    script.write_text(no_fork + HOLD + BUSY[doing])
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(script)], stdout=subprocess.PIPE, env=env)
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        wait((tmp_path / "held.py.held").exists)
        time.sleep(0.5)
        assert _is_there(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        wait(lambda: not _is_there(child), words="it outlived its parent")


def test_without_a_pipe_nothing_is_held(tmp_path: Path) -> None:
    script = tmp_path / "free.py"
    script.write_text(WATCH + "import os\nparent_watch.hold(0)\nprint(os.getpid())\nparent_watch.leave(7)\n")
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run([sys.executable, str(script)], stdin=subprocess.DEVNULL, capture_output=True, env=env)
    assert done.returncode == 7 and done.stdout.strip().isdigit()
