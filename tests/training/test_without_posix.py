"""Everything is imported, and a run is trained, without what Windows' Python lacks.

This is no Windows: its rules for open, mapped and renamed files are not imitated.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import tiny_config, write_images
from trainers.runs import RunFolder

ROOT = Path(__file__).resolve().parents[2]
LACKING = {
    "os": ("fork", "geteuid", "getuid", "posix_fallocate", "sysconf", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY"),
    "select": ("poll",),
    "signal": ("SIGKILL", "SIGHUP"),
}
MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
PROGRAM = f"""
import os, select, signal, subprocess, sys, selectors, asyncio, multiprocessing.util  # they look once, at their import
import portalocker, psutil, torch, gradio, datasets, sqlite3, umap, plotly, open_clip, timm
for module, names in {LACKING!r}.items():
    for name in names:
        vars(sys.modules[module]).pop(name, None)
for name in {MODULES!r}:
    sys.modules[name] = None
import importlib, pathlib
for package in ("trainers", "explorer"):
    for path in sorted(pathlib.Path(package).rglob("*.py")):
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__").removesuffix(".__main__")
        importlib.import_module(name)
from trainers.training import parent_watch
parent_watch.hold(30.0)
from trainers.worker import main
parent_watch.leave(main(sys.argv[1:]))
"""


@pytest.mark.long
def test_everything_is_imported_and_a_run_is_trained(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "runs", tiny_config(write_images(tmp_path / "images")))
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder.path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.read()
    state = folder.state()
    assert (process.returncode, state.phase, state.step) == (0, "finished", 6), (said, json.dumps(state.error))
