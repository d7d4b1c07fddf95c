"""Malformed requests to every route and every endpoint of the API of the real page.

python -m tests.campaigns.fuzz --requests 1500

A reply of 500 or above, no reply at all, a stack trace or a RuntimeError on the page's standard error, an image bomb
that is not refused, a half-sent request that stays open, or a page that does not serve afterwards is a failure.
"""

from __future__ import annotations

import dataclasses
import json
import random
import re
import socket
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from explorer import Explorer, Settings
from explorer.server.routes import PREFIX
from tests.campaigns._half_sent import HALVES
from tests.campaigns._malformed import Asked, Malformed, calls_of, routes_of
from tests.campaigns._page import API, LivePage, call
from tests.campaigns._table import Tally, campaign_arguments
from tests.programs import say
from tests.synthetic import make_run

AT_ONCE = 4
PATIENCE = 120.0  # seconds until the whole of a reply is there
ENOUGH = 64 * 1024  # bytes of a reply that are looked at
CHAINED = (
    r"(?:another exception occurred|direct cause of the following exception):\n\n"
    r"Traceback \(most recent call last\):"
)
HALF_SENT = 45  # requests that begin and do not go on, open at the same time
LASTING = ("/heartbeat/", "/queue/data")  # streams that stay open on purpose


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
    if asked.refused and int(found[1]) < 400:
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


def requests(makers: Malformed, count: int) -> Iterator[list[Asked]]:
    """``count`` requests, by kind."""
    kinds = makers.kinds()
    for number, (kind, make) in enumerate(kinds.items()):
        here = count // len(kinds) + (number < count % len(kinds))
        yield [dataclasses.replace(make(), kind=kind) for _ in range(here)]


def campaign(count: int, seed: int, port: int = 0, *flags: str) -> Tally:
    """So many requests to a page of its own."""
    tally = Tally(name="fuzz", head="sent")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        root = Path(folder).resolve() / "runs"
        made = make_run(root, points=200, frames=4)
        made.db.close()
        explorer = Explorer(Settings(runs=root, recorded=root))
        routes = routes_of(explorer)
        explorer.close()
        with LivePage(root, *flags, port=port) as page:
            with httpx.Client(base_url=page.url, timeout=PATIENCE, trust_env=False) as client:
                makers = Malformed(random.Random(seed), made.id, routes, calls_of(client))
            for group in requests(makers, count):
                _sent(tally, group, page)
            _half_sent(tally, page)
            tally.note("a good request afterwards", _afterwards(page, made.id))
    return tally


def _sent(tally: Tally, group: list[Asked], page: LivePage) -> None:
    before = page.log()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for asked, failure in zip(group, pool.map(lambda one: ask(one, page.port), group), strict=True):
            tally.note(asked.kind, [failure] if failure else [])
            if failure:
                say(failure)
    for trace in traces(page.log()[len(before) :]):
        tally.failures[group[0].kind].append(f"stack trace on standard error: {trace}")
        say(f"{group[0].kind}: {trace}")


def _half_sent(tally: Tally, page: LivePage) -> None:
    """Requests of which a part is sent: the page has to end them."""
    names = [list(HALVES)[number % len(HALVES)] for number in range(HALF_SENT)]
    with ThreadPoolExecutor(HALF_SENT) as pool:
        for name, ended in zip(names, pool.map(lambda name: _is_ended(HALVES[name], page.port), names), strict=True):
            tally.note("half-sent requests", [] if ended else [f"still open: {name}"])


def _is_ended(content: bytes, port: int) -> bool:
    """Whether the page closes a connection by itself."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire:
            wire.sendall(content)
            while wire.recv(16384):
                pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def traces(log: str) -> list[str]:
    """The last line of every stack trace, those of one error, chained to each other, being one; and RuntimeErrors."""
    told = [line for line in log.splitlines() if re.search(r"\S.*\bRuntimeError: ", line)]
    found = re.split(r"Traceback \(most recent call last\):", re.sub(CHAINED, "", log))[1:]
    return told + [next((line for line in part.splitlines() if line and line[0] not in " \t"), "") for part in found]


def _afterwards(page: LivePage, run_id: str) -> list[str]:
    if not page.alive:
        return ["the page ended"]
    with httpx.Client(base_url=page.url, timeout=PATIENCE, trust_env=False) as client:
        paths = ("/", f"{PREFIX}/runs", f"{PREFIX}/run/{run_id}/frame/0", f"{PREFIX}/objects/start")
        said = [f"{path}: {reply.status_code}" for path in paths if (reply := client.get(path)).status_code != 200]
        if not any(run["id"] == run_id for run in call(client, "list_runs")):
            said.append("the API's list lacks the run")
    return said


def main() -> int:
    """Exit status 1 if anything failed."""
    given = campaign_arguments(__doc__, requests=(1500, "malformed requests to send"))
    return campaign(given.requests, given.seed, given.port).end()


if __name__ == "__main__":
    sys.exit(main())
