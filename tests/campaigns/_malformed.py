"""Requests that no browser sends: seeded, endless, of every kind that a server can be asked."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_from_bytes

from explorer.exports import EXPORTS
from explorer.server.routes import PREFIX
from tests.data.bombs import drawn

NESTED: list[Any] = []
for _ in range(150):
    NESTED = [NESTED]
HUGE = 10**400
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**31, 2**63, HUGE, -HUGE, float("nan"), float("inf"), -float("inf"), 5e-324),
    *(
        "",
        " ",
        "\0",
        "\ud800",
        "\udfff\ud800",
        "١٢",
        "９",
        "1e400",
        "nan",
        "a" * 100_000,
        "-1",
        "0x10",
        "\u202e",
        "🦆" * 50,
    ),
    *(
        "../../../etc/passwd",
        "/dev/zero",
        "file:///etc/passwd",
        "~",
        "'; DROP TABLE state; --",
        "<script>",
        "%s%n",
        "{}",
    ),
    *(
        [],
        {},
        [[]],
        {"": ""},
        [None] * 3,
        [0] * 5000,
        {"a": {"b": {"c": []}}},
        NESTED,
        [HUGE],
        [float("nan")] * 4,
        ["\ud800"],
    ),
)
TEXTS = tuple(value for value in VALUES if isinstance(value, str))
BROKEN = (
    *(b"", b"{", b"[1,", b"nul", b"\xff\xfe", b'{"a": "\xed\xa0\x80"}', b"\x00" * 64, b'{"a": 1}{"b": 2}', b'"text"'),
    *(b"[" * 100_000, b'{"a":' * 5000, b"1" * 10_000, b'{"\\ud800": 1}', b'{"k": 1e999}', b"-", b"\xef\xbb\xbf{}"),
)
METHODS = ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "get", "G" * 300, "CONNECT")
RUN_PATHS = ("", "/poll", "/frame/{}", "/frameinfo/{}", "/sheet/{}.webp", "/neighbours/{}/{}", "/download/{}", "/{}")
TOP_PATHS = ("/runs", "/start", "/assets/{}", "/{}", "/run/{}", "/objects/start", "/objects/encoding", "/objects/runs")
OBJECT_PATHS = ("/objects/images/{}", "/objects/image/{}", "/objects/image/{}/pixels", "/objects/filled/{}")
MORE_PATHS = ("/objects/score/{}", "/objects/score/{}/csv", "/objects/runimage/{}/{}", "/objects/open/{}")
LAST_PATHS = ("/objects/detectors", "/objects/open/{}/stop")
PATHS = (*TOP_PATHS, *OBJECT_PATHS, *MORE_PATHS, *LAST_PATHS)
QUERIES = ("after", "row", "offset", "count", "side", "weights")
REMOVE = {"class": "dog", "boxes": [[0.2, 0.2, 0.6, 0.6]], "strokes": [{"radius": 0.1, "points": [[0.5, 0.5]]}]}
QUERY = {
    "image": "drawn_scenes.0",
    "remove": REMOVE,
    "fill": "telea",
    "models": ["tiny_clip"],
    "k": 5,
    "dataset": "drawn_scenes",
    "patience": 1,
}
BODIES: dict[str, dict[str, Any]] = {
    "open": {"source": "no_such_set", "captions_from": "", "limit": 5},
    "open/none/stop": {},
    "encode": {"models": ["tiny_clip"], "dataset": "drawn_scenes"},
    "detect": {"image": "drawn_scenes.0", "detector": "none"},
    "name": {"image": "drawn_scenes.0", "box": [0.1, 0.1, 0.5, 0.5], "model": "tiny_clip"},
    "query": QUERY,
    "score": {"dataset": "drawn_scenes", "models": ["tiny_clip"], "fill": "telea", "k": 5, "queries": 2, "run": "no"},
    "score/none/stop": {},
    "neighbours": {"run": "no", "index": 0, "remove": REMOVE, "fill": "telea", "k": 3},
}
TRAINING = {"minutes": 0.05, "steps": 1, "classes_per_batch": 4, "images_per_class": 2, "probe_size": 100, "seed": 1}
CALLS: dict[str, list[Any]] = {
    "start_run": [["smooth_ap"], "drawn", [{}], "small_conv", {"width": 8}, "m_per_class", TRAINING, "word", None],
    "run_status": ["0" * 26],
    "stop_run": ["0" * 26, "word"],
    "list_runs": [],
    "remove_object": ["0", "", [0.1, 0.1, 0.5, 0.5], "telea", ["tiny_clip"], 5, "drawn_scenes"],
    "score_objects": [["tiny_clip"], "no_such_set", "telea", 2, False, 0],
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it goes over the wire.

    Attributes:
        event: the reply names an event whose stream is to be read, as Gradio's calls do.
        refused: anything else than a refusal is a failure.
    """

    kind: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    event: bool = False
    refused: bool = False

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


