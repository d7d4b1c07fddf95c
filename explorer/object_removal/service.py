"""Everything behind the tab "Remove an object", put together; nothing is loaded before somebody looks."""

from __future__ import annotations

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from explorer.object_removal.caption_index import Index
from explorer.object_removal.datasets import DRAWN, Load, Sets
from explorer.object_removal.detecting import Detecting
from explorer.object_removal.fields import Fields
from explorer.object_removal.first import CHOSEN, FILL, instructive
from explorer.object_removal.gallery import Galleries
from explorer.object_removal.images import KEPT, Photos
from explorer.object_removal.interpretation import READINGS
from explorer.object_removal.jobs import Jobs
from explorer.object_removal.models import Models
from explorer.object_removal.neighbour_shift import Nearby
from explorer.object_removal.openings import Openings
from explorer.object_removal.query import MOST_MODELS, Answers
from explorer.object_removal.recorded import RECORD, Recorded
from explorer.object_removal.removal import Fills
from explorer.object_removal.score import Scorer
from explorer.server.cache import Room
from explorer.server.library import Library
from explorer.settings import Settings
from trainers.config import OPTIMISERS
from trainers.data.captioned.loader import load_captioned
from trainers.errors import RunError
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.kind import training_of
from trainers.kinds.finetuning.recipes import PRESETS, Recipe, title
from trainers.kinds.finetuning.recipes import recipe as read_recipe
from trainers.object_removal.fills import FILLS

SENTENCES = (
    {
        "name": "phrases",
        "title": "Noun phrases deleted",
        "sentence": "The photo's own sentences without the phrases that name the object, nothing repaired; those that "
        "never named it come last.",
    },
    {
        "name": "prompts",
        "title": "Prompts",
        "sentence": "One of CLIP's 80 templates, filled with the objects that are left.",
    },
    {
        "name": "captioner",
        "title": "A captioner",
        "sentence": "What a BLIP captioner says about the photo without the object; needs its folder or Hub id.",
    },
)
"""What may be said about photos without an object, by name as :mod:`trainers.kinds.finetuning.recipes` knows it."""


class Objects:
    """The parts of the tab's server.

    Args:
        settings: whether the page is public.
        library: the runs.
        load: reads sets of photos.
        models: None for those of the menu.
        record: the recorded answer to the first question; None: it is asked.
    """

    def __init__(
        self,
        settings: Settings,
        library: Library,
        *,
        load: Load = load_captioned,
        models: Models | None = None,
        record: Path | None = RECORD,
    ) -> None:
        self._library = library
        self.sets = Sets(public=settings.public, load=load, dropped=self._closed)
        kept = Room(KEPT)
        self.openings = Openings(self.sets, settings.limits.openings if settings.public else None)
        self.photos = Photos(self.sets, library.room, kept)
        self.fills = Fills(self.photos, kept)
        self.models = models or Models(library, public=settings.public)
        self.galleries = Galleries(self.sets)
        self.index = Index(self.models, self.galleries)
        recorded = Recorded(self.models, record)
        self.answers = Answers(self.photos, self.fills, self.models, self.index, recorded)
        self.detecting = Detecting(self.photos, self.models)
        self.scorer = Scorer(self.sets, self.galleries, self.models, self.index, public=settings.public)
        self.jobs = Jobs(self.scorer.score, settings.limits.scores if settings.public else None)
        self.nearby = Nearby(library, self.fills)
        self._first: tuple[str, str | None] | None = None
        self._lock = threading.Lock()

    def start(self) -> dict[str, Any]:
        """What the page needs before anything is chosen; nothing is read for it.

        Raises:
            UserError: the drawn scenes cannot be had.
        """
        models = self.models.listed()
        ready = {known.name for known in models if known.missing is None}
        chosen = [name for name in CHOSEN if name in ready] or [name for name in (models[0].name,) if models]
        first, taken = self.first()
        return {
            "sets": [group.about() for group in self.sets.listed()],
            "set": DRAWN,
            "models": [known.json() for known in models],
            "chosen": chosen,
            "fills": self._fills(),
            "fill": FILL,
            "first": first,
            "taken": taken,
            "reading": self.reading(),
            "readings": list(READINGS),
            "recorded": self._recorded(),
            "recipes": [dict(one) for one in SENTENCES],
            "recipe": asdict(Recipe()),
            "optimisers": list(OPTIMISERS),
            "presets": [
                {
                    "name": preset.name,
                    "title": preset.title,
                    "sentence": preset.sentence,
                    "values": {"recipes": [dict(values) for values in preset.settings["recipes"]]},
                    "training": training_of(preset),
                    "arms": [title(read_recipe(values)) for values in preset.settings["recipes"]],
                }
                for preset in PRESETS
            ],
        }

    def read(self, fields: Fields) -> list[dict[str, Any]]:
        """Have models read the sentences of a set, in the background and once for all visitors.

        Returns:
            What is being read.

        Raises:
            UserError: there is no such set or model, or too many wait.
        """
        group = self.sets.get(fields.text("set", DRAWN))
        for name in dict.fromkeys(fields.texts("models", MOST_MODELS)):
            self.models.known(name)
            self.index.ask(name, group.name)
        return self.reading()

    def reading(self) -> list[dict[str, Any]]:
        """Sentences that are being encoded."""
        return [
            {
                "model": one.model,
                "set": one.group,
                "message": one.message,
                "fraction": round(one.fraction, 3),
            }
            for one in self.index.going()
        ]

    def close(self) -> None:
        """End the threads."""
        self.openings.close()
        self.jobs.close()
        self.index.close()

    def _fills(self) -> list[dict[str, Any]]:
        return [
            {"name": one.name, "title": one.title, "sentence": one.sentence, "missing": one.lacking()}
            for one in FILLS.values()
        ]

    def _recorded(self) -> str | None:
        """A mending run that ships with the program, to be watched before one's own."""
        for folder in self._library.folders():
            try:
                if folder.read_only and isinstance(folder.config, FinetuningConfig):
                    return folder.id
            except RunError:
                continue
        return None

    def first(self) -> tuple[str, str | None]:
        """The photo to open with and what goes from it, found once."""
        with self._lock:
            if self._first is None:
                self._first = instructive(self.sets.drawn(), self.photos)
            return self._first

    def _closed(self, name: str) -> None:
        self.index.forget(name)
