"""The verbs ``mend`` and ``score`` of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from trainers.config import OPTIMISERS, MendChoice, ModelChoice, RunConfig, SceneChoice

STEPS, WEIGHT_DECAY = 250, 1e-2
BUDGET = ("steps", "minutes", "epochs")
_NAME = "NAME[:PARAMETER=VALUE,...]"
if TYPE_CHECKING:
    from trainers.kinds.finetuning.recipes import Preset

Parse = Callable[[str], "tuple[str, dict[str, Any]]"]


def add_scene_flags(parser: argparse.ArgumentParser) -> None:
    """Flags that say which photos and which model."""
    parser.add_argument("--data", default="drawn_scenes", metavar=_NAME, help="drawn_scenes, a folder or a Hub id")
    parser.add_argument("--captions-from", help="another set with the sentences, joined by image id")
    parser.add_argument("--limit", type=int, help="most photos of each split")
    parser.add_argument("--model", default="tiny_clip", metavar=_NAME, help="an image-text model of the menu")


def add_mend_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that :func:`mend_config` reads."""
    add_scene_flags(parser)
    parser.add_argument("--preset", help="recipes of one experiment of the paper: see `presets` below")
    parser.add_argument(
        "--recipes",
        nargs="+",
        metavar="PARAMETER=VALUE,...",
        help="one to four, e.g. removed=false fill=zero,ratio=0.2; `-` is the default recipe",
    )
    parser.add_argument("--captioner", help="folder or Hub id of a BLIP captioner, for recipes with text=captioner")
    add = _unset_by_default(parser)  # what is not given comes from the preset, the model or the defaults
    add("--steps", type=int, help=f"optimiser steps; {STEPS} without any budget")
    add("--minutes", type=float, help="minutes of training")
    add("--epochs", type=float, help="passes over the pairs of the largest recipe")
    add(
        "--batch", type=int, help=f"pairs of a photo and a sentence; {MendChoice().batch} unless the preset has its own"
    )
    add("--optimiser", choices=OPTIMISERS, help=f"{RunConfig().optimiser} unless the preset has its own")
    add("--learning-rate", type=float, help="at its highest; the model's own if not given")
    add("--halve-every", type=float, help="epochs between halvings of it; warm-up and a half cosine if not given")
    add("--weight-decay", type=float, help=f"on matrices; {WEIGHT_DECAY:g} unless the preset has its own")
    add("--clip-norm", type=float, help="longest gradient; none is clipped if not given")
    parser.add_argument("--queries", type=int, default=MendChoice().queries, help="removals scored while it trains")
    parser.add_argument("--gallery", type=int, default=MendChoice().gallery, help="sentences they are scored against")
    parser.add_argument("--seed", type=int, default=0, help="of batches and of what is removed")
    parser.add_argument("--snapshot-steps", type=int, help="steps between looks; by time if not given")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, help="CPU threads; torch's choice if not given")


def _unset_by_default(parser: argparse.ArgumentParser) -> Callable[..., object]:
    """Adds flags that are absent from the arguments unless they are given."""
    return partial(parser.add_argument, default=argparse.SUPPRESS)


def training_of(preset: Preset) -> dict[str, Any]:
    """The training that a preset stands for, without its learning rate, which is the model's."""
    plain = {"optimiser": RunConfig().optimiser, "halve_every": None, "weight_decay": WEIGHT_DECAY, "clip_norm": None}
    budget = {"steps": STEPS, "minutes": None, "epochs": None, "batch": MendChoice().batch}
    if any(preset.settings.get(name) for name in BUDGET):
        budget["steps"] = None
    return plain | budget | dict(preset.settings)


def learning_rate_of(model: str) -> float:
    """A model's own learning rate; any number for one that is not on the menu, which is refused later."""
    from trainers.image_text.models import MODELS

    return MODELS[model].learning_rate if model in MODELS else RunConfig().learning_rate


def mend_config(arguments: argparse.Namespace, parse: Parse) -> RunConfig:
    """The configuration that the flags ask for."""
    from trainers.errors import ParameterError
    from trainers.kinds.finetuning.recipes import PRESETS

    presets = {preset.name: preset for preset in PRESETS}
    if arguments.preset is not None and arguments.preset not in presets:
        raise ParameterError(f"There is no preset {arguments.preset!r}; choose from {', '.join(presets)}.")
    preset = presets[arguments.preset or "mend"]
    recipes = preset.recipes
    if arguments.recipes:
        recipes = tuple(parse(f"recipe:{'' if text == '-' else text}")[1] for text in arguments.recipes)
    if arguments.captioner:
        own = {"captioner": arguments.captioner}
        recipes = tuple({**values, **own} if values.get("text") == "captioner" else values for values in recipes)
    training = training_of(preset)
    given = {name: getattr(arguments, name) for name in training if hasattr(arguments, name)}
    if any(name in given for name in BUDGET):
        training |= dict.fromkeys(BUDGET)
    training |= given
    model = model_choice(arguments, parse)
    return RunConfig(
        losses=(),
        mend=MendChoice(
            scenes=scene_choice(arguments, parse),
            model=model,
            recipes=recipes,
            batch=training.pop("batch"),
            queries=arguments.queries,
            gallery=arguments.gallery,
        ),
        learning_rate=getattr(arguments, "learning_rate", learning_rate_of(model.name)),
        **training,
        seed=arguments.seed,
        snapshot_steps=arguments.snapshot_steps,
        device=arguments.device,
        threads=arguments.threads,
    )


