"""One image of a visitor's own with a brushed object: its neighbours before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.background.forms import ALONE, WHOLE, WITHOUT, filled, mean_colour
from trainers.background.objects import square_mask
from trainers.background.queries import TELEA
from trainers.background.scores import NEAREST, nearest
from trainers.data.base import Progress, part_of, silent
from trainers.errors import DataError, UserError
from trainers.kinds import kind_of
from trainers.object_removal.fills import FILLS
from trainers.parameters import entry
from trainers.retrieval.arm_encoder import read_encoder
from trainers.retrieval.galleries import Gallery
from trainers.retrieval.query_image import decode_query
from trainers.retrieval.vectors import gallery_vectors
from trainers.runs import RunFolder


@dataclass(frozen=True, kw_only=True)
class OwnArm:
    """One arm.

    Attributes:
        nearest: int64 ``[K]`` by form of the image, places in the gallery, nearest first.
        similarity: float ``[K]`` by form, cosines of these.
        stays: share of the neighbours of the whole image that stay when the object goes.
        error: why there are none.
    """

    arm: int
    title: str
    nearest: dict[str, np.ndarray]
    similarity: dict[str, np.ndarray]
    stays: float = float("nan")
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class OwnImage:
    """An image as the encoder sees it, and its neighbours.

    Attributes:
        forms: uint8 ``[C, S, S]`` each: whole, without the object, and the object alone.
        arms: in order.
    """

    forms: dict[str, Tensor]
    arms: tuple[OwnArm, ...]


def compare_own(
    folder: RunFolder,
    gallery: Gallery,
    image: bytes,
    mask: np.ndarray,
    *,
    fill: str = TELEA,
    count: int = NEAREST,
    progress: Progress = silent,
) -> OwnImage:
    """Neighbours of one image before and after its object was removed, in every arm of a run.

    Args:
        gallery: what is searched; the image is not in it.
        image: the content of an image file.
        mask: bool ``[H, W]``, pixels of the object in the upright image, whatever the size of the two.
        fill: one of :data:`trainers.object_removal.fills.FILLS` that needs no scene.
        count: neighbours.
        progress: told what is done; it may raise to stop.

    Raises:
        UserError: this is no image, nothing is brushed in its centre square, or the fill cannot be used.
    """
    descriptor = entry(FILLS, fill, "fill")
    reason = descriptor.unfit(None) or descriptor.lacking()
    if reason is not None:
        raise DataError(reason)
    config = folder.config
    titles = [arm.title for arm in kind_of(config).arms(config)]
    forms: dict[str, Tensor] = {}
    arms = []
    for arm, title in enumerate(titles):
        tell = part_of(progress, arm / len(titles), (arm + 1) / len(titles))
        encoder = read_encoder(folder, arm, lambda: tuple(gallery.images()[0].shape[1:3]))  # type: ignore[arg-type,return-value]
        if not forms:
            covered = square_mask(mask, encoder.side)
            if not covered.any():
                raise DataError("Nothing is brushed in the centre square, all that an encoder sees of an image.")
            whole = decode_query(image, channels=encoder.channels, side=encoder.side)[0]
            colour = mean_colour(gallery.images(encoder.channels, encoder.side)[0])
            alone = torch.where(torch.from_numpy(covered), whole, colour[:, None, None])
            forms = {WHOLE: whole, WITHOUT: filled(whole, covered, descriptor), ALONE: alone}
        try:
            rows = torch.from_numpy(np.asarray(gallery_vectors(encoder, gallery, tell).rows, np.float32))
            vectors = encoder.embed(torch.stack(list(forms.values())))
        except UserError as error:
            arms.append(OwnArm(arm=arm, title=title, nearest={}, similarity={}, error=str(error)))
            continue
        near = nearest(vectors, rows, np.full(len(vectors), -1), count)
        cosines = [torch.mv(rows[found], vector).numpy() for found, vector in zip(near, vectors, strict=True)]
        arms.append(
            OwnArm(
                arm=arm,
                title=title,
                nearest=dict(zip(forms, near, strict=True)),
                similarity=dict(zip(forms, cosines, strict=True)),
                stays=len(np.intersect1d(near[0], near[1])) / near.shape[1],
            )
        )
    return OwnImage(forms=forms, arms=tuple(arms))
