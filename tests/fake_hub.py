"""The look-alike of the Hub, see ``shared/tools/fake_hub.py``, and fresh processes that ask it.

The libraries read the server's address once, so who asks it is a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.shared import tool
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[1]


@contextmanager
def fake_hub(seed: Path | None = None) -> Iterator[Any]:
    """Serve the repositories below a folder, and those written later."""
    server = tool("fake_hub").FakeHub(seed).start()
    yield server
    server.close()


def environment(url: str, home: Path, **also: str) -> dict[str, str]:
    """Return the variables of a process that takes a server for the Hub; ``home`` holds its caches."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name[:3] != "HF_"}
    own = {"HF_ENDPOINT": url, "HF_HOME": str(home / "hf"), "RANKSCOPE_CACHE": str(home / "cache")}
    return {**kept, **own, "HF_HUB_DISABLE_XET": "1", **also}


def ask(program: str, url: str, home: Path, orders: object, *more: str, **also: str) -> Any:
    """Return what a program prints as JSON, having been given orders as JSON; it prints nothing else."""
    made = subprocess.run(
        [sys.executable, "-c", program, json.dumps(orders), *more],
        env=environment(url, home, **also),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert made.stderr == "" and made.returncode == 0, made.stderr
    return json.loads(made.stdout)
