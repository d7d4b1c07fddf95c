"""Groups of classes with similar names, by the text tower of an image-text model: a first draft of superclasses."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional

from trainers.data.labelled.report import SHOWN
from trainers.errors import UserError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.encoding import encode_texts
from trainers.image_text.models import MODELS
from trainers.parameters import Choice

TOWER = Choice(name="clip_vit_b32")
"""The model whose text tower is used."""
_PROMPT = "a photo of a {}"


def class_groups(names: Sequence[str], count: int) -> list[str]:
    """Put classes into ``count`` groups by average linkage of the cosine distances of their names' embeddings.

    Returns:
        the group of each class, in order; a group is named after the class nearest to its mean.

    Raises:
        UserError: there are too few or too many classes for so many groups, or the model cannot be had.
    """
    if not 2 <= count < len(names) <= SHOWN:
        raise UserError(
            f"From 2 to {max(2, len(names) - 1):,} groups, of at most {SHOWN:,} classes, were needed; got {count:,} of "
            f"{len(names):,}."
        )
    model = MODELS[TOWER.name].build(TOWER.parameters).eval()
    return grouped(names, count, model)


def grouped(names: Sequence[str], count: int, model: ImageTextModel) -> list[str]:
    """Group classes by a model at hand; see :func:`class_groups`."""
    from scipy.cluster.hierarchy import fcluster, linkage

    texts = [_PROMPT.format(re.sub(r"[\W_]+", " ", name).strip() or name) for name in names]
    unit = functional.normalize(encode_texts(model, texts).double(), dim=1)
    pairs = np.triu_indices(len(names), 1)
    distances = (1 - unit @ unit.T).clamp(min=0).numpy()[pairs]
    labels = fcluster(linkage(distances, "average"), count, "maxclust")
    titles: dict[int, str] = {}
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        of_group = unit[torch.from_numpy(members)]
        titles[label] = names[members[int((of_group @ of_group.mean(0)).argmax())]]
    return [titles[label] for label in labels]
