"""A real page on a real port, and a client of it."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from explorer.explorer import Explorer
from explorer.settings import Settings
from tests.explorer.bench import STAND_IN
from tests.served import launched
from tests.waiting import PATIENCE
from trainers.training.executor import ProcessExecutor

PREFIX = "/gradio_api/rankscope"
# Gradio leaves event loops for the garbage collector and sets an option that newer pandas versions retire
GRADIO_WARNINGS = pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore:.*no_silent_downcasting",
    "ignore:The copy keyword is deprecated",
)


def bytes_by_tab(config: dict[str, Any]) -> str:
    """What the components and events of each tab take of the page's configuration, the largest tab first."""
    titles = {each["id"]: each["props"]["label"] for each in config["components"] if each["type"] == "tabitem"}
    places: dict[int, str] = {}
    below = [(config["layout"], "outside the tabs")]
    while below:
        part, place = below.pop()
        places[part["id"]] = place = titles.get(part["id"], place)
        below += [(child, place) for child in part.get("children", [])]
    taken: dict[str, list[int]] = {}
    events = [([*(one for one, _ in event["targets"]), *event["inputs"], *event["outputs"]], 1, event)
              for event in config["dependencies"]]  # fmt: skip
    for touched, kind, each in [*(([each["id"]], 0, each) for each in config["components"]), *events]:
        place = next((places[one] for one in touched if one in places), "outside the tabs")
        taken.setdefault(place, [0, 0])[kind] += len(json.dumps(each))
    ordered = sorted(taken.items(), key=lambda entry: -sum(entry[1]))
    return "; ".join(f"{place}: {parts:,} of components, {actions:,} of events" for place, (parts, actions) in ordered)


@contextmanager
def served(root: Path, **more: Any) -> Iterator[Served]:
    """A launched page whose trainers are stand-ins that train until they are ended."""
    executor = ProcessExecutor(command=lambda path: [sys.executable, str(STAND_IN), str(path), "600"])
    settings = Settings(runs=root / "runs", recorded=root / "recorded", **more)
    with launched(settings, executor, trains=True) as page:
        url = page.blocks.local_url.rstrip("/")
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            yield Served(page, client, url)


class Served:
    """The page, with the ways in which programs talk to it."""

    def __init__(self, explorer: Explorer, client: httpx.Client, url: str) -> None:
        self.explorer = explorer
        self.client = client
        self.url = url

    def post(self, path: str, content: object, **headers: str) -> httpx.Response:
        """JSON, as text if it is one."""
        body = content if isinstance(content, str) else json.dumps(content)
        return self.client.post(path, content=body.encode(), headers={"content-type": "application/json"} | headers)

    def run(self, name: str, *data: object, **headers: str) -> httpx.Response:
        """A public function, by the address that answers at once."""
        return self.post(f"/gradio_api/run/{name}", {"data": list(data)}, **headers)

    def event(self, name: str, *data: object, **headers: str) -> list[Any]:
        """What an event of the page answers, by the name of its function and how many values it takes."""
        events = self.explorer.blocks.config["dependencies"]
        named = [each for each in events if str(each.get("api_name")).rstrip("_0123456789") == name]
        found = next(each for each in named if len(each["inputs"]) == len(data))
        told = self.told(found["id"], list(data), **headers)
        assert told["success"], told["output"]
        return list(told["output"]["data"])

    def told(self, number: int, data: object, event_data: object = None, **headers: str) -> dict[str, Any]:
        """The last message about an event of the page, whatever is sent."""
        visit = uuid.uuid4().hex
        asked = {"data": data, "fn_index": number, "session_hash": visit, "event_data": event_data}
        assert self.post("/gradio_api/queue/join", asked, **headers).status_code == 200
        with self.client.stream("GET", f"/gradio_api/queue/data?session_hash={visit}", headers=headers) as lines:
            for line in lines.iter_lines():
                told: dict[str, Any] = json.loads(line.removeprefix("data:") or "{}")
                if told.get("msg") == "process_completed":
                    return told
        raise AssertionError(f"event {number} did not answer")

    def start(
        self, images: str = "drawn", token: str = "mine", training: object = None, **headers: str
    ) -> httpx.Response:
        """Start a run."""
        losses = ["supcon"]
        return self.run(
            "start_run", losses, images, None, "small_conv", None, "m_per_class", training, token, None, **headers
        )
