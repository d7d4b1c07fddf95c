"""From what the page sends to a run that fine-tunes an image-text model on object-removed photos."""

from __future__ import annotations

from typing import Any

from explorer.object_removal.datasets import Sets
from explorer.object_removal.fields import Fields
from explorer.object_removal.models import Models
from explorer.server.http import RequestError
from explorer.server.runs import Runs
from explorer.server.visitors import NOBODY, Caller
from explorer.titles import waiting
from trainers.config import BUDGET, MAX_ARMS, RunConfig, SceneChoice
from trainers.errors import UserError
from trainers.kinds.finetuning import DESCRIPTOR as KIND
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.recipes import Recipe
from trainers.parameters import Choice, specs
from trainers.parameters import check as check_value
from trainers.training.validation import check

_ACTS = ("pause", "resume", "stop")
_SETTINGS = (*BUDGET, "batch", "seed", "optimiser", "halve_every", "learning_rate", "weight_decay", "clip_norm")
_RECIPE = tuple(spec.name for spec in specs(Recipe))


class Mending:
    """Starts and controls mending runs for the page; replies are plain values for its modules."""

    def __init__(self, runs: Runs, sets: Sets, models: Models) -> None:
        self._runs = runs
        self._sets = sets
        self._models = models

    def perform(self, data: object, caller: Caller = NOBODY) -> dict[str, Any]:
        """Do what the page asks for: ``{id, said}`` of a new run, ``{said}``, or ``{error}`` with a sentence.

        The data come from a browser and may be anything.
        """
        try:
            fields = Fields(data if isinstance(data, dict) else {})
            action, token = fields.text("action"), fields.text("token", "", longest=200)
            if action == "mend":
                started = self._runs.start(self.config(fields), token, caller)
                return {"id": started, "said": waiting(self._runs.place(started)) or "It starts now."}
            if action not in _ACTS:
                raise RequestError(f"A model can be mended, or a run paused, resumed or stopped; {action[:40]!r} came.")
            return {"said": self._runs.acts(caller)[action](fields.text("id", ""), token)}
        except (UserError, OSError) as error:
            return {"error": str(error)}

    def config(self, fields: Fields) -> RunConfig:
        """The configuration that a request describes, checked.

        Raises:
            UserError: something in it is wrong, in a sentence.
        """
        group = self._sets.get(fields.text("set", "") or fields.text("source"))
        name, parameters = self._models.choice(fields.text("model"))
        given = {
            "scenes": SceneChoice(source=group.source, captions_from=group.captions_from, limit=group.limit),
            "model": Choice(name=name, parameters=parameters),
            "recipes": tuple(self._recipe(each) for each in fields.inners("recipes", MAX_ARMS)),
        }
        for spec in specs(FinetuningConfig):
            if spec.name in _SETTINGS and fields.plain(spec.name) is not None:
                given[spec.name] = check_value(spec, fields.plain(spec.name), "A fine-tuning")
        config = KIND.configured(given)
        check(config)
        return config

    def _recipe(self, fields: Fields) -> dict[str, Any]:
        """A recipe's own values; :func:`trainers.kinds.finetuning.recipes.recipe` checks them."""
        unknown = [name for name in fields.names() if name not in _RECIPE]
        if unknown:
            raise RequestError(f"A recipe has {', '.join(_RECIPE)}; {unknown[0][:40]!r} came.")
        self._models.check_place(fields.text("captioner", ""))
        return {name: fields.plain(name) for name in fields.names()}  # null is a value: a ratio of all there are
