"""Metric learning in the sidebar: images, losses, encoder, budget and the rest; and as a function with plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr

from explorer.page import conditions_form
from explorer.page.arm_picker import ArmPicker
from explorer.page.blocks import QUIET
from explorer.page.dataset_picker import DatasetPicker, data_choice
from explorer.page.entry_picker import EntryPicker
from explorer.page.kinds.base import FormContext, KindForm, KindPage, Values
from explorer.page.settings_form import SettingsForm, checked_choice
from explorer.page.start_picker import StartPicker
from explorer.server.runs import Runs
from explorer.server.visitors import caller
from trainers.config import MAX_ARMS, DataChoice
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.kinds.metric_learning import DESCRIPTOR as KIND
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses import LOSSES
from trainers.parameters import specs

_FIRST = MetricLearningConfig()
_IMAGES = DatasetPicker()
LOSS_PICKER = ArmPicker(
    one="loss",
    title="Losses",
    same="They start with the same weights and see the same batches; only the loss differs.",
    entries=LOSSES,
    first=_FIRST.losses,
    added=("supcon", "proxy_anchor", "roadmap", "smooth_ap"),
)
_ENCODER = EntryPicker(
    spec=next(spec for spec in specs(MetricLearningConfig) if spec.name == "encoder"), entries=ENCODERS
)
_START = StartPicker(config=MetricLearningConfig, encoder=_ENCODER)
SETTINGS = SettingsForm(config=MetricLearningConfig, main=KIND.main, more=("sampler", "augmentation", *KIND.more))


def configuration(
    data: DataChoice,
    losses: Sequence[str],
    loss_parameters: Sequence[Mapping[str, Any]] | None = None,
    encoder: str = _FIRST.encoder.name,
    encoder_parameters: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
) -> MetricLearningConfig:
    """Make a checked configuration. Parameters and settings are as the controls hold them, or plain values.

    Raises:
        ParameterError: naming what was needed, what it got and what to do.
    """
    given = list(loss_parameters or ())
    if not losses:
        raise ParameterError(f"A run needs a loss: choose one to {MAX_ARMS}.")
    if len(given) > len(losses):
        raise ParameterError(f"Got {len(given)} sets of loss parameters for {len(losses)} losses; give one per loss.")
    parameters = [*given, *({} for _ in losses[len(given) :])]
    config = MetricLearningConfig(
        data=data,
        losses=tuple(checked_choice("loss", LOSSES, name, own) for name, own in zip(losses, parameters, strict=True)),
        encoder=checked_choice("encoder", ENCODERS, encoder, encoder_parameters or {}),
        **SETTINGS.chosen(training or {}),
        **(start or {}),
    )
    check(config)
    return config


def held(config: MetricLearningConfig) -> Values:
    """Return the values of all fields that show ``config``, in the order in which the page lists them."""
    return {
        **_IMAGES.held(config.data),
        **LOSS_PICKER.held(config.losses),
        **_ENCODER.held(config.encoder),
        **_START.held(config),
        **SETTINGS.held(config),
        **conditions_form.held(config.data),
    }


def defaults() -> Values:
    """Return every field as it is at first."""
    return held(_FIRST)


def restored(kept: Mapping[str, Any]) -> Values:
    """Return the fields as they were left, what cannot be used replaced by its default."""
    parts = (_IMAGES, LOSS_PICKER, _ENCODER, SETTINGS)
    values = {name: value for part in parts for name, value in part.restored(kept).items()}
    return defaults() | values | conditions_form.restored(kept)


def config_of(values: Mapping[str, Any]) -> MetricLearningConfig:
    """Make the configuration that the fields describe, by the names of :func:`defaults`."""
    losses = LOSS_PICKER.chosen(values)
    return configuration(
        conditions_form.chosen_in(_IMAGES.chosen(values), values),
        [name for name, _ in losses],
        [parameters for _, parameters in losses],
        *_ENCODER.chosen(values),
        {name: values[name] for name in SETTINGS.specs},
        _START.chosen(values),
    )


def build(context: FormContext) -> KindForm:
    """Build the form."""
    images, described = _IMAGES.build(context.note, context.mark)
    losses = LOSS_PICKER.build(context.drawn)
    encoder = _ENCODER.build(context.drawn, f"rs-encoder{context.mark}")
    start = _START.build(encoder, context.drawn, context.note, context.runs)
    settings = SETTINGS.build()
    conditions = conditions_form.build()
    menu = encoder["encoder"]
    assert isinstance(menu, gr.HTML)
    menu.picked(
        lambda name: ENCODERS[name].learning_rate if name in ENCODERS else gr.skip(),
        menu,
        settings["learning_rate"],
        queue=False,
        **QUIET,
    )
    return KindForm(
        fields={**images, **losses.fields, **encoder, **start, **settings, **conditions},
        config=config_of,
        held=held,
        restored=restored,
        shown=tuple(losses.shown),
        following=LOSS_PICKER.following,
        looked=tuple(described),
        look=_IMAGES.look_again,
        looks_at=tuple(images),
        arms=tuple(LOSS_PICKER.names),
    )


def endpoints(runs: Runs) -> list[Callable[..., Any]]:
    """Return the public endpoint ``start_run``."""

    def start_run(
        losses: list[str],
        images: str = "drawn",
        loss_parameters: list[dict[str, Any]] | None = None,
        encoder: str = _FIRST.encoder.name,
        encoder_parameters: dict[str, Any] | None = None,
        sampler: str = _FIRST.sampler,
        training: dict[str, Any] | None = None,
        token: str = "",
        conditions: dict[str, Any] | None = None,
        request: gr.Request | None = None,
    ) -> str:
        """Queue a comparison of losses and return its run id at once.

        Args:
            losses: catalogue names, for example smooth_ap and happier.
            images: a catalogue name, a Hub id or, on one's own machine, a folder.
            loss_parameters: for each loss the parameters that differ from its defaults.
            encoder: catalogue name.
            encoder_parameters: those that differ from its defaults.
            sampler: catalogue name.
            training: the settings with a control of their own, by name; list_kinds has them.
            token: any secret word; on a public page it is needed to stop the run.
            conditions: of training, by name: label_noise, noise_kind, withheld_classes, withheld_images, folds, fold.
        """
        config = configuration(
            conditions_form.chosen(data_choice(images), conditions or {}),
            losses,
            loss_parameters,
            encoder,
            encoder_parameters,
            {"sampler": sampler, **(training or {})},
        )
        return runs.start(config, token, caller(request))

    return [start_run]


DESCRIPTOR = KindPage(name=KIND.name, form=build, endpoints=endpoints)
