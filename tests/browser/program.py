"""``python app.py`` in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.browser.conftest import Site
from tests.synthetic import make_run
from tests.waiting import wait

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Program:
    """``python app.py`` as a person starts it."""

    process: subprocess.Popen[bytes]
    site: Site


def answers(url: str) -> bool:
    """Whether a page is served there."""
    try:
        return urllib.request.urlopen(url, timeout=2).status == 200
    except OSError:
        return False


@contextlib.contextmanager
def launched(tmp_path: Path, root: Path = ROOT, **environment: str) -> Iterator[Program]:
    """The program in ``root`` with one finished run; it is ended at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    runs = tmp_path / "runs"
    finished = make_run(runs, points=100, frames=2)
    url = f"http://127.0.0.1:{port}"
    log = (tmp_path / "app.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "app.py", "--port", str(port), "--runs", str(runs)],
        cwd=root,
        stdout=log,
        stderr=log,
        env=os.environ | {"RANKSCOPE_CACHE": str(tmp_path / "cache"), **environment},
    )
    try:
        wait(lambda: answers(url))
        yield Program(process=process, site=Site(url=url, root=runs, finished=finished))
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()
