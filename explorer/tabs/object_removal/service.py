"""The parts of the tab "Remove an object", put together; nothing is loaded before it is needed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from explorer.server.jobs import Jobs
from explorer.server.library import Library
from explorer.server.tasks import Task, Tasks
from explorer.server.turns import Turns
from explorer.server.visitors import NOBODY, Caller
from explorer.settings import Settings
from explorer.tabs.object_removal.bodies import FILL, Encode, Open
from explorer.tabs.object_removal.caption_index import CaptionIndex
from explorer.tabs.object_removal.datasets import DRAWN, Datasets, Load
from explorer.tabs.object_removal.detecting import Detection
from explorer.tabs.object_removal.first import CHOSEN, instructive
from explorer.tabs.object_removal.images import KEPT, InputImages
from explorer.tabs.object_removal.interpretation import READINGS
from explorer.tabs.object_removal.models import Models
from explorer.tabs.object_removal.query import Answers
from explorer.tabs.object_removal.recorded import RECORD, Recorded
from explorer.tabs.object_removal.removal import FilledImages
from explorer.tabs.object_removal.score import MOST_JOBS, ScoreJob, Scorer
from trainers.data.captioned.loader import load_captioned
from trainers.data.lru_cache import CostLimit
from trainers.errors import RunError
from trainers.kinds.base import Preset
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.kind import training_of
from trainers.kinds.finetuning.recipes import PRESETS, PairRecipe, title
from trainers.kinds.finetuning.recipes import recipe as read_recipe
from trainers.object_removal.fills import FILLS
from trainers.optimization import OPTIMISERS
from trainers.progress import Progress

MOST_OPENINGS = 64
"""Datasets that may be waited for at once."""
TEXTS = (
    {
        "name": "phrases",
        "title": "Noun phrases deleted",
        "sentence": "The image's own captions without the phrases that name the object, nothing repaired; those that "
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
        "sentence": "What a BLIP captioner says about the image without the object; needs its folder or Hub id.",
    },
)
"""Where captions of object-removed images come from, by name as :mod:`trainers.kinds.finetuning.recipes` knows it."""


class Objects:
    """The parts of the tab's server.

    Args:
        settings: whether the page is public.
        library: the runs.
        load: reads datasets.
        models: None for those of the menu.
        record: the recorded answer to the first query; None: the models are asked.
        turns: in which visitors' images are unpacked; None: those of this tab alone.
    """

    def __init__(
        self,
        settings: Settings,
        library: Library,
        *,
        load: Load = load_captioned,
        models: Models | None = None,
        record: Path | None = RECORD,
        turns: Turns | None = None,
    ) -> None:
        self._library = library
        public, limits = settings.public, settings.limits
        self.datasets = Datasets(public=public, load=load, dropped=lambda name: self.index.forget(name))
        self.images = InputImages(self.datasets, library.room, CostLimit(KEPT), turns)
        self.fills = FilledImages(self.images, CostLimit(KEPT // 2))
        self.models = models or Models(library, public=public)
        self.openings = Tasks(noun="datasets", most=MOST_OPENINGS, each=limits.openings if public else None)
        self.index = CaptionIndex(self.models, self.datasets)
        self.answers = Answers(self.images, self.fills, self.models, self.index, Recorded(self.models, record))
        self.detection = Detection(self.images, self.models)
        self.scorer = Scorer(self.datasets, self.models, self.index, public=public)
        self.scores: Jobs[ScoreJob] = Jobs(
            self.scorer.score, noun="scores", most=MOST_JOBS, each=limits.scores if public else None
        )

    def start(self) -> dict[str, Any]:
        """Return what the page needs before anything is chosen; nothing is read for it.

        Raises:
            UserError: the drawn scenes cannot be had.
        """
        models = self.models.listed()
        ready = {known.name for known in models if known.missing is None}
        chosen = [name for name in CHOSEN if name in ready] or [name for name in (models[0].name,) if models]
        first, taken = self.first
        return {
            "datasets": [dataset.about() for dataset in self.datasets.listed()],
            "dataset": DRAWN,
            "models": [known.json() for known in models],
            "chosen": chosen,
            "fills": [fill.json() | {"redraws": fill.redraw is not None} for fill in FILLS.values()],
            "fill": FILL,
            "first": first,
            "taken": taken,
            "encoding": self.encoding(),
            "interpretation": list(READINGS),
            "recorded": self.recorded(),
            "recipes": list(TEXTS),
            "recipe": asdict(PairRecipe()),
            "optimisers": [{"name": descriptor.name, "title": descriptor.title} for descriptor in OPTIMISERS.values()],
            "presets": [_preset(descriptor) for descriptor in PRESETS],
        }

    def open(self, asked: Open, caller: Caller = NOBODY) -> Task:
        """Have a dataset opened; what it comes to describes it.

        Raises:
            UserError: it cannot be had, or too many are being opened.
        """
        of_run = self.models.scenes(asked.source)

        def work(progress: Progress) -> dict[str, Any]:
            if of_run is not None:
                return self.datasets.open(of_run.source, of_run.captions_from, of_run.limit, progress).about()
            return self.datasets.open(asked.source, asked.captions_from or None, asked.limit, progress).about()

        return self.openings.add(Task(work=work, caller=caller))

    def encode(self, asked: Encode) -> list[dict[str, Any]]:
        """Have models encode the captions of a dataset, in the background and once for all visitors.

        Returns:
            What is being encoded.

        Raises:
            UserError: there is no such dataset or model, or too many wait.
        """
        dataset = self.datasets.get(asked.dataset)
        for name in dict.fromkeys(asked.models):
            self.models.known(name)
            self.index.ask(name, dataset.name)
        return self.encoding()

    def encoding(self) -> list[dict[str, Any]]:
        """List the captions that are being encoded."""
        return [
            {
                "model": encoding.model,
                "dataset": encoding.dataset,
                "message": encoding.message,
                "fraction": round(encoding.fraction, 3),
            }
            for encoding in self.index.going()
        ]

    @cached_property
    def first(self) -> tuple[str, str | None]:
        """The image to open with and what is removed from it."""
        return instructive(self.datasets.drawn(), self.images)

    def close(self) -> None:
        """Stop what runs in the background."""
        self.openings.close()
        self.scores.close()
        self.index.close()

    def dataset_of(self, name: str) -> str | None:
        """Name the dataset that a model was fine-tuned on, open or not; None: it is a model of the menu."""
        scenes = self.models.known(name).scenes
        return None if scenes is None else self.datasets.name(scenes.source, scenes.captions_from, scenes.limit)

    def recorded(self) -> str | None:
        """Find a fine-tuning run that ships with the program, to be watched before one of your own."""
        for folder in self._library.folders():
            with suppress(RunError):
                if folder.read_only and isinstance(folder.config, FinetuningConfig):
                    return folder.id
        return None


def _preset(preset: Preset) -> dict[str, Any]:
    recipes = preset.settings["recipes"]
    return {
        **{"name": preset.name, "title": preset.title, "sentence": preset.sentence},
        "values": {"recipes": [dict(values) for values in recipes]},
        "training": training_of(preset),
        "arms": [title(read_recipe(values)) for values in recipes],
    }
