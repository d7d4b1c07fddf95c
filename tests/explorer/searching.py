"""A client of the tab "Retrieve", over real runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer.server.library import Library
from explorer.server.routes import PREFIX
from explorer.settings import Settings
from explorer.tabs.retrieve.routes import retrieval_routes
from explorer.tabs.retrieve.service import RetrievalService
from tests.explorer.page import Client, Line, Watched, routes
from tests.tiny import tiny_config, write_images
from trainers.runs import RunFolder
from trainers.worker import Worker


class Search(Client):
    """The addresses of the tab."""

    def __init__(self, runs: Path, **settings: Any) -> None:
        self.settings = Settings(**{"runs": runs, "recorded": runs.parent / "recorded", **settings})
        self.library = Library(self.settings.runs, self.settings.recorded)
        self.service = RetrievalService(self.settings, self.library)
        more = retrieval_routes(self.service)
        super().__init__(routes(self.library, Watched(), Line(), more=more), f"{PREFIX}/retrieval")
        self.client.__enter__()  # one event loop for all requests, as the server has

    def done(self, path: str, content: object) -> dict[str, Any]:
        """The answer of ``open`` and ``search``, wherever it was made."""
        reply = self.json(path, content)
        return reply["answer"] if "answer" in reply else self.service.searches.jobs.get(reply["job"]).wait()

    def search(self, *runs: str, row: int = 3, **changes: object) -> dict[str, Any]:
        return self.done("search", {"runs": runs, "query": {"row": row}, **changes})

    def close(self) -> None:
        self.service.close()
        self.client.__exit__()
        self.library.close()


def train(root: Path, *losses: str, images: Path | None = None, **changes: object) -> RunFolder:
    """A run of a few steps on images of coloured discs in three groups, with its checkpoint."""
    place = images or write_images(root / "images", train=6, test=6, each=6, groups=3)
    settings: dict[str, object] = {"steps": 4, "snapshot_steps": 2, "probe_size": 20}
    folder = RunFolder.create(root / "runs", tiny_config(place, *losses, **(settings | changes)))
    state = Worker(folder, lambda _state: None).run()
    assert state.phase == "finished", state.error
    folder.db.close()
    return folder
