"""Many viewers watch, search and download while short runs follow each other; memory must stay level.

python -m tests.campaigns.soak --minutes 60 --viewers 20

The page runs in a process of its own; this one is the viewers. It passes if no request failed, if from the tenth minute
on (in a short soak: from its middle) the page's memory stays within 5 % of what it was then and its descriptors below a
bound, and if, when everybody has left and nothing trains, neither the page nor its map process holds a file of any run.
"""

from __future__ import annotations

import contextlib
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import httpx

from explorer.server.routes import PREFIX
from tests.campaigns._page import LivePage, call, descriptors, empty_page, memory
from tests.programs import arguments, markdown, say
from tests.waiting import wait
from trainers.runs import list_runs

SETTLED_MINUTES, SHARE = 10.0, 0.05
FILES = 64
"""Most descriptors of the page, beside two of each viewer's: of runs, logs, pipes, files that are being sent."""
END_SECONDS, LEFT_SECONDS = 600.0, 120.0  # the most until the last run ends, and then until its files are closed
POLL_SECONDS = 1.0  # as assets/common/poll.js does while a run moves
SHORT = {"losses": [{"name": "smooth_ap"}, {"name": "happier"}]}
"""Settings of every run beside its seed and its minutes."""
RUN = "/gradio_api/run"
HEAD = ("minute", "requests", "errors", "runs", "page MB", "maps MB", "files open", "of runs")


@dataclass(frozen=True)
class Sample:
    """One line of the table; ``held`` counts the open files of runs, in the page and the map process."""

    minute: float
    requests: int
    errors: int
    runs: int
    page: int
    maps: int
    files: int
    held: int


def addresses(about: Any, frames: Sequence[int], draws: random.Random) -> list[tuple[str, object]]:
    """What a visitor who looks at a run may ask for, below the prefix, each with the body that is posted, or None."""
    run, k, point = f"/run/{about['id']}", draws.choice(frames), draws.randrange(about["points"])
    image = f"drawn_scenes.{draws.randrange(200)}"
    return [
        *((f"{run}/{path}", None) for path in (f"frame/{k}", f"frameinfo/{k}", f"neighbours/{k}/{point}")),
        (f"{run}/sheet/{draws.randrange(about['sheets'])}.webp", None),
        (f"{run}/download/{draws.choice(list(about['downloads']) or ['run.zip'])}", None),
        *((path, None) for path in ("/runs.csv", "/start", "/assets/live/live.js", "/objects/encoding")),
        (f"/objects/image/{image}/pixels?side=160", None),
        ("remove_object", {"data": [image, "it", [0.3, 0.3, 0.6, 0.6], "telea", None, 5, "drawn_scenes"]}),
        ("/retrieval/search", {"runs": [about["id"]], "query": {"row": point}}),
        ("/retrieval/mistakes/severity", {"run": about["id"]}),
    ]


