"""Zero-shot classification of a box: its crop against prompts for every class (Radford et al. 2021, 3.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from trainers.data.picture import check_image
from trainers.errors import UserError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.object_removal.captions import prompt_templates
from trainers.object_removal.regions import Box, clean_boxes

SMALLEST = 4  # pixels of a side
_SCALE = 20.0  # for models without a learnt temperature, such as VSE++


def class_embeddings(model: ImageTextModel, classes: Sequence[str]) -> Tensor:
    """Compute one unit embedding per class: the normalised mean over the 80 prompt templates.

    This encodes 80 texts per class; keep the result while model and classes stay the same.

    Args:
        model: of images and texts.
        classes: C names, such as ``potted plant``.

    Returns:
        float32 ``[C, D]`` on the CPU.

    Raises:
        UserError: no class, or an empty name.
    """
    if not classes or not all(name.strip() for name in classes):
        raise UserError(f"Zero-shot classification needs classes with names; got {list(classes)[:5]}.")
    templates = prompt_templates()
    prompts = [template.replace("{}", name.strip()) for name in classes for template in templates]
    embeddings = encode_texts(model, prompts).reshape(len(classes), len(templates), -1)
    return F.normalize(embeddings.mean(1), dim=1)


def name_box(
    model: ImageTextModel, pixels: np.ndarray, box: Box, classes: Sequence[str], embeddings: Tensor, *, top: int = 5
) -> list[tuple[str, float]]:
    """Return the likeliest classes of the content of a box.

    Args:
        model: the one that made the embeddings.
        pixels: the whole image, uint8 ``[H, W, 3]``.
        box: x0, y0, x1, y1 in pixels; corners in any order, cut to the image.
        classes: C names.
        embeddings: of :func:`class_embeddings` for the same classes, ``[C, D]``.
        top: how many to return; at most all.

    Returns:
        Class and probability among the classes, likeliest first. The probabilities of all classes sum to one: they
        say which class fits best, not whether any does.

    Raises:
        UserError: the box lies outside or is too small, or the embeddings are of other classes.
    """
    if len(embeddings) != len(classes) or top < 1:
        raise UserError(
            "Zero-shot classification needs one embedding per class and a top of at least 1; "
            f"got {len(embeddings)} embeddings, {len(classes)} classes and top {top}."
        )
    crop = encode_images(model, squash(_crop(pixels, box), model.side)[None])
    probabilities = (_scale(model) * (crop @ embeddings.T)[0]).softmax(0)
    values, indices = probabilities.topk(min(top, len(classes)))
    return [(classes[index], value) for index, value in zip(indices.tolist(), values.tolist(), strict=True)]


def _crop(pixels: np.ndarray, box: Box) -> np.ndarray:
    check_image(pixels)
    height, width = pixels.shape[:2]
    clean = clean_boxes([box], width, height)
    if not clean.boxes:
        raise UserError(f"The box lies outside the image of {width} x {height} pixels. Draw it inside.")
    x0, y0, x1, y1 = clean.boxes[0]
    if min(x1 - x0, y1 - y0) < SMALLEST:
        raise UserError(
            f"The box is {x1 - x0:.0f} x {y1 - y0:.0f} pixels; a side needs at least {SMALLEST}. Draw a larger one."
        )
    return np.ascontiguousarray(pixels[math.floor(y0) : math.ceil(y1), math.floor(x0) : math.ceil(x1)])


@torch.no_grad()
def _scale(model: ImageTextModel) -> float:
    """Return the factor of the model's cosines before its softmax."""
    learnt = dict(model.named_parameters())
    value = learnt.get("scale", learnt.get("net.logit_scale"))
    return _SCALE if value is None else float(value.exp())
