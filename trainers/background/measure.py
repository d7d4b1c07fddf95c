"""Measures the arms of a run with queries without their object, and keeps what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch

from trainers.background.forms import NEW, PLACEBO, TITLES, WHOLE
from trainers.background.objects import ObjectImages
from trainers.background.queries import Queries, make_queries
from trainers.background.results import ArmBackground, BackgroundResult
from trainers.background.scores import METRICS, Scores, score_forms
from trainers.background.settings import Settings
from trainers.background.sources import OBJECT_SOURCES, ObjectRequest
from trainers.config import DataChoice
from trainers.data import cache, conditions, load_data
from trainers.data.base import Progress, part_of, silent
from trainers.errors import DataError, RunError, UserError
from trainers.kinds import arm_titles
from trainers.kinds.checks import check_source
from trainers.parameters import check_all
from trainers.retrieval.arm_encoder import ArmEncoder, image_config, read_encoder
from trainers.runs import RunFolder

_KIND = "background"  # of the entries of the disk cache
_PARTS = ("nearest", "stays", "similarity", "missed")  # of Scores, beside the metrics
_NOTHING_KNOWN = (
    "{} does not say where the objects are, so none can be removed. Choose the drawn pots, the drawn scenes, COCO or "
    "another dataset with a column of boxes or masks, or brush the object of an image of your own."
)


def measure(
    folder: RunFolder,
    settings: Settings | None = None,
    progress: Progress = silent,
    prepared: tuple[ObjectImages, Queries] | None = None,
) -> BackgroundResult:
    """Measure every arm of a run on the same queries.

    What was measured is kept in the disk cache under the weights and the queries: stopped and begun again, finished
    arms are not measured twice. An arm that cannot be measured says why; the others are.

    Args:
        progress: told what is done and the fraction; it may raise to stop.
        prepared: what :func:`read_queries` gives for the same settings, if it is at hand.

    Raises:
        UserError: the run has no encoder of images, or the dataset cannot be read or knows of no objects.
    """
    settings = settings or Settings()
    first = _encoder(folder, 0)
    objects, queries = prepared or _prepared(folder, settings, first, part_of(progress, 0.0, 0.5))
    titles = arm_titles(folder.config)
    arms = []
    for arm, title in enumerate(titles):
        begin = 0.5 + 0.5 * arm / len(titles)
        tell = part_of(progress, begin, begin + 0.5 / len(titles))
        arms.append(_measured(folder, arm, title, first if arm == 0 else None, objects, queries, tell))
    return BackgroundResult.of(objects, queries, arms, folder.config.seed)


def read_queries(
    folder: RunFolder, settings: Settings | None = None, progress: Progress = silent
) -> tuple[ObjectImages, Queries]:
    """The gallery and the queries of :func:`measure`, for those who show them; from the disk cache once measured.

    Raises:
        UserError: as :func:`measure`.
    """
    return _prepared(folder, settings or Settings(), _encoder(folder, 0), progress)


def _prepared(
    folder: RunFolder, settings: Settings, encoder: ArmEncoder, progress: Progress
) -> tuple[ObjectImages, Queries]:
    check_all(settings, "A measurement")
    objects = _objects(image_config(folder).data, settings, encoder, part_of(progress, 0.0, 0.6))
    tell = part_of(progress, 0.6, 1.0)
    return objects, make_queries(
        objects, fill=settings.fill, queries=settings.queries, seed=settings.seed, progress=tell
    )


def _objects(own: DataChoice, settings: Settings, encoder: ArmEncoder, progress: Progress) -> ObjectImages:
    """The images of the first source that knows their objects."""
    source = (settings.data or "").strip() or own.source
    check_source(source)
    mine = source == own.source
    if mine and own.conditions.folds:
        raise DataError(
            "This run is tested on a fold of its training classes and leaves the test images alone, which the "
            "background is measured on. Name another dataset, or take a run without folds."
        )
    request = ObjectRequest(
        data=conditions.without(own) if mine else DataChoice(source=source, held_out=own.held_out),
        own=mine,
        trained=mine and not own.conditions.withheld_classes,
        channels=encoder.channels,
        side=encoder.side,
        limit=settings.gallery,
        progress=progress,
    )
    reasons = []
    for descriptor in OBJECT_SOURCES.values():
        try:
            objects = descriptor.load(request)
        except DataError as error:
            reasons.append(error)
            continue
        if objects is not None:
            return objects
    if len(reasons) > 1:  # it could be read neither with labels nor with captions
        raise reasons[0]
    title = source.rstrip("/").rsplit("/", 1)[-1]
    raise DataError(_NOTHING_KNOWN.format(title)) from (reasons[0] if reasons else None)


def _encoder(folder: RunFolder, arm: int) -> ArmEncoder:
    def shape() -> tuple[int, int]:
        _, channels, side, _ = load_data(image_config(folder).data).train.images.shape
        return channels, side

    return read_encoder(folder, arm, shape)


def _measured(
    folder: RunFolder,
    arm: int,
    title: str,
    encoder: ArmEncoder | None,
    objects: ObjectImages,
    queries: Queries,
    progress: Progress,
) -> ArmBackground:
    about = partial(ArmBackground, run=folder.id, arm=arm, title=title)
    try:
        encoder = encoder or _encoder(folder, arm)
        key = cache.content_key((_KIND, encoder.digest, encoder.device.type, objects.key, queries.key))
        scores = _kept(key, queries)
        if scores is None:
            scores = _scored(encoder, objects, queries, progress)
            cache.write(_KIND, key, _tensors(scores))
        return about(step=encoder.step, scores=scores)
    except (RunError, UserError) as error:
        return about(scores={}, error=str(error))


def _scored(encoder: ArmEncoder, objects: ObjectImages, queries: Queries, progress: Progress) -> dict[str, Scores]:
    tied = queries.tied
    share = 1.0 if tied is None else len(objects) / (len(objects) + len(tied.gallery))
    scores = _searched(
        encoder, objects.images, objects.labels, queries.places, queries.forms, part_of(progress, 0.0, share)
    )
    scores[PLACEBO] = scores[PLACEBO].only(queries.placebo)
    if tied is not None:
        tell = part_of(progress, share, 1.0)
        scores |= _searched(encoder, tied.gallery, tied.labels, tied.places, tied.forms, tell, NEW)
    return {form: scores[form] for form in TITLES if form in scores}


def _searched(
    encoder: ArmEncoder,
    images: torch.Tensor,
    labels: np.ndarray,
    places: np.ndarray,
    queries: Mapping[str, torch.Tensor],
    progress: Progress,
    whole: str = WHOLE,
) -> dict[str, Scores]:
    gallery = encoder.embed(images, part_of(progress, 0.0, 0.6))
    forms = {}
    for number, (form, own) in enumerate(queries.items()):
        begin = 0.6 + 0.3 * number / len(queries)
        forms[form] = encoder.embed(own, part_of(progress, begin, begin + 0.3 / len(queries)))
    progress("scoring the queries", 0.9)
    return score_forms(forms, gallery, labels, places, whole)


def _tensors(scores: dict[str, Scores]) -> dict[str, torch.Tensor]:
    tensors = {}
    for form, one in scores.items():
        named = {f"{form}_{name}": values for name, values in one.metrics.items()}
        named |= {f"{form}_{part}": getattr(one, part) for part in _PARTS}
        tensors |= {name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in named.items()}
    return tensors


def _kept(key: str, queries: Queries) -> dict[str, Scores] | None:
    """What was measured before; None: nothing, or of other queries."""
    stored = cache.read(_KIND, key)
    if stored is None:
        return None
    values: dict[str, np.ndarray] = {name: tensor.numpy() for name, tensor in stored.tensors.items()}
    try:
        scores = {
            form: Scores(
                metrics={name: values[f"{form}_{name}"] for name in METRICS},
                **{part: values[f"{form}_{part}"] for part in _PARTS},
            )
            for form in TITLES
            if form in queries.asked
        }
    except KeyError:
        return None
    return scores if all(len(one.stays) == queries.asked[form] for form, one in scores.items()) else None
