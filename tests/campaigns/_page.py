"""The real page in a process of its own, and what the kernel says about it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import httpx

from explorer.server.routes import PREFIX
from tests.distributed.processes import free_port
from tests.waiting import wait

ROOT = Path(__file__).parents[2]
API = "/gradio_api/call"
QUIET = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "PYTHONUNBUFFERED": "1",
}


class LivePage:
    """``python app.py`` on a folder of runs, at 127.0.0.1 only; ended with its trainers on the way out.

    Args:
        runs: folder of the runs.
        port: 0 for any free one.
        flags: more of the command line.
        program: what Python runs in place of ``app.py``, in the folder ``root``.
        environment: more of it.
        answers: the path that it then serves.

    Attributes:
        runs: the folder.
        seconds: from its start until it answered.
    """

    def __init__(
        self,
        runs: Path,
        *flags: str,
        port: int = 0,
        program: Sequence[str] = ("app.py",),
        root: Path = ROOT,
        environment: Mapping[str, str] = MappingProxyType({}),
        answers: str = f"{PREFIX}/start",
    ) -> None:
        self.runs, self._answers_at, self.seconds = runs, answers, 0.0
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.errors = runs.parent / f"page-{self.port}.log"
        command = [sys.executable, *program, "--runs", str(runs), *flags, "--port", str(self.port)]
        with self.errors.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=root,
                env={**os.environ, **QUIET, **environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def __enter__(self) -> LivePage:
        try:
            self.seconds = wait(self._answers, words="the page answers")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, _kind: type | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Of the page itself."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def stop(self) -> None:
        """As Ctrl-C would; killed if that takes too long."""
        if self.alive:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def children(self, words: str) -> list[int]:
        """Processes started by the page whose command line contains ``words``."""
        return [pid for pid in descendants(self.pid) if words in command_line(pid)]

    def log(self) -> str:
        """What it printed so far."""
        return self.errors.read_text(encoding="utf-8", errors="replace")

    def tracebacks(self) -> int:
        """How many stack traces it has printed."""
        return self.log().count("Traceback (most recent call last)")

    def _answers(self) -> bool:
        if not self.alive:
            raise RuntimeError(f"the page ended: {self.log()[-2000:]}")
        try:
            return httpx.get(f"{self.url}{self._answers_at}", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def empty_page(*flags: str, **how: Any) -> Iterator[tuple[LivePage, httpx.Client]]:
    """A page without a run, its cache empty, and who asks it; ``how``: see :class:`LivePage`."""
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        runs, cache = Path(folder).resolve() / "runs", {"RANKSCOPE_CACHE": f"{folder}/cache"}
        with (
            LivePage(runs, *flags, environment=cache, **how) as page,
            httpx.Client(base_url=page.url, timeout=60, trust_env=False) as client,
        ):
            yield page, client


def call(client: httpx.Client, name: str, *data: Any) -> Any:
    """The value of a public endpoint; the client's base address is the page.

    Raises:
        RuntimeError: it refused, in its own words.
    """
    began = client.post(f"{API}/{name}", json={"data": list(data)})
    began.raise_for_status()
    event, _, text = (
        client.get(f"{API}/{name}/{began.json()['event_id']}").text.rpartition("event: ")[2].partition("\n")
    )
    said = text.partition("data: ")[2].strip()
    if event.strip() != "complete":
        raise RuntimeError(said[:300])
    return json.loads(said)[0]


def memory(pid: int) -> int:
    """Resident bytes of a process; 0 if it is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Rss:\s+(\d+)", text, re.MULTILINE)
    return 0 if found is None else int(found[1]) * 1024


def descriptors(pid: int | str) -> list[str]:
    """What each open file of a process is."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            found.append(str(entry.readlink()))
        except OSError:
            continue
    return found


def descendants(pid: int) -> list[int]:
    """All processes below one."""
    try:
        own = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        for task in Path(f"/proc/{pid}/task").iterdir():
            if task.name != str(pid):
                own += [int(word) for word in (task / "children").read_text().split()]
    except OSError:
        return []
    return own + [below for child in own for below in descendants(child)]


def command_line(pid: int) -> str:
    """Of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
