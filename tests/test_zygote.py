"""A process that is forked from a zygote is, for whoever started it, one that was started cold."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import zygote

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: elsewhere everything starts cold")
PROBE = """
import json, os, random, signal, subprocess, sys, threading, warnings
import numpy, torch
here = sys.modules["__main__"]
streams = [sys.stdin, sys.stdout, sys.stderr]
child = subprocess.Popen([sys.executable, "-m", "trainers.worker"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
facts = {
    "words": [*sys.argv, here.__spec__.name, here.__name__],
    "environment": sorted(os.environ.items()),
    "path": sys.path,
    "folder": os.getcwd(),
    "apart": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()],
    "parent": os.getppid(),
    "streams": [
        [s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.fileno(), type(s.buffer).__name__]
        for s in streams
    ],
    "said": sys.stdin.read(),
    "filters": list(map(str, warnings.filters)),
    "signals": {name: str(signal.getsignal(name)) for name in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)},
    "threads": [threading.active_count(), torch.get_num_threads()],
    "child": [child.wait(), os.getpid() != child.pid],
}
print(json.dumps(facts), flush=True)
drawn = [numpy.random.rand(), random.random(), torch.rand(()).item()]
print(json.dumps({"number": os.getpid(), "drawn": drawn, "worker": "trainers.worker" in sys.modules}))
"""


def probed(place: Path, *, warm: bool, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a verb finds in its process: what must be the same in each, and what must not."""
    file = place / "probe.py"
    file.write_text(PROBE)
    told = {**os.environ, "RANKSCOPE_PLUGINS": str(file), "PYTHONPATH": str(zygote.ROOT), **options.pop("told", {})}
    with contextlib.nullcontext() if warm else zygote.cold():
        child = subprocess.Popen(
            [sys.executable, "-m", "trainers", "list", "--runs", str(place)],
            **{"cwd": place, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
            env=told,
            text=True,
        )
    process = psutil.Process(child.pid)
    assert process.ppid() == os.getpid() and ("tests.zygote" in process.cmdline()) == warm
    output, errors = child.communicate("said", timeout=120)
    assert child.returncode == 0, errors
    facts, own = map(json.loads, output.splitlines()[:2])
    assert own["number"] == child.pid and facts["parent"] == os.getpid()
    return facts, own


def test_a_forked_process_finds_what_a_cold_one_finds(tmp_path: Path) -> None:
    options = {"start_new_session": True, "told": {"OMP_NUM_THREADS": "2"}}
    (cold, _), (warm, own) = (probed(tmp_path, warm=warm, **dict(options)) for warm in (False, True))
    assert cold.pop("threads")[0] == 1 and warm.pop("threads") == [1, 2]
    assert set(cold.pop("filters")) <= set(warm.pop("filters"))  # libraries that are loaded add some
    assert {name: (cold[name], warm[name]) for name in cold if warm[name] != cold[name]} == {}
    assert cold["child"] == [2, True]
    _, other = probed(tmp_path, warm=True)
    assert len({*own["drawn"], *other["drawn"]}) == 6 and not own["worker"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_signals_end_it(tmp_path: Path, number: int) -> None:
    file = tmp_path / "waits.py"
    file.write_text("import time; print(flush=True); time.sleep(600)")
    told = {**os.environ, "RANKSCOPE_PLUGINS": str(file)}
    command = [sys.executable, "-m", "trainers", "list", "--runs", str(tmp_path)]
    with subprocess.Popen(command, env=told, cwd=zygote.ROOT, stdout=subprocess.PIPE, process_group=0) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == b"\n"
            assert os.getpgid(child.pid) == child.pid and "tests.zygote" in psutil.Process(child.pid).cmdline()
            os.killpg(child.pid, number)
            assert child.wait(60) == (130 if number == signal.SIGINT else -number)
        finally:
            child.kill()


@pytest.mark.parametrize(
    ("changed", "taken"),
    [
        (
            {"RANKSCOPE_CACHE": "elsewhere", "WORLD_SIZE": "2", "OMP_NUM_THREADS": "3", "PYTEST_VERSION": "9"},
            True,
        ),
        ({"PYTHONPATH": str(zygote.ROOT)}, True),
        ({"PYTHONPATH": "/elsewhere"}, False),
        ({"RANKSCOPE_KINDS": "kinds"}, False),
        ({"HF_HUB_OFFLINE": "0"}, False),
        ({"HOME": "/elsewhere"}, False),
        ({"PYTHONWARNINGS": "error"}, False),
        ({"NEVER_HEARD_OF": "1"}, False),
    ],
)
def test_a_variable_that_may_be_read_on_import_starts_cold(changed: dict[str, str], taken: bool) -> None:
    before = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    made = zygote.Zygote(None, before)  # type: ignore[arg-type]
    assert made.takes(before | changed, str(zygote.ROOT)) == taken
    assert not made.takes(before, "/")  # the program is not there
    assert not made.takes({"HF_HUB_OFFLINE": "1"}, str(zygote.ROOT))  # as many threads as there are cores
