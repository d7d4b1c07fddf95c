"""Fine-tuning after several recipes in lockstep, from the same weights (Kim et al. 2023, 3.3)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trainers.data.captioned.loader import load_chosen
from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.devices.host import send
from trainers.devices.precision import autocast
from trainers.image_text.base import ImageTextModel
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.benchmark_images import probe_images, probe_labels
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.recipes import PairRecipe, recipe, titles
from trainers.kinds.finetuning.training_pairs import Examples, Pool, removed_pairs
from trainers.metrics import counts
from trainers.object_removal.benchmark import Benchmark, BenchmarkEvaluator, ModelResult, make_benchmark
from trainers.object_removal.square_images import read_images
from trainers.object_removal.vocabulary import WordTable, load_words
from trainers.progress import Progress, Stages, with_share, worded
from trainers.training.arm import Arm
from trainers.training.augmentations import AUGMENTATIONS, Augment
from trainers.training.evaluation import Finish, ProbeResult
from trainers.training.labelled_loop import write_probe
from trainers.training.loop import Loop
from trainers.training.pinned import pin, pinned
from trainers.training.stage import Stage
from trainers.training.start import begin


class RecipeArm(Arm):
    """Steps its own copy of a model on the pairs of one recipe.

    Args:
        augment: changes the images of a batch before the model's own preprocessing.
        seed: of the augmentation.
    """

    what = "pairs"

    def __init__(
        self,
        index: int,
        title: str,
        model: ImageTextModel,
        examples: Examples,
        device: torch.device,
        *,
        augment: Augment,
        seed: int,
    ) -> None:
        self.model = model.to(device)
        self.examples = examples
        self._augment = augment
        self._seed = seed
        super().__init__(index, title, {"model": self.model}, device)

    def groups(self, networks: Mapping[str, nn.Module], stage: Stage) -> list[dict[str, Any]]:
        """Return the matrices with weight decay, the rest without."""
        weights = [weight for net in networks.values() for weight in net.parameters() if weight.requires_grad]
        # gains, biases and temperatures are no directions in feature space: decay would only pull them off their scale
        return [
            {
                "params": [w for w in weights if w.ndim >= 2],
                "lr": stage.learning_rate,
                "weight_decay": stage.weight_decay,
            },
            {"params": [w for w in weights if w.ndim < 2], "lr": stage.learning_rate, "weight_decay": 0.0},
        ]

    def step(self, batch: int, factor: float) -> dict[str, Tensor | float]:
        """Take one optimizer step on the pairs of step number ``batch``."""
        self.model.train()
        pixels, tokens, rows = self.examples.at(batch)
        images = self.laid_out(self._augment(send(pixels, self._device), seed=self._seed, step=batch, view=0))
        with autocast(self._device):
            seen, read = self.model.image_features(images), self.model.text_features(send(tokens, self._device))
        terms = self.model.terms(seen.float(), read.float())
        loss = torch.stack(list(terms.values())).sum()
        self.descend(loss, factor, batch, rows)
        return {"loss": loss.detach(), "examples": float(len(rows))}

    def after_step(self) -> None:
        """Let the model clamp parameters that have bounds, such as its temperature."""
        self.model.after_step()


class FinetuningLoop(Loop):
    """Fine-tunes one copy of a model per recipe; see :class:`trainers.training.loop.Loop`.

    The probe holds test images and the same images with an object painted over.
    """

    arms: list[RecipeArm]
    config: FinetuningConfig
    benchmark: Benchmark

    def _batch(self) -> int:
        return self.step

    def _evaluate(self, arm: RecipeArm) -> Finish:
        evaluated = self._live.evaluate(arm.model)
        result = ProbeResult(embeddings=evaluated.embeddings, numbers=numbers(evaluated))
        return lambda: result

    def _last_numbers(self, tell: Progress) -> None:
        whole = BenchmarkEvaluator(self.benchmark, self.arms[0].model)
        stages = Stages(lambda text, done: tell(with_share(text, done), done), [1.0] * len(self.arms))
        for arm in self.arms:
            which = f"scoring the whole test set{f', {arm.title}' if len(self.arms) > 1 else ''}: "
            part = stages.next()
            result = whole.evaluate(arm.model, worded(part, which))
            values = numbers(result) | sizes(self.benchmark) | self._cap
            self._scalars.now(arm.index, self.step, self.seconds, {f"test/{k}": v for k, v in values.items()})

    # ----------------------------------------------------------------- set-up

    def _build(self, tell: Progress) -> None:
        config = self.config
        torch.manual_seed(config.seed)
        tell("loading the model", 0.0)
        model = MODELS[config.model.name].build(config.model.parameters)
        self._images = (3, model.side)
        if config.encoder_prefix:
            begin(model.encoder, self.folder, config)
        stages = Stages(tell, (1.0, 6.0, 3.0))  # about what opening, training images and benchmark take
        scenes = load_chosen(pinned(self.folder, config.scenes), stages.next())
        pin(self.folder, config.scenes, scenes.revision)
        for note in scenes.notes:
            self.folder.log(f"images: {note}")
        self._cap = image_cap(scenes, config.scenes.limit)
        words = load_words().with_classes(scenes.classes)
        recipes = [recipe(values) for values in config.recipes]
        self._make_arms(model, recipes, scenes.splits[scenes.train_split], words, stages.next())
        self._epoch = max(arm.examples.epoch for arm in self.arms)
        self.benchmark = make_benchmark(scenes, words, model.side, progress=stages.next())  # the same for all seeds
        self.folder.log(f"benchmark: {len(self.benchmark.queries)} removals, {len(self.benchmark.gallery)} captions")
        tally = self.benchmark.tally
        self.folder.log(
            f"benchmark: of {tally.images} test images {tally.unreadable} cannot be read, {tally.one_class} have fewer "
            f"than two classes, {tally.no_allowed_class} no class that the overlap rules allow"
        )
        part = self.benchmark.part(config.queries, config.gallery)
        self._live = BenchmarkEvaluator(part, model)
        if not self._is_written(counts.QUERIES):
            self._scalars.write_at_start(len(self.arms), sizes(part))
        self._write_probe(part, scenes)

    def _make_arms(
        self,
        model: ImageTextModel,
        recipes: Sequence[PairRecipe],
        scenes: Sequence[CaptionedImage],
        words: WordTable,
        tell: Progress,
    ) -> None:
        stages = Stages(tell, (1.0, *(2.0 for _ in {key for key in map(_pool_key, recipes) if key})))
        originals, left_out = _originals(model, scenes, stages.next())
        if left_out:
            self.folder.log(f"images: {left_out} of {len(scenes)} to train on have no caption or cannot be read")
        chosen = self.config.augmentation
        augment = AUGMENTATIONS[chosen.name].build(chosen.parameters, channels=3)
        pools: dict[tuple[object, ...], Pool] = {}
        self.arms = []
        for index, (chosen_recipe, name) in enumerate(zip(recipes, titles(recipes), strict=True)):
            removed, key = None, _pool_key(chosen_recipe)
            if key is not None:
                if key not in pools:
                    made = removed_pairs(scenes, words, chosen_recipe, model.side, self.config.seed, stages.next())
                    pools[key] = _pool(model, made.images, made.texts, made.edited)
                removed = pools[key]
            examples = Examples(originals, removed, chosen_recipe, batch=self.config.batch, seed=self.config.seed)
            self.folder.log(f"{name}: {examples.summary()}")
            own_model, seed = copy.deepcopy(model), self.config.seed
            self.arms.append(RecipeArm(index, name, own_model, examples, self._device, augment=augment, seed=seed))

    def _write_probe(self, benchmark: Benchmark, scenes: CaptionedDataset) -> None:
        if self.folder.probe() is not None:
            return
        images = probe_images(benchmark)
        labels, tree = probe_labels(benchmark, scenes)
        write_probe(
            self.folder,
            images,
            labels=labels,
            rows=np.arange(len(images), dtype=np.int64),
            hierarchy=tree,
            data_title=scenes.title,
            notes=(
                *scenes.notes,
                *(f"{arm.title}: {arm.examples.summary()}" for arm in self.arms),
                "Each image is there twice: as it is, and with an object painted over.",
            ),
        )


def numbers(result: ModelResult) -> dict[str, float]:
    """Return the numbers that a run shows of a model's result: every mean, and the number of distinct top captions."""
    return result.means() | {"distinct_top1": float(result.filled.counts["distinct_top1"])}


