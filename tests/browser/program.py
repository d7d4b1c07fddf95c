"""``python app.py`` in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.browser.conftest import Site
from tests.campaigns._page import ROOT, LivePage
from tests.synthetic import make_run


@dataclass
class Program:
    """``python app.py`` as a person starts it."""

    process: subprocess.Popen[bytes]
    site: Site


@contextlib.contextmanager
def launched(tmp_path: Path, root: Path = ROOT, **environment: str) -> Iterator[Program]:
    """The program in ``root`` with one finished run; it is ended at the end."""
    runs = tmp_path / "runs"
    finished = make_run(runs, points=100, frames=2)
    environment = {"RANKSCOPE_CACHE": str(tmp_path / "cache"), **environment}
    with LivePage(runs, root=root, environment=environment) as page:
        yield Program(process=page.process, site=Site(url=page.url, root=runs, finished=finished))
