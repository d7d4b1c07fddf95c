"""One visitor with a browser open: asks what the page's own modules ask, at the pace of a person."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np

from explorer.server.routes import PREFIX
from tests.campaigns._page import call
from tests.data.world import encode

POLL_SECONDS = 1.0  # as assets/common/poll.js does while a run moves
OBJECTS, RETRIEVAL = f"{PREFIX}/objects", f"{PREFIX}/retrieval"
MADE, ON_DISK = "download, made", "download, on disk"
"""A file that has to be made; the zip, which is sent as it is packed, and a file of a run at rest made a moment ago."""
GONE = 404  # a run that was deleted, a frame that was rewound, a photo no longer kept: said in a sentence, no error


class Tally:
    """Requests by what they asked for, how long each took in seconds, and the errors; safe between threads."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self._lock = threading.Lock()

    def note(self, kind: str, seconds: float, error: str | None = None) -> None:
        """One request, until the last byte of its reply."""
        with self._lock:
            self.requests[kind] += 1
            self.seconds[kind].append(seconds)
            if error is not None:
                self.errors.append(f"{kind}: {error}")

    def within(self, kind: str, share: float) -> float:
        """Seconds within which so many percent of the requests of a kind were answered."""
        with self._lock:
            return float(np.percentile(self.seconds[kind], share))

    def rows(self) -> list[tuple[str, ...]]:
        """Of each kind of request: how many there were, and the median, the 95th percentile and the most of their
        seconds."""
        with self._lock:
            spread = {kind: np.percentile(self.seconds[kind], (50, 95, 100)) for kind, _ in self.requests.most_common()}
            return [(kind, str(self.requests[kind]), *(f"{one:.2f}" for one in of)) for kind, of in spread.items()]


