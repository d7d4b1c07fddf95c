"""Measures the arms of a run with queries without their object, and keeps what was measured."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from trainers.config import DataChoice, SceneChoice
from trainers.data import cache, conditions
from trainers.data.source_check import check_source
from trainers.errors import DataError, RunError, UserError
from trainers.object_removal.reliance.objects import ObjectImages, ObjectRequest
from trainers.object_removal.reliance.queries import PLACEBO, Queries, make_queries
from trainers.object_removal.reliance.results import METRICS, ArmBackground, BackgroundResult, FormScores, score_forms
from trainers.object_removal.reliance.settings import Settings
from trainers.object_removal.reliance.sources import load_objects
from trainers.parameters import check_all
from trainers.progress import Progress, part_of, silent
from trainers.training.embedding import Encoders, ImageEncoder

_KIND = "background"  # of the entries of the disk cache
_PARTS = ("stays", "missed")  # of Scores, beside the metrics


def measure(
    encoders: Encoders,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> BackgroundResult:
    """Measure every encoder, such as the arms of a run, on the same queries.

    What was measured is kept in the disk cache under the weights and the queries: stopped and begun again, finished
    arms are not measured twice. An arm that cannot be measured says why; the others are.

    Args:
        progress: told what is done and the fraction; it may raise to stop.

    Raises:
        UserError: the first encoder cannot be loaded, or the dataset cannot be read or knows of no objects.
    """
    settings = settings or Settings()
    first = encoders.read(0)
    objects, queries = read_queries(encoders.data, settings, first, part_of(progress, 0.0, 0.5))
    arms, count = [], len(encoders.titles)
    for arm in range(count):
        tell = part_of(progress, 0.5 + 0.5 * arm / count, 0.5 + 0.5 * (arm + 1) / count)
        arms.append(_measured(encoders, arm, first if arm == 0 else None, objects, queries, tell))
    return BackgroundResult.of(objects, queries, arms)


def read_queries(
    trained_on: DataChoice | SceneChoice | None, settings: Settings, encoder: ImageEncoder, progress: Progress = silent
) -> tuple[ObjectImages, Queries]:
    """Read the gallery and the queries that an encoder is measured on; the queries from the disk cache once made.

    Raises:
        UserError: as :func:`measure`.
    """
    check_all(settings, "A measurement")
    objects = _objects(trained_on, settings, encoder, part_of(progress, 0.0, 0.6))
    tell = part_of(progress, 0.6, 1.0)
    return objects, make_queries(
        objects, fill=settings.fill, queries=settings.queries, seed=settings.seed, progress=tell
    )


def _objects(
    trained_on: DataChoice | SceneChoice | None, settings: Settings, encoder: ImageEncoder, progress: Progress
) -> ObjectImages:
    """Return the images of the first source that knows their objects."""
    source = (settings.data or "").strip() or (trained_on.source if trained_on else "")
    if not source:
        raise DataError("It is not known which images this encoder was trained on. Name a dataset (--data).")
    check_source(source)
    data = trained_on
    if trained_on is None or source != trained_on.source:
        data = DataChoice(
            source=source, held_out=trained_on.held_out if isinstance(trained_on, DataChoice) else "classes"
        )
    elif isinstance(trained_on, DataChoice):
        if trained_on.conditions.folds:
            raise DataError(
                "This run is tested on a fold of its training classes and leaves the test images alone, which the "
                "background is measured on. Name another dataset, or take a run without folds."
            )
        data = conditions.without(trained_on)
    assert data is not None
    request = ObjectRequest(
        data=data,
        test_set=trained_on is not None and source == trained_on.source,
        channels=encoder.channels,
        side=encoder.side,
        limit=settings.gallery,
        progress=progress,
    )
    return load_objects(request)


def _measured(
    encoders: Encoders,
    arm: int,
    encoder: ImageEncoder | None,
    objects: ObjectImages,
    queries: Queries,
    progress: Progress,
) -> ArmBackground:
    about = partial(ArmBackground, run=encoders.id, arm=arm, title=encoders.titles[arm])
    try:
        encoder = encoder or encoders.read(arm)
        key = cache.content_key((_KIND, encoder.digest, encoder.device.type, objects.key, queries.key))
        scores = _kept(key, queries)
        if scores is None:
            scores = _scored(encoder, objects, queries, progress)
            cache.write(_KIND, key, _tensors(scores))
        return about(step=encoder.step, scores=scores)
    except (RunError, UserError) as error:
        return about(scores={}, error=str(error))


def _scored(
    encoder: ImageEncoder, objects: ObjectImages, queries: Queries, progress: Progress
) -> dict[str, FormScores]:
    gallery = encoder.embed(objects.images, part_of(progress, 0.0, 0.6))
    forms, share = {}, 0.3 / len(queries.forms)
    for number, (form, images) in enumerate(queries.forms.items()):
        begin = 0.6 + number * share
        forms[form] = encoder.embed(images, part_of(progress, begin, begin + share))
    progress("scoring the queries", 0.9)
    scores = score_forms(forms, gallery, objects.labels, queries.indices)
    scores[PLACEBO] = scores[PLACEBO].only(queries.placebo)
    return scores


def _tensors(scores: dict[str, FormScores]) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = {}
    for form, form_scores in scores.items():
        named = {f"{form}_{name}": values for name, values in form_scores.metrics.items()}
        named |= {f"{form}_{part}": getattr(form_scores, part) for part in _PARTS}
        tensors |= {name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in named.items()}
    return tensors


def _kept(key: str, queries: Queries) -> dict[str, FormScores] | None:
    """Read what was measured before; None: nothing, or of other queries."""
    stored = cache.read(_KIND, key)
    if stored is None:
        return None
    values: dict[str, np.ndarray] = {name: tensor.numpy() for name, tensor in stored.tensors.items()}
    try:
        scores = {
            form: FormScores(
                metrics={name: values[f"{form}_{name}"] for name in METRICS},
                **{part: values[f"{form}_{part}"] for part in _PARTS},
            )
            for form in queries.forms
        }
    except KeyError:
        return None
    return scores if all(len(form_scores.stays) == len(queries) for form_scores in scores.values()) else None
