"""The page as a Space serves it, on the CPU: time to the first answer, and the memory of all its processes, alone and
with the run that a visitor starts with the defaults, against a bare Gradio page that imports torch.

python -m tests.benchmarks.space
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.request
from pathlib import Path

from tests.benchmarks._serving import APP, memory, serving
from tests.benchmarks.page import BARE

SPACE = {"SYSTEM": "spaces", "SPACE_ID": "some/space", "RANKSCOPE_KEEP": ""}
TOKEN = "a visitor of the benchmark"
MOST = 4000.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="of training that are watched")
    given = parser.parse_args()
    with serving(BARE) as bare:
        alone, start = memory(bare.pid), bare.start
    os.environ.update(SPACE)
    with serving((*APP, "--host", "127.0.0.1")) as served:
        time.sleep(15)  # the process that draws maps is ready
        idle = _all(served.pid)
        asked = json.dumps({"kind": "metric_learning", "settings": {"minutes": 2}}).encode()
        _post(f"{served.url}gradio_api/rankscope/form/train", asked)
        most = 0.0
        end = time.monotonic() + given.seconds
        while time.monotonic() < end:
            most = max(most, _all(served.pid))
            time.sleep(1)
    print(f"start            {served.start:.1f} s, {served.start / start:.2f} of the bare page")
    print(f"memory, idle     {idle:.0f} MB, {idle / alone:.2f} of the bare page ({alone:.0f} MB)")
    print(f"memory, training {most:.0f} MB (wanted: {MOST:g} at most)")


def _post(url: str, content: bytes) -> None:
    headers = {"content-type": "application/json", "x-rankscope-token": TOKEN}
    with urllib.request.urlopen(urllib.request.Request(url, content, headers), timeout=60) as reply:
        said = json.loads(reply.read())
    if "id" not in said:
        raise SystemExit(said)


def _all(server: int) -> float:
    """Resident memory of a process and of those that it started, in MB; what they share counts in each."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
    family = {server}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(memory(one) for one in family if Path(f"/proc/{one}/status").exists())


if __name__ == "__main__":
    main()