class Viewer(threading.Thread):
    """Looks at the newest run until ``end`` is set, and now and then does something else.

    Args:
        url: the page.
        seed: of everything this visitor decides.
    """

    def __init__(self, url: str, seed: int, tally: Tally, end: threading.Event) -> None:
        super().__init__(name=f"viewer {seed}", daemon=True)
        self._client = httpx.Client(base_url=url, timeout=60, trust_env=False)
        self._draws = random.Random(seed)
        self._tally, self._end = tally, end
        self._run: str | None = None
        self._after, self._row, self._points = -1, 0, 0
        self._frames: list[int] = []
        self._rests = False
        self._offered: list[str] = []

    def run(self) -> None:
        """Visit."""
        acts: dict[Callable[[], object], int] = {
            self._hover: 30,
            self._scrub: 20,
            self._list: 12,
            self._open_newest: 6,
            self._open_another: 3,
            self._download: 3,
            self._search: 3,
            self._look_at_mistakes: 1,
            self._remove_an_object: 4,
            self._ask_for_neighbours: 2,
            self._browse_images: 4,
            self._upload: 1,
            self._reload: 1,
            self._ask_the_api: 1,
        }
        self._end.wait(self._draws.uniform(0, POLL_SECONDS))
        with self._client:
            self._reload()
            while not self._end.wait(POLL_SECONDS * self._draws.uniform(0.9, 1.1)):
                act = self._draws.choices(list(acts), list(acts.values()))[0] if self._draws.random() < 0.4 else None
                try:
                    self._poll()
                    if act is not None:
                        act()
                except Exception as error:  # a reply that was not understood; the visit goes on
                    self._tally.note("replies", 0.0, f"{type(error).__name__}: {error}")

    # -------------------------------------------------------------- the tab Live

    def _poll(self) -> None:
        if self._run is None:
            self._open_newest()
            return
        news = self._json("poll", f"{PREFIX}/run/{self._run}/poll?after={self._after}&row={self._row}")
        if news is None:
            self._run = None
            return
        self._rests = not news["moving"]
        new = [frame[0] for frame in news["frames"]]
        self._frames = new if news["rewound"] else self._frames + new
        self._row = news["row"]
        if news["frame"] is not None:
            self._after = news["frame"]["k"]
            self._get("frame", f"{PREFIX}/run/{self._run}/frame/{self._after}")
        if self._points == 0 and news["frame"] is not None:
            self._open(self._run)

    def _open_newest(self) -> None:
        found = self._json("start", f"{PREFIX}/start")
        if found is not None and found["id"] is not None and found["id"] != self._run:
            self._open(found["id"])

    def _open_another(self) -> None:
        listed = self._json("list", f"{PREFIX}/runs")
        if listed is not None and listed["runs"]:
            self._open(self._draws.choice(listed["runs"])["id"])

    def _open(self, run_id: str) -> None:
        about = self._json("about", f"{PREFIX}/run/{run_id}")
        if about is None:
            return
        if run_id != self._run:
            self._after, self._row, self._rests = -1, 0, False
        self._offered = list(about["downloads"]) or ["run.zip"]
        self._run, self._points, self._frames = run_id, about["points"], [frame[0] for frame in about["frames"]]
        for sheet in range(about["sheets"]):
            self._get("thumbnails", f"{PREFIX}/run/{run_id}/sheet/{sheet}.webp")

    def _hover(self) -> None:
        if self._run is not None and self._points and self._frames:
            point = self._draws.randrange(self._points)
            self._get("neighbours", f"{PREFIX}/run/{self._run}/neighbours/{self._frames[-1]}/{point}")

    def _scrub(self) -> None:
        for k in self._frames[:: max(1, len(self._frames) // 6)]:
            self._get("frame", f"{PREFIX}/run/{self._run}/frame/{k}")
            self._get("frame", f"{PREFIX}/run/{self._run}/frameinfo/{k}")

    # ----------------------------------------------- the list, the page, the API

    def _list(self) -> None:
        self._get("list", f"{PREFIX}/runs", **{"x-rankscope-token": "a word"})

    def _download(self) -> None:
        if self._run is not None:
            kind = self._draws.choice(self._offered)
            path = f"{PREFIX}/run/{self._run}/download/{kind}"
            if kind == "run.zip" or (self._get(MADE, path) is not None and self._rests):
                self._get(ON_DISK, path)

    def _reload(self) -> None:
        self._get("page", "/")
        for name in ("page/sidebar.js", "common/base.css", "live/webgl_renderer.js", "live/live.js"):
            self._get("page", f"{PREFIX}/assets/{name}")

    def _ask_the_api(self) -> None:
        begun, said = time.monotonic(), None
        try:
            call(self._client, "list_runs")
        except (httpx.HTTPError, RuntimeError) as error:
            said = f"{type(error).__name__}: {error}"
        self._tally.note("API", time.monotonic() - begun, said)

    # ----------------------------------------------------------- the tab Retrieve

    def _search(self) -> None:
        if self._run is not None and self._points:
            asked = {"runs": [self._run], "query": {"row": self._draws.randrange(self._points)}}
            self._json("search", f"{RETRIEVAL}/search", asked)

    def _look_at_mistakes(self) -> None:
        if self._run is not None and self._points:
            self._json("mistakes", f"{RETRIEVAL}/mistakes/severity", {"run": self._run})

    # ------------------------------------------------- the tab Remove an object

    def _browse_images(self) -> None:
        self._json("images", f"{OBJECTS}/start")
        offset = self._draws.randrange(0, 96, 24)
        found = self._json("images", f"{OBJECTS}/images/drawn_scenes?offset={offset}&count=24")
        for image in (found or {"images": []})["images"][:24]:
            self._get("images", f"{OBJECTS}/image/{image['ref']}/pixels?side=160")

    def _remove_an_object(self) -> None:
        image = self._json("images", f"{OBJECTS}/image/drawn_scenes.{self._draws.randrange(200)}")
        allowed = [one["class"] for one in (image or {"objects": []})["objects"] if one["allowed"]]
        if image is None or not allowed:
            return
        asked = {
            "image": image["ref"],
            "remove": {"classes": [self._draws.choice(allowed)]},
            "fill": self._draws.choice(["telea", "mean"]),
            "models": ["tiny_clip", "tiny_clip_mended"],
            "k": 5,
        }
        reply = self._json("query", f"{OBJECTS}/query", asked)
        filled = (reply or {}).get("filled")
        if isinstance(filled, dict) and "key" in filled:
            filled = filled["key"]
        if isinstance(filled, str):
            self._get("images", f"{OBJECTS}/filled/{filled}")

    def _ask_for_neighbours(self) -> None:
        usable = [
            one for one in (self._json("objects' runs", f"{OBJECTS}/runs") or {"runs": []})["runs"] if one["usable"]
        ]
        if usable:
            run = self._draws.choice(usable)
            index = self._draws.randrange(run["points"])
            self._get("images", f"{OBJECTS}/runimage/{run['id']}/{index}?side=256")
            drawn = {"class": "it", "boxes": [[0.3, 0.3, 0.6, 0.6]]}
            self._json("query", f"{OBJECTS}/neighbours", {"run": run["id"], "index": index, "remove": drawn})

    def _upload(self) -> None:
        draws = np.random.default_rng(self._draws.randrange(2**31))
        small = draws.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        content, kind = encode(small.repeat(60, 0).repeat(60, 1)), {"content-type": "image/png"}
        reply = self._send("upload", "POST", f"{OBJECTS}/upload", content=content, headers=kind)
        if reply is not None:
            self._get("images", f"{OBJECTS}/image/{reply.json()['ref']}/pixels?side=512")

    # ------------------------------------------------------------------ requests

    def _get(self, kind: str, path: str, **headers: str) -> httpx.Response | None:
        return self._send(kind, "GET", path, headers=headers)

    def _json(self, kind: str, path: str, content: object = None) -> Any:
        reply = self._get(kind, path) if content is None else self._send(kind, "POST", path, json=content)
        return None if reply is None else reply.json()

    def _send(self, kind: str, method: str, path: str, **options: Any) -> httpx.Response | None:
        """The reply; None where the answer was a sentence instead."""
        begun = time.monotonic()
        try:
            try:
                reply = self._client.request(method, path, **options)
            except (httpx.ReadError, httpx.RemoteProtocolError):
                if method != "GET":
                    raise
                # the server closed a connection that had been idle just as it was used again: browsers ask anew
                self._tally.note("asked again", time.monotonic() - begun)
                reply = self._client.request(method, path, **options)
        except httpx.HTTPError as error:
            self._tally.note(kind, time.monotonic() - begun, f"{type(error).__name__}: {error}")
            return None
        seconds = time.monotonic() - begun
        if reply.status_code in (200, 304):
            self._tally.note(kind, seconds)
            return reply
        refused = reply.status_code == GONE or (reply.status_code == 400 and "error" in reply.text)
        self._tally.note(kind, seconds, None if refused else f"{reply.status_code} {reply.text[:200]}")
        return None
