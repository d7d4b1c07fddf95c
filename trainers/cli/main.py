"""The command line."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from trainers.cli.finetune import add_mend_flags, add_scene_flags, mend_config, mend_summary
from trainers.cli.progress import train_with_bar
from trainers.config import OPTIMISERS, DataChoice, LossChoice, RunConfig
from trainers.errors import ParameterError, UserError
from trainers.kinds.metric_learning.advice import advice
from trainers.parameters import describe, specs
from trainers.runs import RunFolder, list_runs

DEFAULT = RunConfig()


def main(argv: list[str]) -> int:
    """Parse and run; errors meant for people are printed as one sentence, exit status 1."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except UserError as error:
        print(f"rankscope: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainers",
        description="Train one to four losses in lockstep on the same images, without a browser. "
        "The page picks up every run in the same folder while it is going.",
    )
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    train = verbs.add_parser("train", help="start a run", formatter_class=_HELP)
    train.set_defaults(run=_train)
    add_train_flags(train)
    mend = verbs.add_parser(
        "mend", help="fine-tune an image-text model on object-removed photos", formatter_class=_HELP
    )
    mend.set_defaults(run=_mend)
    add_mend_flags(mend)
    score = verbs.add_parser("score", help="ODmAP@k and recall of an image-text model", formatter_class=_HELP)
    score.set_defaults(run=_score)
    add_scene_flags(score)
    score.add_argument("--fill", default="telea", help="what is painted over the object")
    score.add_argument("--queries", type=int, help="most removals; all of them if not given")
    score.add_argument("--every", action="store_true", help="each allowed class of an image instead of one")
    score.add_argument("--seed", type=int, help="of a random order of images and choice of classes, as on the page")
    resume = verbs.add_parser("resume", help="continue a run from its last checkpoint")
    resume.add_argument("id")
    resume.set_defaults(run=_resume)
    listing = verbs.add_parser("list", help="the runs, newest first")
    listing.set_defaults(run=_list)
    control = verbs.add_parser("send", help="pause, resume or stop a run that another process trains")
    control.add_argument("id")
    control.add_argument("command", choices=("pause", "resume", "stop"))
    control.set_defaults(run=_send)
    losses = verbs.add_parser("losses", help="the losses and their parameters")
    losses.set_defaults(run=_losses)
    metrics = verbs.add_parser("metrics", help="the numbers a run can be scored by")
    metrics.set_defaults(run=_metrics)
    models = verbs.add_parser("models", help="the image-text models and their parameters")
    models.set_defaults(run=_models)
    for table in (losses, metrics, models):
        table.add_argument("--markdown", action="store_true", help="as the README's table")
    encoders = verbs.add_parser("encoders", help="the encoders and their parameters")
    encoders.set_defaults(run=_encoders)
    look = verbs.add_parser("inspect", help="what a dataset holds and how it would be read")
    look.add_argument("data")
    look.set_defaults(run=_inspect)
    for verb in (train, mend, resume, listing, control):
        _runs_flag(verb)
    return parser


_HELP = argparse.ArgumentDefaultsHelpFormatter


def _runs_flag(parser: argparse.ArgumentParser) -> None:
    place = os.environ.get("RANKSCOPE_RUNS", "runs")
    parser.add_argument("--runs", type=Path, default=Path(place), help="folder that holds the runs")


