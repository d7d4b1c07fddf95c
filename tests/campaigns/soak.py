"""Many viewers watch, click, list and download while short runs follow each other; memory must stay level.

python -m tests.campaigns.soak --minutes 60 --viewers 20

The page runs in a process of its own; this one is the viewers. It passes if no request failed, if from the tenth
minute on (in a short soak: from its middle) the page's memory stays within 5 % of what it was then and its descriptors
below a bound, if neither grows minute by minute over what is left of an hour, if 95 % of the downloads of what is on
disk are there within two seconds, and if, when everybody has left and nothing trains, neither the page nor its map
process holds a file of any run.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from tests.campaigns._page import LivePage, call, descriptors, memory
from tests.campaigns._table import campaign_arguments
from tests.campaigns._viewer import ON_DISK, Tally, Viewer
from tests.programs import markdown, say
from tests.waiting import wait
from trainers.runs import list_runs

SETTLED_MINUTES, SHARE = 10.0, 0.05
FILES = 64
"""Most descriptors of the page, beside two of each viewer's: of runs, logs, pipes, files that are being sent."""
PER_MINUTE = {"MB": 0.5, "descriptors": 0.2}
"""Most growth in the second half, fitted over at least :data:`FITTED_MINUTES`: what is kept has reached its bounds."""
FITTED_MINUTES = 20.0
DOWNLOAD_SECONDS = 2.0
LEFT_SECONDS = 120.0  # the most between the last viewer's leaving and the closing of the last file
MEGABYTE = 2**20
SHORT = {"losses": [{"name": "smooth_ap"}, {"name": "happier"}]}
"""Settings of every run beside its seed and its minutes."""
ASKED = ("asked for", "requests", "median s", "95 % within s", "at most s")
HEAD = ("minute", "requests", "errors", "runs", "page MB", "of it data MB", "maps MB", "files open", "of runs")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One line of the table; bytes. ``held`` counts the open files of runs, in the page and the map process."""

    minute: float
    requests: int
    errors: int
    runs: int
    page: int
    data: int
    maps: int
    files: int
    held: int

    def row(self) -> list[str]:
        """As it is printed."""
        sizes = [f"{size / MEGABYTE:.0f}" for size in (self.page, self.data, self.maps)]
        counts = [str(count) for count in (self.requests, self.errors, self.runs)]
        return [f"{self.minute:.1f}", *counts, *sizes, str(self.files), str(self.held)]


class Soak:
    """The page, its visitors, and what was seen of it."""

    def __init__(self, runs: Path, page: LivePage) -> None:
        self._runs, self._page = runs, page
        self._begun, self._viewers = time.monotonic(), 0
        self.tally = Tally()
        self.samples: list[Sample] = []
        self.end = threading.Event()

    def visit(self, minutes: float, viewers: int, run_seconds: float, every: float) -> None:
        """Let the visitors in, take a sample every so many minutes, and see them out."""
        self._viewers = viewers
        threads: list[threading.Thread] = [
            Viewer(self._page.url, seed, self.tally, self.end) for seed in range(viewers)
        ]
        threads.append(threading.Thread(target=self._train, args=(run_seconds,), daemon=True))
        for thread in threads:
            thread.start()
        for number in range(1, round(minutes / every) + 1):
            time.sleep(max(0.0, self._begun + 60 * every * number - time.monotonic()))
            self.sample()
            if not self._page.alive:
                break
        self.end.set()
        for thread in threads:
            thread.join(90)

    def sample(self) -> Sample:
        """Look at the page now."""
        layouts = self._page.children("explorer.layout.process")
        found, drawn = memory(self._page.pid), [memory(pid)["Rss"] for pid in layouts]
        open_files = [name for pid in (self._page.pid, *layouts) for name in descriptors(pid)]
        self.samples.append(
            Sample(
                minute=(time.monotonic() - self._begun) / 60,
                requests=self.tally.requests.total(),
                errors=len(self.tally.errors),
                runs=len(list_runs(self._runs)),
                page=found["Rss"],
                data=found["Anonymous"],
                maps=sum(drawn),
                files=len(descriptors(self._page.pid)),
                held=sum(name.startswith(f"{self._runs}/") for name in open_files),
            )
        )
        said = self.samples[-2].errors if len(self.samples) > 1 else 0
        for error in dict.fromkeys(self.tally.errors[said:]):
            say(f"failed: {error[:300]}")
        say(" | ".join(self.samples[-1].row()))
        return self.samples[-1]

    def left(self) -> Sample:
        """Wait until the last run has ended and its files are closed, and look once more."""
        with contextlib.suppress(TimeoutError):
            wait(lambda: self._quiet() or not self._page.alive, LEFT_SECONDS, "every run's files are closed")
        return self.sample()

    def verdicts(self) -> list[str]:
        """One sentence for every demand that was not met."""
        kinds = Counter(error[:120] for error in self.tally.errors)
        said = [f"{count} requests failed: {error}" for error, count in kinds.most_common(5)]
        if not self._page.alive:
            return [*said, "the page ended"]
        if self._page.tracebacks():
            said.append(f"the page printed {self._page.tracebacks()} stack traces")
        return said + verdicts(self.samples, self._viewers) + late(self.tally)

    def _train(self, seconds: float) -> None:
        """Start the next run when the last one has ended."""
        with httpx.Client(base_url=self._page.url, timeout=60, trust_env=False) as client:
            started, minutes = 0, max(0.05, seconds / 60)
            while not self.end.is_set():
                try:
                    settings = SHORT | {"seed": started, "minutes": minutes}
                    run_id = call(client, "start_kind", "metric_learning", settings, "a word")
                    started += 1
                    while not self.end.wait(1) and call(client, "run_status", run_id)["phase"] in (
                        "queued",
                        "starting",
                        "running",
                    ):
                        pass
                except (httpx.HTTPError, RuntimeError) as error:
                    self.tally.note("API", 0.0, f"{type(error).__name__}: {error}")
                    self.end.wait(5)

    def _quiet(self) -> bool:
        layouts = self._page.children("explorer.layout.process")
        busy = self._page.children("trainers.worker")
        names = [name for pid in (self._page.pid, *layouts) for name in descriptors(pid)]
        return not busy and not any(name.startswith(f"{self._runs}/") for name in names)


def settled(samples: Sequence[Sample]) -> list[Sample]:
    """Those since memory should have settled, without the last, when nobody is left."""
    *visited, _end = samples
    first = min(SETTLED_MINUTES, visited[-1].minute / 2)
    return [sample for sample in visited if sample.minute >= first - 0.05]


def growth(samples: Sequence[Sample]) -> dict[str, float]:
    """Megabytes and descriptors of the page in a minute, fitted to the second half; empty if that is too short."""
    *visited, _end = samples
    since = [sample for sample in visited if sample.minute >= visited[-1].minute / 2 - 0.05]
    if since[-1].minute - since[0].minute < FITTED_MINUTES - 0.1:
        return {}
    minutes = [sample.minute for sample in since]
    columns = {"MB": [one.page / MEGABYTE for one in since], "descriptors": [one.files for one in since]}
    return {name: float(np.polyfit(minutes, values, 1)[0]) for name, values in columns.items()}


def verdicts(samples: Sequence[Sample], viewers: int) -> list[str]:
    """Memory and descriptors since they should have settled, and the files that are open when nobody is left."""
    since, end = settled(samples), samples[-1]
    said, most = [], max(sample.page for sample in since)
    if most > since[0].page * (1 + SHARE):
        grown = f"from {since[0].page / MEGABYTE:.0f} to {most / MEGABYTE:.0f} MB"
        said.append(f"memory grew {grown} after minute {since[0].minute:.0f}, by more than {SHARE:.0%}")
    files, bound = max(sample.files for sample in since), FILES + 2 * viewers
    if files > bound:
        said.append(f"{files} descriptors were open, {bound} are allowed")
    for name, slope in growth(samples).items():
        if slope > PER_MINUTE[name]:
            said.append(f"{slope:.2f} {name} more each minute; {PER_MINUTE[name]:g} are allowed")
    if end.held:
        said.append(f"{end.held} files of runs were open though nobody watched")
    return said


def late(tally: Tally) -> list[str]:
    """A sentence if what is on disk took too long to download."""
    seconds = tally.within(ON_DISK, 95) if tally.requests[ON_DISK] else 0.0
    said = f"95 % within {seconds:.1f} s: {ON_DISK}; {DOWNLOAD_SECONDS:g} s are allowed"
    return [said] if seconds > DOWNLOAD_SECONDS else []


def main() -> int:
    """Exit status 1 if a demand was not met."""
    given = campaign_arguments(
        __doc__,
        minutes=(60.0, "how long the visitors stay"),
        viewers=(20, "how many visitors there are"),
        run_seconds=(20.0, "training time of each run"),
        every=(1.0, "minutes between two lines of the table"),
    )
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        runs = Path(folder).resolve() / "runs"
        with LivePage(runs, port=given.port) as page:
            soak = Soak(runs, page)
            soak.visit(given.minutes, given.viewers, given.run_seconds, given.every)
            soak.left()
            said = soak.verdicts()
    verdict = "Every demand was met." if not said else "\n".join(f"- {sentence}" for sentence in said)
    slopes = [f"{slope:+.2f} {name}" for name, slope in growth(soak.samples).items()]
    grown = f" In the second half the page grew by {' and '.join(slopes)} a minute." if slopes else ""
    asked = markdown(ASKED, soak.tally.rows())
    rows = [sample.row() for sample in soak.samples]
    print(f"\n{markdown(HEAD, rows)}\n\nThe last line is after everybody had left.{grown}\n\n{asked}\n\n{verdict}")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