def sizes(benchmark: Benchmark) -> dict[str, float]:
    """Return the number of queries (removals), of captions in the gallery, and of captions of the dataset."""
    return {
        counts.QUERIES: float(len(benchmark.queries)),
        counts.CAPTIONS: float(len(benchmark.gallery)),
        counts.ALL_CAPTIONS: float(benchmark.total),
    }


def image_cap(data: CaptionedDataset, limit: int | None) -> dict[str, float]:
    """Return the cap on the images of a split if a split reaches it, and so may have lost some; otherwise nothing."""
    reached = limit is not None and any(len(scenes) == limit for scenes in data.splits.values())
    return {counts.IMAGE_CAP: float(limit)} if limit is not None and reached else {}


def _pool_key(recipe: PairRecipe) -> tuple[object, ...] | None:
    """Return a key that recipes share if they share object-removed pairs; None: it needs none."""
    if not recipe.removed and recipe.originals != "matched":
        return None
    return (recipe.text, recipe.fill, recipe.captions_each, recipe.only_edited, recipe.captioner)


def _originals(model: ImageTextModel, scenes: Sequence[CaptionedImage], tell: Progress) -> tuple[Pool, int]:
    """Read the original images with their captions; also return how many scenes were left out."""
    spoken = [scene for scene in scenes if scene.captions]
    images, kept = read_images(spoken, [model.side], tell)
    return _pool(model, images[model.side], [spoken[row].captions for row in kept]), len(scenes) - len(kept)


def _pool(
    model: ImageTextModel,
    images: Tensor,
    texts: Sequence[Sequence[str]],
    edited: Sequence[Sequence[bool]] | None = None,
) -> Pool:
    flat = [text for captions in texts for text in captions]
    return Pool.of(images, model.tokenise(flat), [len(captions) for captions in texts], edited)
