"""The routes inside a running Gradio app: ahead of its own addresses, and never in the way of its event loop."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import httpx
import pytest

from explorer.server.library import Library
from explorer.server.routes import PREFIX, routes
from tests.explorer.page import Line, Watched
from tests.synthetic import make_run
from trainers.runs import RunFolder

# Gradio leaves event loops for the garbage collector while it builds a page; that is not ours to mend
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, RunFolder]]:
    root: Path = tmp_path_factory.mktemp("runs")
    folder = make_run(root, points=600, frames=3)
    library = Library(root, root / "recorded")
    with gr.Blocks() as demo:
        gr.HTML("here")
    _, url, _ = demo.queue().launch(
        prevent_thread_lock=True, quiet=True, inbrowser=False, app_kwargs={"routes": routes(library, Watched(), Line())}
    )
    yield url.rstrip("/"), folder
    demo.close()
    library.close()
    gc.collect()


def test_a_visit_end_to_end(served: tuple[str, RunFolder]) -> None:
    url, folder = served
    with httpx.Client(base_url=url) as client:
        assert client.get("/").status_code == 200
        run_id = client.get(f"{PREFIX}/start").json()["id"]
        assert run_id == folder.id
        base = f"{PREFIX}/run/{run_id}"
        about = client.get(base).json()
        poll = client.get(f"{base}/poll", params={"after": -1, "row": 0}).json()
        frame = client.get(f"{base}/frame/{poll['frame']['k']}").content
        assert len(frame) == 4 * about["points"] * len(about["arms"])
        assert client.get(f"{base}/sheet/0.webp").status_code == 200
        found = client.get(f"{base}/neighbours/2/7").json()
        assert len(found["arms"][0]["ids"]) == 10
        assert client.get(f"{PREFIX}/run/nobody").json()["error"]
        assert client.post(base).status_code == 405
        download = client.get(f"{base}/download/metrics.csv")
        assert download.headers["content-disposition"].startswith("attachment")


def test_twenty_viewers_are_served(served: tuple[str, RunFolder]) -> None:
    url, folder = served
    replies: list[int] = []

    def view() -> None:
        with httpx.Client(base_url=url) as client:
            for _ in range(8):
                reply = client.get(f"{PREFIX}/run/{folder.id}/poll", params={"after": 2, "row": 78})
                replies.append(reply.status_code)

    threads = [threading.Thread(target=view) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == [200] * 160