def scene_choice(arguments: argparse.Namespace, parse: Parse) -> SceneChoice:
    """Which photos. Only the drawn scenes take parameters; a path may hold a colon."""
    source, parameters = arguments.data, {}
    if source.split(":")[0] == "drawn_scenes":
        source, parameters = parse(source)
    return SceneChoice(
        source=source, captions_from=arguments.captions_from, limit=arguments.limit, parameters=parameters
    )


def fewer_scenes(train: int | None) -> SceneChoice:
    """The drawn scenes with so many to train on, the other splits in proportion; None: as they are."""
    if train is None:
        return SceneChoice()
    return SceneChoice(parameters={"train": train, "val": train // 12, "test": max(20, train // 6)})


def model_choice(arguments: argparse.Namespace, parse: Parse) -> ModelChoice:
    """Which model."""
    name, parameters = parse(arguments.model)
    return ModelChoice(name=name, parameters=parameters)


def mend_summary(config: RunConfig, scalars: list[Any]) -> str:
    """The whole-test numbers of every recipe, one line each."""
    from trainers.kinds.finetuning.recipes import recipe, titles
    from trainers.metrics.counts import whole_test
    from trainers.training.clipping import clipped_words

    assert config.mend is not None
    names = titles([recipe(values) for values in config.mend.recipes])
    keys = ("ODmAP_at_1", "rerendered_ODmAP_at_1", "hallucination_at_1", "i2t_R_at_1", "i2t_R_at_5", "t2i_R_at_1")
    lines: list[str] = []
    for arm, name in enumerate(names):
        last = {s.key[5:]: s.value for s in scalars if s.arm == arm and s.key.startswith("test/")}
        lines.append(
            f"  {name:<30} "
            + "  ".join(f"{key} {last[key]:.3f}" for key in keys if key in last)
            + clipped_words(scalars, arm)
        )
    scored = whole_test(last)
    return "\n".join([f"finished; {scored}:", *lines])


def score(arguments: argparse.Namespace, parse: Parse) -> int:
    """Evaluate one model on ODmAP's benchmark and print every mean with its interval."""
    from tqdm import tqdm

    from trainers.data.synthetic.scenes import are_drawn
    from trainers.errors import ParameterError
    from trainers.image_text.models import MODELS
    from trainers.kinds.finetuning.loop import load_model, open_scenes
    from trainers.object_removal.benchmark import Evaluator, make_benchmark
    from trainers.object_removal.vocabulary import load_words

    choice = model_choice(arguments, parse)
    if choice.name not in MODELS:
        raise ParameterError(f"There is no image-text model {choice.name!r}; choose from {', '.join(MODELS)}.")
    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed} {postfix}", disable=None) as bar:

        def tell(text: str, fraction: float) -> None:
            bar.n = round(100 * fraction)
            bar.set_postfix_str(text)

        model = load_model(choice).eval()
        benchmark = make_benchmark(
            open_scenes(scene_choice(arguments, parse), tell),
            load_words(),
            model.side,
            fill=arguments.fill,
            limit=arguments.queries,
            every=arguments.every,
            seed=arguments.seed or 0,
            shuffled=arguments.seed is not None,
            progress=tell,
        )
        result = Evaluator(benchmark, model).evaluate(model, tell)
    if not MODELS[choice.name].photos and not are_drawn(benchmark.scenes):
        print("This model knows the drawn scenes only: it does not know photos, and the numbers say nothing about it.")
    print(f"{len(benchmark.queries)} removals of {benchmark.tally.photos} images, {len(benchmark.gallery)} captions")
    for reason, count in benchmark.tally.left_out().items():
        print(f"  left out, {reason}: {count}")
    for name, count in result.filled.counts.items():
        print(f"  {name.replace('_', ' ')}: {count}")
    for name, interval in result.intervals().items():
        print(f"{name:<30} {interval.mean:.4f}  [{interval.low:.4f}, {interval.high:.4f}]")
    sys.stdout.flush()
    return 0