def add_train_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that :func:`config_from` reads."""
    data, batch, budget = (parser.add_argument_group(name) for name in ("data", "model and batch", "budget"))
    data.add_argument("--data", default="drawn", help="a catalogue name, a folder, or a Hub id")
    data.add_argument("--subset", help="configuration of a Hub set")
    data.add_argument("--revision", help="commit or tag of a Hub set")
    data.add_argument("--image-column", help="found if not given")
    data.add_argument("--label-columns", nargs="+", metavar="COLUMN", help="finest first; found if not given")
    data.add_argument("--train-split", help="found if not given")
    data.add_argument("--test-split", help="found if not given")
    data.add_argument("--max-images", type=int, default=DataChoice().max_images, help="cap on each split")
    data.add_argument("--image-size", type=int, help="side in pixels; chosen by the data if not given")
    data.add_argument("--data-seed", type=int, default=0, help="of the drawn world, the split and the cap")
    batch.add_argument(
        "--losses",
        nargs="+",
        metavar="NAME[:PARAMETER=VALUE,...]",
        default=[choice.name for choice in DEFAULT.losses],
        help="one to four, e.g. smooth_ap happier:alpha=5,weight_proxy=0.5",
    )
    batch.add_argument(
        "--encoder",
        default=DEFAULT.encoder,
        metavar="NAME[:PARAMETER=VALUE,...]",
        help="run `python -m trainers encoders` for the names",
    )
    batch.add_argument("--dim", type=int, default=DEFAULT.dim, help="embedding dimension")
    batch.add_argument("--classes-per-batch", type=int, default=DEFAULT.classes_per_batch, help="classes in a batch")
    batch.add_argument("--images-per-class", type=int, default=DEFAULT.images_per_class, help="images of each")
    batch.add_argument("--optimiser", choices=OPTIMISERS, default=DEFAULT.optimiser)
    batch.add_argument("--learning-rate", type=float, default=DEFAULT.learning_rate, help="at its highest")
    batch.add_argument("--halve-every", type=float, help="epochs between halvings of it; a half cosine if not given")
    batch.add_argument("--weight-decay", type=float, default=DEFAULT.weight_decay, help="of the optimiser")
    batch.add_argument("--clip-norm", type=float, help="longest gradient; none is clipped if not given")
    batch.add_argument("--memory", type=int, default=DEFAULT.memory, help="earlier embeddings kept to compare with")
    batch.add_argument("--memory-after", type=int, default=DEFAULT.memory_after, help="steps before they are used")
    batch.add_argument("--sampler", default=DEFAULT.sampler, help="m_per_class or two_super_classes")
    budget.add_argument("--steps", type=int, help="optimiser steps")
    budget.add_argument("--minutes", type=float, help="minutes of training; 3 without any budget")
    budget.add_argument("--epochs", type=float, help="passes over the training images")
    budget.add_argument("--seed", type=int, default=DEFAULT.seed, help="of weights, batches and augmentation")
    budget.add_argument("--probe-size", type=int, default=DEFAULT.probe_size, help="test images on the map")
    budget.add_argument("--snapshot-steps", type=int, help="steps between frames; by time if not given")
    budget.add_argument("--device", default=DEFAULT.device, help="auto, cpu, cuda or cuda:N")
    budget.add_argument("--threads", type=int, help="CPU threads; torch's choice if not given")


def config_from(arguments: argparse.Namespace) -> RunConfig:
    """The configuration that the ``train`` flags ask for."""
    columns = arguments.label_columns
    data = DataChoice(
        source=arguments.data,
        subset=arguments.subset,
        revision=arguments.revision,
        image_column=arguments.image_column,
        label_columns=tuple(columns) if columns else None,
        train_split=arguments.train_split,
        test_split=arguments.test_split,
        max_images=arguments.max_images,
        image_size=arguments.image_size,
        seed=arguments.data_seed,
    )
    encoder, encoder_parameters = parse_choice(arguments.encoder)
    losses = tuple(LossChoice(name=n, parameters=p) for n, p in map(parse_choice, arguments.losses))
    budget = arguments.minutes or arguments.steps or arguments.epochs
    minutes = arguments.minutes if budget else DEFAULT.minutes
    plain = {
        field.name: getattr(arguments, field.name)
        for field in dataclasses.fields(RunConfig)
        if hasattr(arguments, field.name) and field.name not in ("data", "losses", "encoder", "minutes")
    }
    return RunConfig(
        data=data, losses=losses, encoder=encoder, encoder_parameters=encoder_parameters, minutes=minutes, **plain
    )


def parse_choice(text: str) -> tuple[str, dict[str, Any]]:
    """``happier:alpha=5,preset=sop`` -> the name and its parameters; lists are written ``k=1;2;4``."""
    name, _, rest = text.partition(":")
    parameters: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ParameterError(f"NAME:PARAMETER=VALUE,... was needed; {part!r} has no '='.")
        items = [_value(item) for item in value.split(";")]
        parameters[key] = items if ";" in value else items[0]
    return name, parameters


def _value(text: str) -> Any:
    try:
        return json.loads({"none": "null", "None": "null", "True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text


def _train(arguments: argparse.Namespace) -> int:
    return _start(arguments, config_from(arguments))


def _mend(arguments: argparse.Namespace) -> int:
    return _start(arguments, mend_config(arguments, parse_choice))


def _score(arguments: argparse.Namespace) -> int:
    from trainers.cli.finetune import score

    return score(arguments, parse_choice)


def _start(arguments: argparse.Namespace, config: RunConfig) -> int:
    from trainers.training.validation import check

    check(config)
    for sentence in advice(config):
        print(f"rankscope: {sentence}", file=sys.stderr)
    folder = RunFolder.create(arguments.runs, config)
    print(f"run {folder.id} in {folder.path}")
    return _work(folder)


def _resume(arguments: argparse.Namespace) -> int:
    folder = RunFolder.open(arguments.runs, arguments.id)
    if folder.db.state().phase == "finished":
        print(f"Run {folder.id} is finished; there is nothing to resume.\n{_summary(folder)}")
        return 0
    return _work(folder)


def _work(folder: RunFolder) -> int:
    state = train_with_bar(folder)
    if state.error:
        print(f"rankscope: {state.error}", file=sys.stderr)
        return 1
    print(state.message if state.phase != "finished" else _summary(folder))
    return 0


def _summary(folder: RunFolder) -> str:
    """The whole-test numbers of every arm, one line each."""
    from trainers.kinds.metric_learning.evaluation import LEFT_OUT, left_out
    from trainers.losses import LOSSES
    from trainers.metrics.counts import is_count, whole_test
    from trainers.training.clipping import clipped_words

    if folder.config.mend is not None:
        return mend_summary(folder.config, folder.scalars())
    lines, missing, scored = [], 0.0, ""
    scalars = folder.scalars()
    for index, choice in enumerate(folder.config.losses):
        found = {s.key[5:]: s.value for s in scalars if s.arm == index and s.key.startswith("test/")}
        missing, scored = found.pop(LEFT_OUT, 0), whole_test(found)
        numbers = "  ".join(f"{key} {value:.3f}" for key, value in found.items() if not is_count(key))
        lines.append(f"  {LOSSES[choice.name].title:<20} {numbers}{clipped_words(scalars, index)}")
    if missing:
        lines.append(f"  {left_out(missing, 'of the test set')}")
    return "\n".join([f"finished after {folder.state().seconds:.0f} s; {scored}:", *lines])


def _list(arguments: argparse.Namespace) -> int:
    for folder in list_runs(arguments.runs):
        try:
            state, config = folder.state(), folder.config
        except UserError as error:
            print(f"{folder.id}  damaged: {error}")
            continue
        what = _what(config).encode(errors="backslashreplace").decode()  # a name may hold what no terminal can print
        print(f"{folder.id}  {state.phase:<12} step {state.step:<7} {what}")
    return 0


def _what(config: RunConfig) -> str:
    if config.mend is not None:
        return f"mending {config.mend.model.name} on {config.mend.scenes.source}"
    return f"{' vs '.join(choice.name for choice in config.losses)} on {config.data.source}"


def _send(arguments: argparse.Namespace) -> int:
    folder = RunFolder.open(arguments.runs, arguments.id)
    if not folder.is_alive():
        raise UserError(f"Run {folder.id} is not being trained (it is {folder.state().phase}).")
    folder.send(arguments.command)
    time.sleep(0.5)
    print(folder.state().phase)
    return 0


def _losses(arguments: argparse.Namespace) -> int:
    from trainers.cli.readme_tables import losses_table
    from trainers.losses import FAMILIES

    if arguments.markdown:
        print(losses_table())
        return 0
    for family, losses in FAMILIES.items():
        print(f"\n{family}\n{'-' * len(family)}")
        for descriptor in losses:
            _describe(descriptor, f"{descriptor.title}. {descriptor.paper} {descriptor.year}")
    return 0


def _metrics(arguments: argparse.Namespace) -> int:
    from trainers.cli.readme_tables import metrics_table
    from trainers.metrics import CROSSMODAL_METRICS, METRICS

    if arguments.markdown:
        print(metrics_table())
        return 0
    for metric in (*METRICS.values(), *CROSSMODAL_METRICS.values()):
        print(f"{metric.name}: {metric.title}. {metric.paper}\n  {metric.sentence}")
    return 0


def _models(arguments: argparse.Namespace) -> int:
    from trainers.cli.readme_tables import models_table
    from trainers.image_text.models import MODELS

    if arguments.markdown:
        print(models_table())
        return 0
    for descriptor in MODELS.values():
        reason = descriptor.missing(descriptor.checked({}))
        _describe(descriptor, f"{descriptor.title}. {descriptor.paper}" + (f"\n  {reason}" if reason else ""))
    return 0


def _encoders(_arguments: argparse.Namespace) -> int:
    from trainers.encoders import ENCODERS

    for descriptor in ENCODERS.values():
        _describe(descriptor, descriptor.title)
    return 0


def _describe(descriptor: Any, heading: str) -> None:
    print(f"{descriptor.name}: {heading}\n  {descriptor.sentence}")
    for text in (getattr(descriptor, "slow", ""), getattr(descriptor, "differs", "")):
        if text:
            print(f"  {text}")
    for spec in specs(descriptor.parameters):
        print(f"    {spec.name} = {spec.default}  ({describe(spec)})  {spec.rule.help}")


def _inspect(arguments: argparse.Namespace) -> int:
    from trainers.data import inspect_data

    report = inspect_data(DataChoice(source=arguments.data))
    for field in dataclasses.fields(report):
        print(f"{field.name}: {getattr(report, field.name)}")
    for problem in report.problems:
        print(f"rankscope: {problem}", file=sys.stderr)
    return int(bool(report.problems))