class Soak:
    """The page, its visitors, and what was seen of it."""

    def __init__(self, page: LivePage) -> None:
        self._page = page
        self._begun = time.monotonic()
        self.asked: Counter[str] = Counter()
        self.errors: list[str] = []
        self.samples: list[Sample] = []
        self.end = threading.Event()

    def visit(self, minutes: float, viewers: int, run_seconds: float, every: float) -> None:
        """Let the visitors in, take a sample every so many minutes, and see them out."""
        threads = [threading.Thread(target=self._watch, args=(seed,), daemon=True) for seed in range(viewers)]
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

    def sample(self) -> None:
        """Look at the page now."""
        pids = (self._page.pid, *self._page.children("explorer.layout.process"))
        page, *maps = (memory(pid) // 2**20 for pid in pids)
        minute, runs = round((time.monotonic() - self._begun) / 60, 1), len(list_runs(self._page.runs))
        files = len(descriptors(self._page.pid))
        counts = (self.asked.total(), len(self.errors), runs)
        self.samples.append(Sample(minute, *counts, page, sum(maps), files, len(self._held())))
        say(" | ".join(map(str, astuple(self.samples[-1]))))

    def left(self) -> None:
        """Wait until the last run has ended and its files are closed, and look once more."""
        with contextlib.suppress(TimeoutError):
            wait(lambda: not (self._page.alive and self._page.children("trainers.worker")), END_SECONDS)
            wait(lambda: not (self._page.alive and self._held()), LEFT_SECONDS)
        self.sample()

    def _held(self) -> list[str]:
        """The files of runs that the page and its map process have open."""
        pids = (self._page.pid, *self._page.children("explorer.layout.process"))
        return [name for pid in pids for name in descriptors(pid) if name.startswith(f"{self._page.runs}/")]

    def _watch(self, seed: int) -> None:
        """Look at the newest run as the page does, and now and then ask for something else."""
        draws = random.Random(seed)
        with httpx.Client(base_url=f"{self._page.url}{PREFIX}", timeout=60, trust_env=False) as client:
            while not self.end.wait(POLL_SECONDS * draws.uniform(0.9, 1.1)):
                newest = self._ask(client, "/start")
                about = newest and newest["id"] and self._ask(client, f"/run/{newest['id']}")
                news = about and self._ask(client, f"/run/{about['id']}/poll?after=-1&row=0")
                frames = [frame[0] for frame in news["frames"]] if news else []
                if frames and about["points"] and about["sheets"]:
                    self._ask(client, f"/run/{about['id']}/frame/{frames[-1]}")
                    if draws.random() < 0.4:
                        self._ask(client, *draws.choice(addresses(about, frames, draws)))

    def _ask(self, client: httpx.Client, path: str, body: object = None) -> Any:
        """The reply; None where there is none, or a sentence in its place, as of a frame that was rewound."""
        public = "/" not in path  # a function of the page
        self.asked[path if public else path.split("/")[1]] += 1
        address = f"{self._page.url}{RUN}/{path}" if public else path
        try:
            reply = client.get(address) if body is None else client.post(address, json=body)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            return None  # the server closed a connection that had been idle just as it was used again
        except httpx.HTTPError as error:
            self.errors.append(f"{path}: {type(error).__name__}: {error}")
            return None
        if reply.status_code == 200:
            return reply.json() if reply.headers["content-type"].startswith("application/json") else reply.content
        if reply.status_code not in (400, 404) or "error" not in reply.text:
            self.errors.append(f"{path}: {reply.status_code} {reply.text[:200]}")
        return None

    def _train(self, seconds: float) -> None:
        """Start the next run when the last one has ended."""
        with httpx.Client(base_url=self._page.url, timeout=60, trust_env=False) as client:
            started, minutes = 0, max(0.05, seconds / 60)
            while not self.end.is_set():
                try:
                    settings = SHORT | {"seed": started, "minutes": minutes}
                    run_id = call(client, "start_kind", "metric_learning", settings, "a word")
                    started += 1
                    moving = ("queued", "starting", "running")
                    while not self.end.wait(1) and call(client, "run_status", run_id)["phase"] in moving:
                        pass
                except (httpx.HTTPError, RuntimeError) as error:
                    self.errors.append(f"API: {type(error).__name__}: {error}")
                    self.end.wait(5)

    def verdicts(self, viewers: int) -> list[str]:
        """One sentence for every demand that was not met."""
        kinds = Counter(error[:120] for error in self.errors)
        said = [f"{count} requests failed: {error}" for error, count in kinds.most_common(5)]
        if not self._page.alive:
            return [*said, "the page ended"]
        if self._page.tracebacks():
            said.append(f"the page printed {self._page.tracebacks()} stack traces")
        return said + verdicts(self.samples, viewers)


def verdicts(samples: Sequence[Sample], viewers: int) -> list[str]:
    """Memory and descriptors since they should have settled, and the files that are open when nobody is left."""
    *visited, end = samples
    first = min(SETTLED_MINUTES, visited[-1].minute / 2)
    since = [sample for sample in visited if sample.minute >= first - 0.05]
    said, most = [], max(sample.page for sample in since)
    if most > since[0].page * (1 + SHARE):
        said.append(f"memory grew from {since[0].page} to {most} MB after minute {first:.0f}, by more than {SHARE:.0%}")
    files, bound = max(sample.files for sample in since), FILES + 2 * viewers
    if files > bound:
        said.append(f"{files} descriptors were open, {bound} are allowed")
    if end.held:
        said.append(f"{end.held} files of runs were open though nobody watched")
    return said


def main() -> int:
    """Exit status 1 if a demand was not met."""
    given = arguments(
        __doc__,
        minutes=(60.0, "how long the visitors stay"),
        viewers=(20, "how many visitors there are"),
        run_seconds=(20.0, "training time of each run"),
        every=(5.0, "minutes between two lines of the table"),
        port=(0, "of the page; any free one if not given"),
    )
    with empty_page(port=given.port) as (page, _):
        soak = Soak(page)
        soak.visit(given.minutes, given.viewers, given.run_seconds, given.every)
        soak.left()
        said = soak.verdicts(given.viewers)
    verdict = "Every demand was met." if not said else "\n".join(f"- {sentence}" for sentence in said)
    table = markdown(HEAD, [astuple(sample) for sample in soak.samples])
    print(f"\n{table}\n\nThe last line is after everybody had left.\n\n{verdict}")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