class Malformed:
    """Makes them.

    Args:
        run: id of a run that is there.
    """

    def __init__(self, draws: random.Random, run: str) -> None:
        self._draws, self._run = draws, run

    def kinds(self) -> dict[str, Callable[[], Asked]]:
        """One maker for each kind of request, by the words of the table."""
        return {
            "odd paths": self.path,
            "odd query values": self.query,
            "methods": self.method,
            "headers": self.headers,
            "bodies that are no JSON": self.broken,
            "values in the objects' bodies": self.values,
            "uploads": self.upload,
            "image bombs": self.bomb,
            "arguments of the API": self.call,
            "Gradio's own routes": self.gradio,
        }

    def path(self) -> Asked:
        """Any route with odd words for its parts."""
        if self._draws.random() < 0.5:
            text = f"/run/{self._draws.choice([self._run, self._run, self._word()])}{self._draws.choice(RUN_PATHS)}"
        else:
            text = self._draws.choice(PATHS)
        return self._get("odd paths", "".join(self._filled(text)))

    def query(self) -> Asked:
        """A good path with odd values in its query."""
        places = (f"/run/{self._run}/poll", "/objects/images/drawn_scenes", "/objects/image/drawn_scenes.0/pixels")
        downloads = tuple(f"/run/{self._run}/download/{kind}" for kind in EXPORTS)
        names = self._draws.sample(QUERIES, self._draws.randrange(1, 4)) + [self._word()] * (self._draws.random() < 0.2)
        query = "&".join(f"{name}={self._word()}" for name in names)
        return self._get("odd query values", f"{self._draws.choice((*places, *downloads[:2]))}?{query}")

    def method(self) -> Asked:
        """A route with a method that it does not have."""
        path = next(self._filled(self._draws.choice((*PATHS, *(f"/objects/{name}" for name in BODIES)))))
        body = self._draws.choice(BROKEN[:9])
        return Asked(kind="methods", method=self._draws.choice(METHODS), path=PREFIX + path, body=body)

    def headers(self) -> Asked:
        """Odd headers."""
        names = ("x-rankscope-token", "x-rankscope-name", "if-none-match", "range", "accept-encoding", "content-type")
        more = (
            "host",
            "origin",
            "referer",
            "cookie",
            "content-length",
            "transfer-encoding",
            "x-forwarded-for",
            "expect",
        )
        odd = (
            "",
            "%ff%fe",
            "é" * 40,
            "\x01",
            "0" * 20_000,
            "-1",
            "bytes=5-1",
            "chunked",
            "null",
            "http://[",
            '"',
            "a, b",
        )
        found = [
            (self._draws.choice(names + more), self._draws.choice(odd)) for _ in range(self._draws.randrange(1, 4))
        ]
        places = ("/runs", "/start", f"/run/{self._run}/frame/0", "/assets/live/live.js", "/objects/start")
        if self._draws.random() < 0.3:
            found += [("Content-Type", "application/json")] * (self._draws.random() < 0.5)
            return Asked(
                kind="headers", method="POST", path=f"{PREFIX}/objects/query", headers=tuple(found), body=b"{}"
            )
        return Asked(kind="headers", method="GET", path=PREFIX + self._draws.choice(places), headers=tuple(found))

    def broken(self) -> Asked:
        """Bytes where JSON was wanted."""
        name, body = self._draws.choice(list(BODIES)), self._draws.choice(BROKEN)
        if self._draws.random() < 0.4:
            whole = bytearray(self._json(BODIES[name]))
            for _ in range(self._draws.randrange(1, 6)):
                whole[self._draws.randrange(len(whole))] = self._draws.randrange(256)
            body = bytes(whole)
        return self._posted("bodies that are no JSON", f"{PREFIX}/objects/{name}", body)

    def values(self) -> Asked:
        """A question with odd values in it."""
        name = self._draws.choice(list(BODIES))
        return self._posted(
            "values in the objects' bodies", f"{PREFIX}/objects/{name}", self._json(self._odd(BODIES[name]))
        )

    def upload(self) -> Asked:
        """Files that are no images."""
        starts = (
            b"",
            b"\xff\xd8\xff\xe0",
            b"\x89PNG\r\n\x1a\n",
            b"GIF89a",
            b"RIFF0000WEBPVP8 ",
            b"%!PS-Adobe-3.0 EPSF\n",
            b"II*\0",
            b"<svg>",
        )
        body = self._draws.choice(starts) + self._draws.randbytes(self._draws.choice((0, 1, 40, 4000)))
        kinds = ("application/octet-stream", "image/png", "image/jpeg", "image/svg+xml", "multipart/form-data", "")
        headers = (
            ("x-rankscope-name", quote(self._text()[:300])),
            ("Content-Type", self._draws.choices(kinds, (8, 2, 2, 1, 1, 1))[0]),
        )
        return Asked(kind="uploads", method="POST", path=f"{PREFIX}/objects/upload", headers=headers, body=body)

    def bomb(self) -> Asked:
        """Images that are quickly sent and slowly unpacked."""
        body = drawn(self._draws)
        path = f"{PREFIX}/{self._draws.choice(('objects', 'retrieval'))}/upload"
        headers = (("Content-Type", "application/octet-stream"),)
        return Asked(kind="image bombs", method="POST", path=path, headers=headers, body=body, refused=True)

    def call(self) -> Asked:
        """An endpoint of the API with odd, missing or additional arguments."""
        name = self._draws.choice(list(CALLS))
        data = self._odd(CALLS[name])
        body: Any = {"data": data} if self._draws.random() < 0.9 else self._odd({"data": data, "session_hash": "word"})
        return self._posted("arguments of the API", f"/gradio_api/call/{name}", self._json(body), event=True)

    def gradio(self) -> Asked:
        """What Gradio answers by itself."""
        kind = "Gradio's own routes"
        gets = (
            "file={}",
            "heartbeat/{}",
            "call/{}/{}",
            "queue/data?session_hash={}",
            "{}",
            "stream/{}/{}/1/playlist.m3u8",
        )
        if self._draws.random() < 0.5:
            return Asked(kind=kind, method="GET", path="/gradio_api/" + next(self._filled(self._draws.choice(gets))))
        whole = {"data": [[], "x"], "fn_index": 0, "session_hash": "word", "event_data": None, "trigger_id": 1}
        path = self._draws.choice(("queue/join", "run/predict", "api/start_run", "call/start_run", "reset", "cancel"))
        return self._posted(kind, f"/gradio_api/{path}", self._json(self._odd(whole)))

    # -------------------------------------------------------------------- pieces

    def _get(self, kind: str, path: str) -> Asked:
        return Asked(kind=kind, method="GET", path=PREFIX + path)

    def _posted(self, kind: str, path: str, body: bytes, *, event: bool = False) -> Asked:
        headers = (("Content-Type", "application/json"),)
        return Asked(kind=kind, method="POST", path=path, headers=headers, body=body, event=event)

    def _filled(self, text: str) -> Iterator[str]:
        first, *rest = text.split("{}")
        yield first + "".join(self._word() + piece for piece in rest)

    def _word(self) -> str:
        """An odd part of an address."""
        plain = ("0", "1", "99999999", "9" * 400, "-0", "00", "1.5", self._run, self._run.lower(), "drawn_scenes.0")
        odd = (
            "..",
            "%2e%2e%2f",
            "%00",
            "%",
            "%zz",
            "%ff",
            ";",
            "a" * 3000,
            "%F0%9F%A6%86",
            "con",
            "%5c..%5c",
            "run.zip",
        )
        if self._draws.random() < 0.3:
            return quote_from_bytes(self._draws.randbytes(self._draws.randrange(1, 12)))
        return self._draws.choice((*plain, *odd, quote(self._text()[:2000])))

    def _text(self) -> str:
        return self._draws.choice(TEXTS).encode("utf-8", "replace").decode()

    def _odd(self, whole: Any) -> Any:
        """The same with one to three places replaced, removed or added to."""
        found = copy.deepcopy(whole)
        for _ in range(self._draws.randrange(1, 4)):
            if not isinstance(found, (dict, list)) or self._draws.random() < 0.04:
                return self._value()
            self._change(found)
        return found

    def _change(self, whole: Any) -> None:
        keys = list(whole) if isinstance(whole, dict) else list(range(len(whole)))
        if not keys or self._draws.random() < 0.1:
            if isinstance(whole, dict):
                whole[self._text()[:40]] = self._value()
            else:
                whole.append(self._value())
            return
        key = self._draws.choice(keys)
        if isinstance(whole[key], (dict, list)) and whole[key] and self._draws.random() < 0.7:
            self._change(whole[key])
        elif self._draws.random() < 0.12:
            del whole[key]
        else:
            whole[key] = self._value()

    def _value(self) -> Any:
        return copy.deepcopy(self._draws.choice(VALUES))  # it may be changed in its turn

    def _json(self, whole: Any) -> bytes:
        return json.dumps(whole).encode()
