"""Metric learning in the sidebar: images, losses, encoder, budget and the rest; and as a function with plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page import dataset_picker, loss_picker, remembered
from explorer.page.blocks import QUIET
from explorer.page.controls import control, raw, read
from explorer.page.dataset_picker import data_choice
from explorer.page.kinds.base import FormContext, KindForm, KindPage, Values
from explorer.page.menu import menu
from explorer.page.parameter_panel import fold, parameter_fold, stored_values
from explorer.server.runs import Runs
from explorer.server.visitors import caller
from trainers.config import DataChoice
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.kinds.metric_learning import DESCRIPTOR as KIND
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses import LOSSES
from trainers.parameters import Choice, entry, specs

_FIRST = MetricLearningConfig()
_LOSSES = [loss.name for loss in _FIRST.losses]
_SHOWN = (*KIND.main, "sampler", "augmentation", *KIND.more)
SETTINGS = {name: spec for name in _SHOWN for spec in specs(MetricLearningConfig) if spec.name == name}
"""What is set by a control of its own, in the order of the page."""


def configuration(
    data: DataChoice,
    losses: Sequence[str],
    loss_parameters: Sequence[Mapping[str, Any]] | None = None,
    encoder: str = _FIRST.encoder.name,
    encoder_parameters: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
) -> MetricLearningConfig:
    """A checked configuration. Parameters and :data:`SETTINGS` are as the controls hold them, or plain values.

    Raises:
        ParameterError: naming what was needed, what it got and what to do.
    """
    given, training = list(loss_parameters or ()), training or {}
    if not losses:
        raise ParameterError("A run needs a loss: choose one to four.")
    if len(given) > len(losses):
        raise ParameterError(f"Got {len(given)} sets of loss parameters for {len(losses)} losses; give one per loss.")
    unknown = sorted(set(training) - set(SETTINGS))
    if unknown:
        raise ParameterError(f"Training has no parameter {unknown[0]!r:.60}; it has {', '.join(SETTINGS)}.")
    config = MetricLearningConfig(
        data=data,
        losses=tuple(_choice("loss", LOSSES, *pair) for pair in zip_longest(losses, given, fillvalue={})),
        encoder=_choice("encoder", ENCODERS, encoder, encoder_parameters or {}),
        **read(MetricLearningConfig, training, "Training"),
    )
    check(config)
    return config


def defaults() -> Values:
    """Every field as it is at first, in the order in which the page lists them."""
    return {
        **dataset_picker.defaults(),
        **loss_picker.defaults(_LOSSES),
        "encoder": _FIRST.encoder.name,
        "encoder_parameters": "{}",
        **{name: raw(spec, spec.default) for name, spec in SETTINGS.items()},
    }


def restored(kept: Mapping[str, Any]) -> Values:
    """The fields as they were left, what cannot be used replaced by its default."""
    values, there = defaults(), {name: one for name, one in ENCODERS.items() if one.lacking() is None}
    settings = remembered.settings(MetricLearningConfig, kept, only=SETTINGS)
    if not settings.get("minutes", True) and not settings.get("steps"):
        del settings["minutes"]  # a run needs a budget
    return {
        **values,
        **dataset_picker.restored(kept),
        **loss_picker.restored(kept, values),
        **remembered.choice(kept, "encoder", there),
        "encoder_parameters": remembered.parameters_text(kept.get("encoder_parameters"), ENCODERS),
        **settings,
    }


def config_of(values: Mapping[str, Any]) -> MetricLearningConfig:
    """The configuration that the fields describe, by the names of :func:`defaults`."""
    losses, encoder = loss_picker.chosen(values), str(values["encoder"])
    return configuration(
        data_choice(**{name: values[name] for name in dataset_picker.FIELDS}),
        [name for name, _ in losses],
        [held for _, held in losses],
        encoder,
        stored_values(str(values["encoder_parameters"]), encoder),
        {name: values[name] for name in SETTINGS},
    )


def build(context: FormContext) -> KindForm:
    """Build the form."""
    images, described = dataset_picker.pick_images(context.note)
    losses = loss_picker.pick_losses(context.drawn, _LOSSES)
    encoder, encoder_text = _pick_encoder(context.drawn)
    return KindForm(
        fields={
            **images,
            **losses.fields,
            "encoder": encoder,
            "encoder_parameters": encoder_text,
            **_pick_training(encoder),
        },
        config=config_of,
        defaults=defaults(),
        restored=restored,
        shown=tuple(losses.shown),
        following=lambda values: loss_picker.visibility(sum(1 for name in loss_picker.NAMES if values[name])),
        looked=tuple(described),
        look=dataset_picker.look_again,
        looks_at=tuple(images),
    )


def _pick_encoder(drawn: gr.Textbox) -> tuple[gr.HTML, gr.Textbox]:
    choices = [(name, descriptor.title, descriptor.lacking()) for name, descriptor in ENCODERS.items()]
    encoder = menu(choices, value=_FIRST.encoder.name, label="Encoder", elem_id="rs-encoder")
    text = gr.Textbox("{}", visible=False, label="Encoder parameters")
    with fold("Parameters"):
        parameter_fold(encoder, text, drawn, ENCODERS)
    return encoder, text


def _pick_training(encoder: gr.HTML) -> dict[str, Component]:
    """The budget, and the fold with the other settings."""
    made = {name: control(SETTINGS[name], raw(SETTINGS[name], SETTINGS[name].default)) for name in KIND.main}
    with fold("Batch, learning rate and more"):
        more = {name: spec for name, spec in SETTINGS.items() if name not in made}
        made |= {name: control(spec, raw(spec, spec.default)) for name, spec in more.items()}
    encoder.picked(
        lambda name: ENCODERS[name].learning_rate if name in ENCODERS else gr.skip(),
        encoder,
        made["learning_rate"],
        queue=False,
        **QUIET,
    )
    return made


def _choice(what: str, entries: Mapping[str, Any], name: str, values: Mapping[str, Any]) -> Choice:
    descriptor = entry(entries, name, what)
    return Choice(name=name, parameters=read(descriptor.parameters, values, descriptor.title))


def endpoints(runs: Runs) -> list[Callable[..., Any]]:
    """The public endpoint ``start_run``."""

    def start_run(
        losses: list[str],
        images: str = "drawn",
        loss_parameters: list[dict[str, Any]] | None = None,
        encoder: str = _FIRST.encoder.name,
        encoder_parameters: dict[str, Any] | None = None,
        sampler: str = _FIRST.sampler,
        training: dict[str, Any] | None = None,
        token: str = "",
        request: gr.Request | None = None,
    ) -> str:
        """Queue a comparison of one to four losses and return its run id at once.

        Args:
            losses: catalogue names, for example smooth_ap and happier.
            images: a catalogue name, a Hub id or, on one's own machine, a folder.
            loss_parameters: for each loss the parameters that differ from its defaults.
            encoder: catalogue name.
            encoder_parameters: those that differ from its defaults.
            sampler: catalogue name.
            training: the settings with a control of their own, by name; list_kinds has them.
            token: any secret word; on a public page it is needed to stop the run.
        """
        config = configuration(
            data_choice(images),
            losses,
            loss_parameters,
            encoder,
            encoder_parameters,
            {"sampler": sampler, **(training or {})},
        )
        return runs.start(config, token, caller(request))

    return [start_run]


DESCRIPTOR = KindPage(name=KIND.name, form=build, endpoints=endpoints)
