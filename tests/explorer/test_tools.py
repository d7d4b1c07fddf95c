"""The public functions as assistants call them, by an MCP client, and as programs do, by ``gradio_client``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from gradio_client import Client
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, Tool

from explorer.server.guard import TOOLS, TOOLS_AT_ONCE, Guard
from explorer.settings import Settings
from tests.explorer.served_page import GRADIO_WARNINGS, Served

pytestmark = GRADIO_WARNINGS
T = TypeVar("T")
NOBODYS = "0" * 26
# each function once, with the least that it takes; those about a run are refused in the words of the page
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "list_kinds": ({}, ""),
    "list_runs": ({}, ""),
    "start_run": ({"losses": ["supcon"], "token": "mine"}, ""),
    "start_kind": ({"kind": "metric_learning", "settings": {"losses": [{"name": "smooth_ap"}]}, "token": "mine"}, ""),
    "run_status": ({"run_id": NOBODYS}, "There is no run"),
    "stop_run": ({"run_id": NOBODYS}, "There is no run"),
    "add_seeds": ({"run_id": NOBODYS, "seeds": 2}, "There is no run"),
    "retrieve_images": ({"runs": [NOBODYS], "row": 1}, "There is no run"),
    "look_at_query": ({"runs": [NOBODYS], "row": 1}, "There is no run"),
    "list_mistakes": ({"run": NOBODYS}, "There is no run"),
    "measure_background": ({"run": NOBODYS}, "There is no run"),
    "remove_object": ({"models": ["nobody"]}, "There is no model"),
    "score_objects": ({"fill": "magic", "models": ["tiny_clip"]}, "There is no fill"),
}


async def _asked(page: Served, calls: dict[str, dict[str, Any]]) -> tuple[list[Tool], dict[str, CallToolResult]]:
    async with streamable_http_client(f"{page.url}{TOOLS}/") as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        answers = {name: await session.call_tool(name, given) for name, given in calls.items()}
        return (await session.list_tools()).tools, answers


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run it in a thread: that of the tests may have a loop that a browser left running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def test_every_function_is_a_tool_and_answers_in_json(local: Served):
    client = Client(local.url, verbose=False)
    functions = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    tools, answers = run(_asked(local, {name: given for name, (given, _) in CALLS.items()}))
    assert {f"/{tool.name}" for tool in tools} == set(functions) == {f"/{name}" for name in CALLS}
    for tool in tools:
        assert all(about["description"].endswith(".") for about in tool.inputSchema["properties"].values()), tool
    for name, (given, refused) in CALLS.items():
        text = answers[name].content[0].text
        assert answers[name].isError == bool(refused), (name, text)
        if refused:
            assert refused in text
            with pytest.raises(Exception, match=refused):
                client.predict(**given, api_name=f"/{name}")
        elif name.startswith("list"):
            assert json.loads(text) == client.predict(api_name=f"/{name}") or name == "list_runs"
    started = json.loads(answers["start_run"].content[0].text)
    assert client.predict(started, api_name="/run_status")["losses"] == ["supcon"]


def test_a_tool_needs_the_word_of_a_run_on_a_public_page(public: Served):
    started = public.start(token="mine").json()["data"][0]
    for token, refused in (("", True), ("other", True), ("mine", False)):
        _, answers = run(_asked(public, {"stop_run": {"run_id": started, "token": token}}))
        assert answers["stop_run"].isError == refused, answers


def test_no_stream_of_tools_is_held_open(local: Served):
    reply = local.client.get(f"{TOOLS}/", headers={"accept": "text/event-stream"})
    assert reply.status_code == 405
    for older in ("sse", "messages"):
        assert local.client.get(f"{TOOLS}/{older}").status_code == 404


def test_calls_of_tools_are_bounded(tmp_path: Path):
    """Answers are waited for in threads, of which the page has forty."""
    entered, done = [], asyncio.Event()

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        entered.append(scope["client"])
        await done.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def call(guard: Guard, client: str) -> int:
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": f"{TOOLS}/", "headers": headers, "client": (client, 1)}
        status = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(message: Any) -> None:
            status.append(message.get("status"))

        await guard(scope, receive, send)
        return status[0]

    async def storm() -> list[int]:
        guard = Guard(app, Settings(runs=tmp_path), lambda _: 0, lambda _: True)
        visitors = [f"10.0.0.{number}" for number in range(6) for _ in range(5)]
        calls = [asyncio.create_task(call(guard, visitor)) for visitor in visitors]
        while len(entered) < TOOLS_AT_ONCE[1]:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        done.set()
        replies = await asyncio.gather(*calls)
        assert await call(guard, "10.0.0.1") == 200  # nothing is counted for ever
        return replies

    replies = run(storm())
    assert replies.count(200) == TOOLS_AT_ONCE[1]
    assert replies[:5].count(200) == TOOLS_AT_ONCE[0]
