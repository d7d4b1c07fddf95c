"""Fine-tuning of an image-text model on object-removed images (Kim et al. 2023, 3.3)."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.config import BUDGET, MAX_ARMS
from trainers.kinds.arm_view import ArmView
from trainers.kinds.base import MORE, READING, SPEED, START, Kind, Preset, Section
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import Choice, entry
from trainers.registry import title_of
from trainers.runs import RunFolder

if TYPE_CHECKING:
    from trainers.image_text.base import ImageTextModel
    from trainers.kinds.finetuning.benchmark_images import BenchmarkImages
    from trainers.metrics.measures import Measures
    from trainers.progress import Progress
    from trainers.training.footprint import Footprint
    from trainers.training.loop import Loop

FAMILY = "recipe"


class Finetuning(Kind[FinetuningConfig]):
    """See the module."""

    name = "finetuning"
    title = "Fine-tuning on object-removed images"
    verb = "finetune"
    sentence = f"Fine-tune an image-text model on object-removed images, after up to {MAX_ARMS} recipes in lockstep."
    compares = "recipes"
    order = 2
    config = FinetuningConfig
    sections = (
        Section(names=("scenes.source",), title="Images"),
        Section(names=("scenes.captions_from", "scenes.limit"), title=READING.title, folded=True),
        Section(names=("model",)),
        Section(names=("recipes",)),
        START,
        Section(names=("steps", "minutes")),
        Section(
            names=("epochs", "batch", "learning_rate", "weight_decay", "clip_norm", "seed", "track"),
            title=MORE,
            folded=True,
        ),
        SPEED,
    )

    def loop(self) -> type[Loop]:
        """Return the loop over recipes."""
        from trainers.kinds.finetuning.loop import FinetuningLoop

        return FinetuningLoop

    @property
    def measures(self) -> Measures:
        from trainers.kinds.finetuning.measures import MEASURES

        return MEASURES

    def images(self, config: FinetuningConfig) -> BenchmarkImages:
        """Return those on its maps."""
        from trainers.kinds.finetuning.benchmark_images import BenchmarkImages

        return BenchmarkImages(scenes=config.scenes, queries=config.queries, image_size=_side(config))

    def embedder_prefix(self, config: FinetuningConfig) -> str:
        """Return the prefix of the whole model."""
        return "model/"

    def embedder(self, config: FinetuningConfig, *, channels: int, side: int) -> ImageTextModel:
        """Build the model, which called on images is its image tower."""
        from trainers.image_text.models import MODELS

        return entry(MODELS, config.model.name, "model").build(config.model.parameters)

    def check(self, config: FinetuningConfig) -> None:
        """Check recipes and model, and that the images may be opened here."""
        from trainers.kinds.finetuning.validation import check

        check(config)

    def rehearse(self, config: FinetuningConfig, root: Path, progress: Progress) -> list[str]:
        """Open the images, and the run or the file that this one starts from."""
        from trainers.data.captioned.loader import load_chosen
        from trainers.kinds.checks import rehearse_weights
        from trainers.training.encoder_file import RunEncoders
        from trainers.training.start import of_seed, read_start

        said = super().rehearse(config, root, progress)
        if config.start is not None:
            run, arm = read_start(config.start)
            RunEncoders(of_seed(RunFolder.open(root, run), config.seed)).tensors(arm)
        if config.weights is not None:
            said += rehearse_weights(config, config.encoder, channels=3, side=_side(config))
        load_chosen(config.scenes, progress)
        return said

    def footprint(self, config: FinetuningConfig) -> Footprint:
        """Estimate a model, its copies and its batch, from the size that its descriptor states."""
        from trainers.kinds.finetuning.validation import footprint

        return footprint(config)

    def sizes(self, config: FinetuningConfig) -> Mapping[str, int]:
        """Return the batch."""
        return {"batch": config.batch}

    def presets(self) -> Sequence[Preset]:
        """Return experiments of the paper."""
        from trainers.kinds.finetuning.recipes import PRESETS

        return PRESETS

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the captioner of all recipes that need one."""
        parser.add_argument(
            "--captioner", help="Folder or Hub id of a BLIP captioner, for recipes with text=captioner."
        )

    def preset(self, name: str | None) -> Mapping[str, Any]:
        """Return the settings of a preset, those of the first for None."""
        return super().preset(name or self.presets()[0].name)

    def layered(self, given: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings; the learning rate is the model's, unless it is given."""
        settings = super().layered(given, flags)
        if flags.get("captioner"):
            captioner = {"captioner": flags["captioner"]}
            settings["recipes"] = tuple(
                {**recipe, **captioner} if recipe.get("text") == "captioner" else recipe
                for recipe in settings["recipes"]
            )
        model = settings.get("model", FinetuningConfig().model)
        return {"learning_rate": learning_rate_of(model)} | settings

    @property
    def families(self) -> Collection[str]:
        """One: arms differ in the parameters of a recipe."""
        return (FAMILY,)

    def divisible(self, config: FinetuningConfig) -> bool:
        """Return whether the budget has no epochs: one is of the largest recipe, so that all take the same steps."""
        return config.epochs is None

    def arms(self, config: FinetuningConfig) -> list[ArmView]:
        """List one per recipe."""
        from trainers.kinds.finetuning.recipes import PairRecipe, recipe, titles

        names = titles([recipe(values) for values in config.recipes])
        return [
            ArmView(title=name, name=name, label=name, parameters=dict(values), family=FAMILY, schema=PairRecipe)
            for name, values in zip(names, config.recipes, strict=True)
        ]

    def source(self, config: FinetuningConfig) -> str:
        """Return drawn_scenes, a folder or a Hub id."""
        return config.scenes.source

    def data_title(self, config: FinetuningConfig) -> str:
        """Return the title of a dataset that is made here, or the last part of a path or id."""
        from trainers.data.captioned.loader import named

        made = named(config.scenes.source)
        return super().data_title(config) if made is None else made.title

    def run_title(self, config: FinetuningConfig, data: str) -> str:
        """Name the model and the images."""
        return f"Fine-tuning {_model_title(config)} on {data}"

    def details(self, config: FinetuningConfig) -> list[str]:
        """Name model and batch."""
        return [_model_title(config), f"{config.batch} pairs a step"]

    def line(self, config: FinetuningConfig) -> str:
        """Name the model and the images."""
        return f"fine-tuning {config.model.name} on {config.scenes.source}"


TRAINING = (*BUDGET, "batch", "optimiser", "halve_every", "weight_decay", "clip_norm")
"""The settings of its training that a preset decides; the learning rate is the model's."""


def training_of(preset: Preset) -> dict[str, Any]:
    """Return the training that a preset stands for, without its learning rate, which is the model's."""
    config = Finetuning().configured({}, {"preset": preset.name})
    return {name: getattr(config, name) for name in TRAINING}


def learning_rate_of(model: Choice) -> float:
    """Return a model's own learning rate; any number for an unknown one, which is refused later."""
    from trainers.image_text.models import MODELS

    return MODELS[model.name].learning_rate if model.name in MODELS else FinetuningConfig().learning_rate


def _model_title(config: FinetuningConfig) -> str:
    from trainers.image_text.models import MODELS

    return title_of(MODELS, config.model.name)


def _side(config: FinetuningConfig) -> int:
    """Return the side of the square images of its model, as far as that is known before it is loaded."""
    from trainers.image_text.models import MODELS

    model = entry(MODELS, config.model.name, "model")
    return model.size(model.checked(config.model.parameters)).side
