"""Contrastive pretraining in the sidebar: images, methods, augmentation with preview, encoder, budget and the rest."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from explorer.page import conditions_form
from explorer.page.arm_picker import ArmPicker
from explorer.page.dataset_picker import DatasetPicker
from explorer.page.entry_picker import EntryPicker
from explorer.page.kinds.base import FormContext, KindForm, KindPage, Values
from explorer.page.parameter_panel import fold
from explorer.page.settings_form import SettingsForm, checked_choice
from explorer.page.start_picker import StartPicker
from explorer.page.views_preview import views_preview
from trainers.encoders import ENCODERS
from trainers.kinds import check
from trainers.kinds.contrastive import DESCRIPTOR as KIND
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.methods import METHODS
from trainers.kinds.contrastive.views import preview
from trainers.kinds.data_titles import source_title
from trainers.parameters import specs
from trainers.training.augmentations import AUGMENTATIONS

PREVIEWED = 6
"""Images of a preview."""
_STEPS = 1_000_000  # a preview is of any one of so many, so that pressing again shows other views
_FIRST = ContrastiveConfig()
_SPECS = {spec.name: spec for spec in specs(ContrastiveConfig)}
IMAGES = DatasetPicker(
    first=_FIRST.data,
    more=("image_size",),
    unlabelled=f"{', '.join(one.title for one in METHODS.values() if one.labels)} need classes, as do "
    "hard conditions and further metrics; the other methods do without.",
)
_METHODS = ArmPicker(
    one="method",
    title="Methods",
    same="They start with the same weights and see the same views; only the method differs.",
    entries=METHODS,
    first=_FIRST.methods,
    added=("supcon", "moco_v1", "cross_entropy"),
)
_AUGMENTATION = EntryPicker(spec=_SPECS["augmentation"], entries=AUGMENTATIONS)
_HEAD_AUGMENTATION = EntryPicker(spec=_SPECS["head_augmentation"], entries=AUGMENTATIONS)
_ENCODER = EntryPicker(spec=_SPECS["encoder"], entries={name: one for name, one in ENCODERS.items() if not one.frozen})
_START = StartPicker(config=ContrastiveConfig, encoder=_ENCODER)
_SETTINGS = SettingsForm(config=ContrastiveConfig, main=KIND.main, more=KIND.more)


def held(config: ContrastiveConfig) -> Values:
    """Return the values of all fields that show ``config``, in the order of the page."""
    return {
        **IMAGES.held(config.data),
        **_METHODS.held(config.methods),
        **_AUGMENTATION.held(config.augmentation),
        **_ENCODER.held(config.encoder),
        **_START.held(config),
        **_SETTINGS.held(config),
        **_HEAD_AUGMENTATION.held(config.head_augmentation),
        **conditions_form.held(config.data),
    }


def restored(kept: Mapping[str, Any]) -> Values:
    """Return the fields as they were left, what cannot be used replaced by its default."""
    parts = (IMAGES, _METHODS, _AUGMENTATION, _ENCODER, _SETTINGS, _HEAD_AUGMENTATION)
    values = {name: value for part in parts for name, value in part.restored(kept).items()}
    return held(_FIRST) | values | conditions_form.restored(kept)


def config_of(values: Mapping[str, Any]) -> ContrastiveConfig:
    """Make the configuration that the fields describe, by the names of :func:`held`.

    Raises:
        UserError: naming what was needed, what it got and what to do.
    """
    config = ContrastiveConfig(
        data=conditions_form.chosen_in(IMAGES.chosen(values), values),
        methods=tuple(checked_choice("method", METHODS, *chosen) for chosen in _METHODS.chosen(values)),
        augmentation=checked_choice("augmentation", AUGMENTATIONS, *_AUGMENTATION.chosen(values)),
        head_augmentation=checked_choice("augmentation", AUGMENTATIONS, *_HEAD_AUGMENTATION.chosen(values)),
        encoder=checked_choice("encoder", ENCODERS, *_ENCODER.chosen(values)),
        **_SETTINGS.chosen({name: values[name] for name in _SETTINGS.specs}),
        **_START.chosen(values),
    )
    check(config)
    return config


def views(values: Mapping[str, Any]) -> tuple[Tensor, str]:
    """Make two views of some of the chosen images ``[N, 2, C, S, S]``, and a sentence about them.

    Raises:
        UserError: the images cannot be read, or a parameter is wrong.
    """
    config = ContrastiveConfig(
        data=IMAGES.chosen(values),
        augmentation=checked_choice("augmentation", AUGMENTATIONS, *_AUGMENTATION.chosen(values)),
    )
    made = preview(config, PREVIEWED, step=secrets.randbelow(_STEPS))
    title, side = AUGMENTATIONS[config.augmentation.name].title, made.shape[-1]
    return made, f"{title} on {source_title(config.data.source)}, {side} pixels: two views of each image."


def build(context: FormContext) -> KindForm:
    """Build the form."""
    images, described = IMAGES.build(context.note, context.mark)
    methods = _METHODS.build(context.drawn)
    augmentation = _AUGMENTATION.build(context.drawn, f"rs-augmentation{context.mark}")
    views_preview({**images, **augmentation}, views)
    encoder = _ENCODER.build(context.drawn, f"rs-encoder{context.mark}")
    start = _START.build(encoder, context.drawn, context.note, context.runs)
    settings = _SETTINGS.build()
    with fold(_SPECS["head_augmentation"].label):
        head = _HEAD_AUGMENTATION.build(context.drawn, f"rs-head-augmentation{context.mark}")
    conditions = conditions_form.build()
    return KindForm(
        fields={**images, **methods.fields, **augmentation, **encoder, **start, **settings, **head, **conditions},
        config=config_of,
        held=held,
        restored=restored,
        shown=tuple(methods.shown),
        following=_METHODS.following,
        looked=tuple(described),
        look=IMAGES.look_again,
        looks_at=tuple(images),
        arms=tuple(_METHODS.names),
    )


DESCRIPTOR = KindPage(name=KIND.name, form=build)
