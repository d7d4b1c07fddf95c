"""How long viewers wait who ask once a second how a run trains, and what the page takes for them.

python -m tests.benchmarks.viewers --minutes 5 --viewers 20
"""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import psutil

from explorer.server.routes import PREFIX
from tests.campaigns._page import LivePage, call, descriptors, empty_page, memory
from tests.programs import arguments
from tests.waiting import wait

RUN = {"losses": [{"name": "smooth_ap"}, {"name": "happier"}]}
SECONDS = 1.0  # between two looks, as assets/common/poll.js takes while a run moves


def main() -> None:
    """Train a run, let the viewers look, and print a line a minute."""
    given = arguments(__doc__, minutes=(5, "how long they look"), viewers=(20, "who look at once"))
    with empty_page(answers="/") as (page, client):
        run = call(client, "start_kind", "metric_learning", RUN | {"minutes": given.minutes + 5}, "a word")
        wait(lambda: call(client, "run_status", run)["phase"] == "running", 120)
        _look(page, run, given.minutes, given.viewers)


def _look(page: LivePage, run: str, minutes: int, viewers: int) -> None:
    waited: list[float] = []
    begun, process = time.monotonic(), psutil.Process(page.pid)
    end, spent = begun + 60 * minutes, sum(process.cpu_times()[:2])
    with ThreadPoolExecutor(viewers) as pool:
        watching = [pool.submit(_watch, page.url, run, end, waited) for _ in range(viewers)]
        for _ in range(minutes):
            before = len(waited)
            time.sleep(60)
            middle, high = 1000 * np.quantile(waited[before:], (0.5, 0.95))
            share = (sum(process.cpu_times()[:2]) - spent) / (time.monotonic() - begun)
            print(
                f"{len(waited) - before} looks, median {middle:.1f} ms, 95 of 100 within {high:.1f} ms; the page: "
                f"{share:.0%} of a core, {memory(page.pid) / 1e6:.0f} MB, {len(descriptors(page.pid))} files open",
                flush=True,
            )
    for one in watching:
        one.result()


def _watch(url: str, run: str, end: float, waited: list[float]) -> None:
    """Look at the run as the page does, from a moment of its own on."""
    after, row, following = -1, 0, time.monotonic() + random.random()
    with httpx.Client(base_url=url, timeout=60) as client:
        while following < end:
            time.sleep(max(0.0, following - time.monotonic()))
            begun = time.perf_counter()
            reply = client.get(f"{PREFIX}/run/{run}/poll?after={after}&row={row}")
            waited.append(time.perf_counter() - begun)
            news = reply.raise_for_status().json()
            row, after = news["row"], (news["frame"] or {"k": after})["k"]
            following += SECONDS


if __name__ == "__main__":
    main()
