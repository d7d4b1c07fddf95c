"""The way from what the page sends to a run that fine-tunes an image-text model on object-removed images."""

from __future__ import annotations

from typing import Any

from explorer.server.http import RequestError
from explorer.server.runs import Runs
from explorer.server.titles import waiting
from explorer.server.visitors import NOBODY, Caller
from explorer.tabs.object_removal.bodies import Action, Finetune
from explorer.tabs.object_removal.datasets import Datasets
from explorer.tabs.object_removal.models import Models
from trainers.config import Config, SceneChoice
from trainers.errors import UserError
from trainers.kinds import check, kind_of
from trainers.kinds.finetuning import DESCRIPTOR as KIND
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.kind import TRAINING
from trainers.kinds.finetuning.recipes import PairRecipe
from trainers.parameters import Choice, specs
from trainers.parameters import check as check_value
from trainers.plans.config import SweepConfig

_ACTS = ("pause", "resume", "stop")
_SETTINGS = (*TRAINING, "learning_rate", "seed")
_SEEDS = next(spec for spec in specs(SweepConfig) if spec.name == "seeds")
_RECIPE = tuple(spec.name for spec in specs(PairRecipe))


class Finetuning:
    """Starts and controls fine-tuning runs for the page; replies are plain values for its modules."""

    def __init__(self, runs: Runs, datasets: Datasets, models: Models) -> None:
        self._runs = runs
        self._datasets = datasets
        self._models = models

    def perform(self, data: object, caller: Caller = NOBODY) -> dict[str, Any]:
        """Do what the page asks for: ``{id, said}`` of a new run, with ``plan`` if it is a sweep, ``{said}``, or
        ``{error}`` with a message.

        The data come from a browser and may be anything.
        """
        try:
            values = data if isinstance(data, dict) else {}
            asked = Action.of(values)
            if asked.action == "finetune":
                config = self.config(Finetune.of(values))
                started = self._runs.start(config, asked.token, caller)
                said = waiting(self._runs.wait(started)) or "It starts now."
                return {"id": started, "said": said} | ({"plan": True} if kind_of(config).plans else {})
            if asked.action not in _ACTS:
                raise RequestError(
                    f"A model can be fine-tuned, or a run paused, resumed or stopped; got {asked.action[:40]!r}."
                )
            return {"said": self._runs.acts(caller)[asked.action](asked.id, asked.token)}
        except (UserError, OSError) as error:
            return {"error": str(error)}

    def config(self, asked: Finetune) -> Config:
        """Make the configuration that a request describes and check it: of a run, or of a sweep of such runs over
        seeds.

        Raises:
            UserError: something in it is wrong; the message says what.
        """
        dataset = self._datasets.get(asked.dataset)
        name, parameters = self._models.choice(asked.model)
        given = {
            "scenes": SceneChoice(source=dataset.source, captions_from=dataset.captions_from, limit=dataset.limit),
            "model": Choice(name=name, parameters=parameters),
            "recipes": tuple(self._recipe(each) for each in asked.recipes),
        }
        settings = asked.model_extra or {}
        for spec in specs(FinetuningConfig):
            if spec.name in _SETTINGS and spec.name in settings:
                given[spec.name] = check_value(spec, settings[spec.name], "A fine-tuning")
        config: Config = KIND.configured(given)
        if settings.get(_SEEDS.name) is not None:
            config = SweepConfig(run=config.single, seeds=check_value(_SEEDS, settings[_SEEDS.name], "A sweep"))
        check(config)
        return config

    def _recipe(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a recipe's own values; :func:`trainers.kinds.finetuning.recipes.recipe` checks them."""
        unknown = [name for name in values if name not in _RECIPE]
        if unknown:
            raise RequestError(f"A recipe has {', '.join(_RECIPE)}; got {unknown[0][:40]!r}.")
        captioner = values.get("captioner")
        if isinstance(captioner, str):
            self._models.check_place(captioner.strip())
        return dict(values)
