"""Requests that no browser sends, to every route and every endpoint of the API of the real page.

python -m tests.campaigns.fuzz --requests 1500

They are seeded and endless, of every kind that a server can be asked. A reply of 500 or above, no reply at all, a stack
trace or a RuntimeError on the page's standard error, or a page that does not serve afterwards is a failure.
"""

from __future__ import annotations

import copy
import json
import random
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_from_bytes

import httpx
from starlette.routing import Mount, Route

from explorer.explorer import Explorer
from explorer.exports import EXPORTS
from explorer.server.native_uploads import UPLOAD
from explorer.server.routes import PREFIX
from explorer.settings import Settings
from tests.campaigns._page import API, LivePage, call
from tests.programs import Tally, arguments, say
from tests.synthetic import make_run

AT_ONCE = 4
PATIENCE = 120.0  # seconds until the whole of a reply is there
ENOUGH = 64 * 1024  # bytes of a reply that are looked at
LASTING = ("/heartbeat/", "/queue/data")  # streams that stay open on purpose
NESTED: list[Any] = []
for _ in range(150):
    NESTED = [NESTED]
HUGE = 10**400
NUMBERS = (0, -1, 1.5, 2**31, 2**63, HUGE, -HUGE, float("nan"), float("inf"), -float("inf"), 5e-324)
TEXTS = (
    *("", " ", "\0", "\ud800", "\udfff\ud800", "١٢", "９", "1e400", "nan", "a" * 100_000, "-1", "0x10", "\u202e"),
    *("🦆" * 50, "../../../etc/passwd", "/dev/zero", "file:///etc/passwd", "~", "'; DROP TABLE state; --"),
    *("<script>", "%s%n", "{}"),
)
LISTS: tuple[Any, ...] = (
    *([], {}, [[]], {"": ""}, [None] * 3, [0] * 5000, {"a": {"b": {"c": []}}}, NESTED, [HUGE], [float("nan")] * 4),
    ["\ud800"],
)
VALUES: tuple[Any, ...] = (None, True, False, *NUMBERS, *TEXTS, *LISTS)
BROKEN = (
    *(b"", b"{", b"[1,", b"nul", b"\xff\xfe", b'{"a": "\xed\xa0\x80"}', b"\x00" * 64, b'{"a": 1}{"b": 2}', b'"text"'),
    *(b"[" * 100_000, b'{"a":' * 5000, b"1" * 10_000, b'{"\\ud800": 1}', b'{"k": 1e999}', b"-", b"\xef\xbb\xbf{}"),
)
METHODS = ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "get", "G" * 300, "CONNECT")
HEADERS = (
    *("x-rankscope-token", "x-rankscope-name", "if-none-match", "range", "accept-encoding", "content-type", "host"),
    *("origin", "referer", "cookie", "content-length", "transfer-encoding", "x-forwarded-for", "expect"),
)
ODD_HEADERS = (
    *("", "%ff%fe", "é" * 40, "\x01", "0" * 20_000, "-1", "bytes=5-1", "chunked", "null", "http://[", '"', "a, b"),
)
QUERIES = ("after", "row", "offset", "count", "side", "weights")
PLAIN_WORDS = ("0", "1", "99999999", "9" * 400, "-0", "00", "1.5", "drawn_scenes.0")
ODD_WORDS = (
    *("..", "%2e%2e%2f", "%00", "%", "%zz", "%ff", ";", "a" * 3000, "%F0%9F%A6%86", "con", "%5c..%5c", "run.zip"),
    *EXPORTS,
)
STARTS = (b"", b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF0000WEBPVP8 ", b"%!PS-Adobe-3.0 EPSF\n")
"""First bytes of what is sent as an image."""
REMOVE = {"class": "dog", "boxes": [[0.2, 0.2, 0.6, 0.6]], "strokes": [{"radius": 0.1, "points": [[0.5, 0.5]]}]}
BODIES: dict[str, dict[str, Any]] = {
    "/retrieval/search": {"runs": ["no"], "query": {"row": 0, "remove": REMOVE, "fill": "telea"}},
    "/retrieval/open": {"source": "no_such_set"},
    "/retrieval/mistakes/severity": {"run": "no"},
    "/form/look": {"kind": "metric_learning", "settings": {"losses": [{"name": "smooth_ap"}]}},
    "/form/dropping": {"action": "cancel", "id": "no"},
}
"""Good bodies by route; the other routes are sent ``{}`` with odd values in it."""
TRAINING = {"minutes": 0.05, "steps": 1, "classes_per_batch": 4, "images_per_class": 2, "probe_size": 100, "seed": 1}
CALLS: dict[str, list[Any]] = {
    "start_run": [["smooth_ap"], "drawn", [{}], "small_conv", {"width": 8}, "m_per_class", TRAINING, "word", None],
    "run_status": ["0" * 26],
    "stop_run": ["0" * 26, "word"],
    "list_runs": [],
    "remove_object": ["0", "", [0.1, 0.1, 0.5, 0.5], "telea", ["tiny_clip"], 5, "drawn_scenes"],
    "score_objects": [["tiny_clip"], "no_such_set", "telea", 2, False, 0],
}
GRADIO = (
    *("file={}", "heartbeat/{}", "call/{}/{}", "queue/data?session_hash={}", "{}", "stream/{}/{}/1/playlist.m3u8"),
)
JOINED = ("queue/join", "run/predict", "run/event", "api/start_run", "call/start_run", "reset", "cancel")
JSON = (("Content-Type", "application/json"),)


def routes_of(explorer: Explorer) -> list[tuple[str, str]]:
    """Method and path of every route of the page, below the prefix; the parts of a path that vary are ``{}``."""
    (mount,) = (each for each in explorer.launch_options["app_kwargs"]["routes"] if isinstance(each, Mount))
    routes = [route for route in mount.routes if isinstance(route, Route)]
    return [(min(route.methods or {"GET"}), re.sub(r"{[^}]*}", "{}", route.path)) for route in routes]


def calls_of(client: httpx.Client) -> dict[str, list[Any]]:
    """Arguments of every public function: :data:`CALLS`, and for the others names of nothing."""
    functions = client.get("/gradio_api/info").json()["named_endpoints"]
    others = {name.strip("/"): ["no_such_name"] * len(about["parameters"]) for name, about in functions.items()}
    return others | CALLS


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it goes over the wire.

    Attributes:
        event: the reply names an event whose stream is to be read, as Gradio's calls do.
    """

    method: str
    path: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    event: bool = False

    def wire(self, host: str) -> bytes:
        """Its bytes."""
        given = {name.lower() for name, _ in self.headers}
        lines = [("Host", host)] * ("host" not in given) + [("Connection", "close")]
        if self.body and "content-length" not in given:
            lines.append(("Content-Length", str(len(self.body))))
        head = "".join(f"{name}: {value}\r\n" for name, value in (*lines, *self.headers))
        return f"{self.method} {self.path} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "replace") + self.body

    def __str__(self) -> str:
        return f"{self.method[:20]} {self.path[:100]} {dict(self.headers)!r:.80} {self.body[:120]!r}"


@dataclass(frozen=True)
class Malformed:
    """Makes them.

    Attributes:
        run: id of a run that is there.
        routes, calls: of the page, see :func:`routes_of` and :func:`calls_of`.
    """

    draws: random.Random
    run: str
    routes: list[tuple[str, str]]
    calls: dict[str, list[Any]]

    def kinds(self) -> dict[str, Callable[[], Asked]]:
        """One maker for each kind of request, by the words of the table."""
        return {
            "odd paths": lambda: Asked(method="GET", path=self._path("GET")),
            "odd query values": self.query,
            "methods": self.method,
            "headers": self.headers,
            "bodies that are no JSON": self.broken,
            "values in bodies": self.values,
            "uploads": self.upload,
            "arguments of the API": self.call,
            "Gradio's own routes": self.gradio,
            "photographs": self.photograph,
        }

    def query(self) -> Asked:
        """Odd values in the query of a path, odd names now and then."""
        some = self.draws.sample(QUERIES, self.draws.randrange(1, 4)) + [self._word()] * (self.draws.random() < 0.2)
        query = "&".join(f"{name}={self._word()}" for name in some)
        return Asked(method="GET", path=f"{self._path('GET')}?{query}")

    def method(self) -> Asked:
        """A route with a method that it does not have."""
        path = self._path(self.draws.choice(("GET", "POST")))
        return Asked(method=self.draws.choice(METHODS), path=path, body=self.draws.choice(BROKEN[:9]))

    def headers(self) -> Asked:
        """Odd headers."""
        count = self.draws.randrange(1, 4)
        odd = [(self.draws.choice(HEADERS), self.draws.choice(ODD_HEADERS)) for _ in range(count)]
        if self.draws.random() < 0.3:
            odd += JSON * (self.draws.random() < 0.5)
            return Asked(method="POST", path=self._path("POST"), headers=odd, body=b"{}")
        return Asked(method="GET", path=self._path("GET", plain=True), headers=odd)

    def broken(self) -> Asked:
        """Bytes where JSON was wanted."""
        name, body = self.draws.choice(list(BODIES)), self.draws.choice(BROKEN)
        if self.draws.random() < 0.4:
            whole = bytearray(json.dumps(BODIES[name]).encode())
            for _ in range(self.draws.randrange(1, 6)):
                whole[self.draws.randrange(len(whole))] = self.draws.randrange(256)
            body = bytes(whole)
        return Asked(method="POST", path=PREFIX + name, headers=JSON, body=body)

    def values(self) -> Asked:
        """A question with odd values in it."""
        if self.draws.random() < 0.7:
            name = self.draws.choice(list(BODIES))
            return self._posted(PREFIX + name, self._odd(BODIES[name]))
        return self._posted(self._path("POST"), self._odd({}))

    def upload(self) -> Asked:
        """Files that are no images."""
        starts = (*STARTS, b"II*\0", b"<svg>")
        body = self.draws.choice(starts) + self.draws.randbytes(self.draws.choice((0, 1, 40, 4000)))
        kinds = ("application/octet-stream", "image/png", "image/jpeg", "image/svg+xml", "multipart/form-data", "")
        kind = self.draws.choices(kinds, (8, 2, 2, 1, 1, 1))[0]
        return self._uploaded(body, ("x-rankscope-name", quote(self._text()[:300])), ("Content-Type", kind))

    def photograph(self) -> Asked:
        """A file as Gradio's components send it, or nearly."""
        body = self.draws.choice(STARTS) + self.draws.randbytes(self.draws.choice((0, 1, 40, 4000)))
        word = self.draws.choice(("xyz", "a b", "", "x" * 80, '"', self._word()))
        pieces = [b'--xyz\r\nContent-Disposition: form-data; name="files"; filename="', self._text().encode()[:400]]
        pieces += [b'"\r\nContent-Type: image/png\r\n\r\n', body, b"\r\n--xyz--\r\n"]
        if self.draws.random() < 0.5:
            pieces[self.draws.randrange(len(pieces))] = self.draws.choice((b"", b"\r\n\r\n", b"--xyz", b"\0", b'"'))
        kind = f"multipart/form-data; boundary={'xyz' if self.draws.random() < 0.7 else word}"
        path = f"{UPLOAD}?upload_id={self._word()}" if self.draws.random() < 0.2 else UPLOAD
        return Asked(method="POST", path=path, headers=[("Content-Type", kind)], body=b"".join(pieces))

    def call(self) -> Asked:
        """An endpoint of the API with odd, missing or additional arguments."""
        name = self.draws.choice(list(self.calls))
        data = self._odd(self.calls[name])
        body: Any = {"data": data} if self.draws.random() < 0.9 else self._odd({"data": data, "session_hash": "word"})
        way = self.draws.choice(("call", "call", "call/v2", "run"))
        return self._posted(f"/gradio_api/{way}/{name}", body, event=way == "call")

    def gradio(self) -> Asked:
        """What Gradio answers by itself."""
        if self.draws.random() < 0.5:
            return Asked(method="GET", path="/gradio_api/" + self._filled(self.draws.choice(GRADIO)))
        whole = {"data": [[], "x"], "fn_index": self.draws.randrange(99), "session_hash": "word", "trigger_id": 1}
        return self._posted(f"/gradio_api/{self.draws.choice(JOINED)}", self._odd(whole))

    # -------------------------------------------------------------------- pieces

    def _path(self, method: str, *, plain: bool = False) -> str:
        """A route with words, mostly odd, in place of its parts; half of those about a run are about one there."""
        path = self.draws.choice([path for how, path in self.routes if how == method])
        if path.startswith("/run/{}") and self.draws.random() < 0.5:
            path = path.replace("{}", self.run, 1)
        return PREFIX + (path.replace("{}", "0") if plain else self._filled(path))

    def _posted(self, path: str, body: Any, *, event: bool = False) -> Asked:
        return Asked(method="POST", path=path, headers=JSON, body=json.dumps(body).encode(), event=event)

    def _uploaded(self, body: bytes, *headers: tuple[str, str]) -> Asked:
        path = f"{PREFIX}/retrieval/upload"
        return Asked(method="POST", path=path, headers=headers, body=body)

    def _filled(self, path: str) -> str:
        first, *rest = path.split("{}")
        return first + "".join(self._word() + piece for piece in rest)

    def _word(self) -> str:
        """An odd part of an address."""
        if self.draws.random() < 0.3:
            return quote_from_bytes(self.draws.randbytes(self.draws.randrange(1, 12)))
        words = (*PLAIN_WORDS, self.run, self.run.lower(), *ODD_WORDS, quote(self._text()[:2000]))
        return self.draws.choice(words)

    def _text(self) -> str:
        return self.draws.choice(TEXTS).encode("utf-8", "replace").decode()

    def _odd(self, whole: Any) -> Any:
        """The same with one to three places replaced, removed or added to."""
        found = copy.deepcopy(whole)
        for _ in range(self.draws.randrange(1, 4)):
            if not isinstance(found, (dict, list)) or self.draws.random() < 0.04:
                return self._value()
            self._change(found)
        return found

    def _change(self, whole: Any) -> None:
        keys = list(whole) if isinstance(whole, dict) else list(range(len(whole)))
        if not keys or self.draws.random() < 0.1:
            if isinstance(whole, dict):
                whole[self._text()[:40]] = self._value()
            else:
                whole.append(self._value())
            return
        key = self.draws.choice(keys)
        if isinstance(whole[key], (dict, list)) and whole[key] and self.draws.random() < 0.7:
            self._change(whole[key])
        elif self.draws.random() < 0.12:
            del whole[key]
        else:
            whole[key] = self._value()

    def _value(self) -> Any:
        return copy.deepcopy(self.draws.choice(VALUES))  # it may be changed in its turn


# ------------------------------------------------------------------------------------------------- sending them


def ask(asked: Asked, port: int) -> str | None:
    """Send one request; a sentence if the page failed."""
    reply = _exchanged(asked.wire(f"127.0.0.1:{port}"), port, asked)
    found = re.match(rb"HTTP/1\.[01] (\d{3})", reply)
    if found is None:
        if not reply and not _complete(asked):
            return None  # we ended the request before it was complete: the server may hang up
        return f"no reply ({reply[:40]!r}) to {asked}"
    if int(found[1]) >= 500:
        return f"{int(found[1])} to {asked}"
    if asked.event and int(found[1]) == 200:
        return _followed(asked, reply, port)
    return None


def _followed(asked: Asked, reply: bytes, port: int) -> str | None:
    """Wait for what the call came to: its value, or an error with a sentence."""
    try:
        event = json.loads(reply.partition(b"\r\n\r\n")[2])["event_id"]
    except (ValueError, KeyError, TypeError):
        return None  # not begun; the refusal was a reply
    name = asked.path.rpartition("/")[2]
    stream = Asked(method="GET", path=f"{API}/{name}/{event}")
    said = _exchanged(stream.wire(f"127.0.0.1:{port}"), port, stream)
    return None if b"event: complete" in said or b"event: error" in said else f"no end of the call {asked}"


def _exchanged(content: bytes, port: int, asked: Asked) -> bytes:
    """What comes back, up to some length; empty if nothing did."""
    lasting = any(part in asked.path for part in LASTING)
    found = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire:
            wire.sendall(content)
            wire.shutdown(socket.SHUT_WR) if not _complete(asked) else None
            while len(found) < ENOUGH and (piece := wire.recv(16384)):
                found += piece
                if lasting or b"\nevent: complete" in found or b"\nevent: error" in found:
                    break
    except OSError:
        pass  # refused while we still wrote: what came before that counts
    return found


def _complete(asked: Asked) -> bool:
    """Whether the request is as long as it says; the server would wait for the rest of any other."""
    return not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in asked.headers)


