"""Contrastive pretraining in the sidebar: images, methods, augmentation with views, encoder, budget and the rest."""

from __future__ import annotations

import secrets

from explorer.page.form.fields import Json
from explorer.page.form.kind_page import KindPage
from explorer.page.form.views import drawn_views
from trainers.encoders import ENCODERS
from trainers.kinds.contrastive import DESCRIPTOR as KIND
from trainers.kinds.contrastive.batches import preview
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.methods import METHODS
from trainers.kinds.labelled import source_title
from trainers.training.augmentations import AUGMENTATIONS

PREVIEWED = 6
"""Images of a preview."""
_STEPS = 1_000_000  # a preview is of any one of so many, so that pressing again shows other views


def views(config: ContrastiveConfig) -> Json:
    """Make two views of some of the images, and a sentence about them.

    Raises:
        UserError: the images cannot be read, or a parameter is wrong.
    """
    made = preview(config, PREVIEWED, step=secrets.randbelow(_STEPS))
    title, side = AUGMENTATIONS[config.augmentation.name].title, made.shape[-1]
    said = f"{title} on {source_title(config.data.source)}, {side} pixels: two views of each image."
    return drawn_views(made, said)


DESCRIPTOR = KindPage(
    name=KIND.name,
    entries={"encoder": [name for name, encoder in ENCODERS.items() if not encoder.frozen]},
    unlabelled=f"{', '.join(method.title for method in METHODS.values() if method.labels)} need classes, as do "
    "hard conditions and further metrics; the other methods do without.",
    views=views,
    added=("supcon", "moco_v1", "cross_entropy"),
)
