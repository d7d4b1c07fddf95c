"""Metric learning in the sidebar: images, losses, encoder, budget and the rest; and as a function with plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page import dataset_picker, loss_picker, remembered
from explorer.page.controls import control, raw, read
from explorer.page.dataset_picker import Images, look_again, pick_images
from explorer.page.kinds.base import FormContext, KindForm, KindPage, Values
from explorer.page.loss_picker import loss_names, loss_texts, pick_losses, visibility
from explorer.page.menu import menu
from explorer.page.parameter_panel import fold, parameter_fold, stored_values
from explorer.server.runs import Runs
from explorer.server.visitors import caller
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.kinds.metric_learning import DESCRIPTOR as KIND
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses import LOSSES
from trainers.parameters import Choice, specs
from trainers.samplers import SAMPLERS
from trainers.training.augmentations import AUGMENTATIONS
from trainers.training.validation import check

_FIRST = MetricLearningConfig()
_SPECS = {spec.name: spec for spec in specs(MetricLearningConfig)}
SETTINGS = {name: _SPECS[name] for name in (*KIND.main, *KIND.more)}
"""What is set by a control of its own, in the order of the page."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """Everything that decides a run, before it is checked.

    Attributes:
        losses: catalogue names; ``loss_parameters`` goes with it, as the controls hold them.
        training: values of :data:`SETTINGS`; missing ones take their defaults.
    """

    images: Images
    losses: Sequence[str]
    loss_parameters: Sequence[Mapping[str, Any]] = ()
    encoder: str = _FIRST.encoder.name
    encoder_parameters: Mapping[str, Any] = field(default_factory=dict)
    sampler: str = _FIRST.sampler
    augmentation: str = _FIRST.augmentation.name
    training: Mapping[str, Any] = field(default_factory=dict)

    def config(self) -> MetricLearningConfig:
        """The checked configuration.

        Raises:
            ParameterError: naming what was needed, what it got and what to do.
        """
        if not self.losses:
            raise ParameterError("A run needs a loss: choose one to four.")
        unknown = sorted(set(self.training) - set(SETTINGS))
        if unknown:
            raise ParameterError(f"Training has no parameter {unknown[0]!r:.60}; it has {', '.join(SETTINGS)}.")
        config = MetricLearningConfig(
            data=self.images.choice(),
            losses=tuple(
                _choice("loss", LOSSES, name, held) for name, held in _paired(self.losses, self.loss_parameters)
            ),
            encoder=_choice("encoder", ENCODERS, self.encoder, self.encoder_parameters),
            sampler=self.sampler,
            augmentation=Choice(name=self.augmentation),
            **read(MetricLearningConfig, self.training, "Training"),
        )
        check(config)
        return config


def defaults() -> Values:
    """Every field as it is at first, in the order in which the page lists them."""
    return {
        **dataset_picker.defaults(),
        **loss_picker.defaults(_FIRST.losses),
        "encoder": _FIRST.encoder.name,
        "encoder_parameters": "{}",
        "sampler": _FIRST.sampler,
        "augmentation": _FIRST.augmentation.name,
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
        **remembered.choice(kept, "sampler", SAMPLERS),
        **remembered.choice(kept, "augmentation", AUGMENTATIONS),
        **settings,
    }


def config_of(values: Mapping[str, Any]) -> MetricLearningConfig:
    """The configuration that the fields describe, by the names of :func:`defaults`."""
    chosen, encoder = loss_picker.chosen(values), str(values["encoder"])
    return Form(
        images=Images(**{name: values[name] for name in Images.__dataclass_fields__}),
        losses=[name for name, _ in chosen],
        loss_parameters=[held for _, held in chosen],
        encoder=encoder,
        encoder_parameters=stored_values(str(values["encoder_parameters"]), encoder),
        sampler=str(values["sampler"]),
        augmentation=str(values["augmentation"]),
        training={name: values[name] for name in SETTINGS},
    ).config()


def build(context: FormContext) -> KindForm:
    """Build the form."""
    images = pick_images(context.note)
    losses = pick_losses(context.drawn, _FIRST.losses)
    encoder, encoder_text = _pick_encoder(context.drawn)
    fields: dict[str, Component] = {
        **images.fields,
        **dict(zip(loss_names(), losses.names, strict=True)),
        **dict(zip(loss_texts(), losses.texts, strict=True)),
        "encoder": encoder,
        "encoder_parameters": encoder_text,
        **_pick_training(encoder),
    }
    return KindForm(
        fields=fields,
        config=config_of,
        defaults=defaults(),
        restored=restored,
        shown=tuple(losses.shown),
        following=lambda values: visibility(sum(1 for name in loss_names() if values[name])),
        looked=tuple(images.looked),
        look=look_again,
        looks_at=tuple(images.fields),
    )


def _pick_encoder(drawn: gr.Textbox) -> tuple[gr.HTML, gr.Textbox]:
    choices = [(name, descriptor.title, descriptor.lacking()) for name, descriptor in ENCODERS.items()]
    encoder = menu(choices, value=_FIRST.encoder.name, label="Encoder", elem_id="rs-encoder")
    text = gr.Textbox("{}", visible=False, label="Encoder parameters")
    with fold("Parameters"):
        parameter_fold(encoder, text, drawn, ENCODERS)
    return encoder, text


def _pick_training(encoder: gr.HTML) -> dict[str, Component]:
    """The budget, and the fold with the sampler and the other settings."""
    made = {name: control(_SPECS[name], raw(_SPECS[name], _SPECS[name].default)) for name in KIND.main}
    with fold("Batch, learning rate and more"):
        named = {
            name: gr.Dropdown(
                [(descriptor.title, entry) for entry, descriptor in entries.items()],
                value=first,
                label=_SPECS[name].label,
                info=_SPECS[name].rule.help,
                filterable=False,
                min_width=80,
            )
            for name, entries, first in (
                ("sampler", SAMPLERS, _FIRST.sampler),
                ("augmentation", AUGMENTATIONS, _FIRST.augmentation.name),
            )
        }
        made |= {name: control(_SPECS[name], raw(_SPECS[name], _SPECS[name].default)) for name in KIND.more}
    encoder.picked(
        lambda name: ENCODERS[name].learning_rate if name in ENCODERS else gr.skip(),
        encoder,
        made["learning_rate"],
        queue=False,
        show_progress="hidden",
        api_visibility="private",
    )
    return {**named, **made}


def _choice(what: str, entries: Mapping[str, Any], name: str, values: Mapping[str, Any]) -> Choice:
    if name not in entries:
        raise ParameterError(f"There is no {what} {name!r:.60}; choose from {', '.join(entries)}.")
    return Choice(name=name, parameters=read(entries[name].parameters, values, entries[name].title))


def _paired(names: Sequence[str], values: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    if len(values) > len(names):
        raise ParameterError(f"Got {len(values)} sets of loss parameters for {len(names)} losses; give one per loss.")
    return list(zip(names, [*values, *({} for _ in range(len(names) - len(values)))], strict=True))


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
        form = Form(
            images=Images(source=images),
            losses=losses,
            loss_parameters=loss_parameters or [],
            encoder=encoder,
            encoder_parameters=encoder_parameters or {},
            sampler=sampler,
            training=training or {},
        )
        return runs.start(form.config(), token, caller(request))

    return [start_run]


DESCRIPTOR = KindPage(name=KIND.name, form=build, endpoints=endpoints)