def campaign(count: int, seed: int, port: int = 0) -> Tally:
    """So many requests to a page of its own."""
    tally = Tally(name="fuzz", head="sent")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        root = Path(folder).resolve() / "runs"
        made = make_run(root, points=200, frames=4)
        made.db.close()
        explorer = Explorer(Settings(runs=root, recorded=root))
        routes = routes_of(explorer)
        explorer.close()
        with LivePage(root, port=port) as page:
            with httpx.Client(base_url=page.url, timeout=PATIENCE, trust_env=False) as client:
                kinds = Malformed(random.Random(seed), made.id, routes, calls_of(client)).kinds()
            for kind, make in kinds.items():
                _sent(tally, kind, [make() for _ in range(count // len(kinds))], page)
            tally.note("a good request afterwards", _afterwards(page, made.id))
    return tally


def _sent(tally: Tally, kind: str, group: Sequence[Asked], page: LivePage) -> None:
    before = page.log()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for failure in pool.map(lambda one: ask(one, page.port), group):
            tally.note(kind, [failure] if failure else [])
            if failure:
                say(failure)
    told = re.findall(r"^.*(?:Traceback \(most recent|\bRuntimeError: ).*$", page.log()[len(before) :], re.MULTILINE)
    tally.failures[kind] += [f"on standard error: {line}" for line in told]


def _afterwards(page: LivePage, run_id: str) -> list[str]:
    if not page.alive:
        return ["the page ended"]
    with httpx.Client(base_url=page.url, timeout=PATIENCE, trust_env=False) as client:
        paths = ("/", f"{PREFIX}/runs.csv", f"{PREFIX}/run/{run_id}/frame/0", f"{PREFIX}/objects/encoding")
        said = [f"{path}: {reply.status_code}" for path in paths if (reply := client.get(path)).status_code != 200]
        if not any(run["id"] == run_id for run in call(client, "list_runs")):
            said.append("the API's list lacks the run")
    return said


def main() -> int:
    """Exit status 1 if anything failed."""
    given = arguments(
        __doc__,
        requests=(1500, "malformed requests to send"),
        seed=(0, "of every random choice"),
        port=(0, "of the page; any free one if not given"),
    )
    return campaign(given.requests, given.seed, given.port).end()


if __name__ == "__main__":
    sys.exit(main())
