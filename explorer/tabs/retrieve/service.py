"""The parts of retrieval on the page, put together; nothing is read before it is needed."""

from __future__ import annotations

from functools import partial
from typing import Any

from explorer.server.choice_titles import titled_choices
from explorer.server.library import Library
from explorer.server.originals import OriginalImages
from explorer.server.run import Run
from explorer.server.states import created
from explorer.server.titles import data_title, run_title
from explorer.server.turns import Turns
from explorer.server.visitors import Caller, owns
from explorer.settings import Settings
from explorer.tabs.retrieve.backgrounds import Backgrounds
from explorer.tabs.retrieve.bodies import MOST_K, MOST_RUNS, Known
from explorer.tabs.retrieve.galleries import Galleries
from explorer.tabs.retrieve.mistakes import MistakeAnswers
from explorer.tabs.retrieve.searches import PUBLIC_K, Searches, steps_of
from explorer.tabs.retrieve.uploads import Uploads
from trainers.data import SOURCES
from trainers.errors import UserError
from trainers.kinds import arm_titles, kind_of
from trainers.object_removal.reliance.sources import why_unknown
from trainers.parameters import Spec, specs
from trainers.retrieval.encoders import embeds, images_of
from trainers.retrieval.galleries import GALLERIES
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.reranking import RERANKINGS
from trainers.retrieval.retriever import Retriever
from trainers.runs.damage import reading


class RetrievalService:
    """The services that the tab's routes and the public endpoint use.

    Args:
        settings: whether the page is public, and what a visitor of it may ask for.
        library: the runs.
        turns: in which visitors' images are unpacked; None: those of this tab alone.
    """

    def __init__(self, settings: Settings, library: Library, turns: Turns | None = None) -> None:
        self._library = library
        self._public = settings.public
        retriever = Retriever()
        self.uploads = Uploads(turns)
        originals = OriginalImages(self.uploads.turns, public=settings.public)
        self.galleries = Galleries(library, retriever, originals, public=settings.public)
        self.searches = Searches(
            library,
            retriever,
            self.galleries,
            self.uploads,
            each=settings.limits.searches if settings.public else None,
            public=settings.public,
        )
        self.mistakes = MistakeAnswers(library)
        self.backgrounds = Backgrounds(
            library, each=settings.limits.searches if settings.public else None, public=settings.public
        )

    def start(self) -> dict[str, Any]:
        """Return what can be chosen."""
        return {
            "galleries": [
                descriptor.json() | {"parameters": [_field(spec) for spec in specs(descriptor.parameters)]}
                for descriptor in GALLERIES.values()
            ],
            "datasets": [{"name": descriptor.name, "title": descriptor.title} for descriptor in SOURCES.values()],
            "anywhere": not self._public,
            "indexes": [descriptor.json() for descriptor in INDEXES.values()],
            "rerankings": [descriptor.json() for descriptor in RERANKINGS.values()],
            "most": PUBLIC_K if self._public else MOST_K,
            "most_runs": MOST_RUNS,
            "mistakes": self.mistakes.start(),
            "background": self.backgrounds.start(),
        }

    def runs(self) -> list[dict[str, Any]]:
        """List the runs whose images can be searched, newest first, recordings last."""
        listed = []
        for folder in self._library.folders():
            try:
                with reading(folder.id, passed=UserError):
                    run = self._library.get(folder.id)
                    if embeds(run.config):
                        listed.append(run.at_rest("retrieval", partial(_about, run)))
            except UserError:
                continue  # damaged
        return listed

    def run(self, run_id: str) -> dict[str, Any]:
        """Describe one run, and why its images cannot be searched if so.

        Raises:
            RunError: there is no such run, or it is damaged.
        """
        with reading(run_id[:40], passed=UserError):
            return _about(self._library.get(run_id))

    def original(self, asked: Known, token: str, caller: Caller) -> dict[str, Any]:
        """Return the file of an image for a visitor, see :meth:`Galleries.original`."""
        choice, folder = self.galleries.allowed(asked.gallery.choice()), self._library.get(asked.run).folder
        mine = not self._public or owns(folder.owner, token, caller)
        return self.galleries.original(asked.run, choice, asked.row, caller.address, mine=mine)

    def close(self) -> None:
        """Stop what runs in the background."""
        self.searches.jobs.close()
        self.backgrounds.jobs.close()


def _about(run: Run) -> dict[str, Any]:
    why = _why_not(run)
    return {
        "id": run.id,
        "title": run_title(run),
        "data": data_title(run),
        "place": run.folder.place_in_plan,
        "arms": arm_titles(run.config),
        "recorded": run.recorded,
        "created": created(run.id),
        "points": 0 if run.probe is None else len(run.probe.labels),
        "weights": any((run.folder.path / "ckpt").glob("*.safetensors")),
        "objects_unknown": None if why else why_unknown(images_of(run.folder)),
        "steps": steps_of(run) if why is None else [],
        "why": why,
    }


def _why_not(run: Run) -> str | None:
    """Say why the images of a run cannot be searched now, or None."""
    if not embeds(run.config):
        return f"This run {kind_of(run.config).no_images or 'has no encoder of images, so it cannot be searched.'}"
    if run.probe is None:
        return "This run has not read its images yet; they can be searched a few seconds after its training begins."
    return None


def _field(spec: Spec) -> dict[str, Any]:
    """Describe the field that the page draws for a parameter."""
    rule = spec.rule
    return {
        "name": spec.name,
        "title": spec.label,
        "help": rule.help,
        "default": spec.default,
        "choices": titled_choices(spec),
        "low": rule.low,
        "high": rule.high,
        "whole": spec.type is int,
        "main": rule.main,
    }
