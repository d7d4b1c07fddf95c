"""Programs that serve a page, started and measured from outside."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180.0
"""Seconds that a page may take."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A program that answers.

    Attributes:
        url: of its page.
        start: seconds from its start to its first answer, and ``start_cpu``, those of a processor.
        pid: of its process.
    """

    url: str
    start: float
    start_cpu: float
    pid: int


@contextlib.contextmanager
def serving(command: Sequence[str]) -> Iterator[Served]:
    """Run Python with ``command``, in which ``PORT`` and ``RUNS`` are replaced, with empty caches, until the end."""
    with tempfile.TemporaryDirectory() as scratch:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = [word.replace("PORT", str(port)).replace("RUNS", f"{scratch}/runs") for word in command]
        environment = os.environ | {"RANKSCOPE_CACHE": f"{scratch}/cache", "HF_HUB_OFFLINE": "1"}
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        try:
            url = f"http://127.0.0.1:{port}/"
            _wait_for(url, process)
            started = time.perf_counter() - begun
            yield Served(url=url, start=started, start_cpu=seconds(process.pid), pid=process.pid)
        finally:
            process.terminate()
            process.wait(30)


APP = ("app.py", "--port", "PORT", "--runs", "RUNS")


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("The program did not start.")


def seconds(server: int) -> float:
    """Processor seconds of a process so far; nan where the system does not say."""
    stat = Path(f"/proc/{server}/stat")
    if not stat.exists():
        return float("nan")
    return sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def memory(server: int) -> float:
    """Resident memory of a process in MB; nan where the system does not say."""
    status = Path(f"/proc/{server}/status")
    if not status.exists():
        return float("nan")
    return int(status.read_text().partition("VmRSS:")[2].split()[0]) * 1024 / 1e6
