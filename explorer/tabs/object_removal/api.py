"""The public endpoints of the tab: the same queries as the page's, with plain data in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from explorer.server.http import RequestError
from explorer.server.jobs import LONGEST
from explorer.server.posted import file_in_base64
from explorer.server.visitors import caller
from explorer.tabs.object_removal import offers
from explorer.tabs.object_removal.bodies import FILL, Query, Score
from explorer.tabs.object_removal.datasets import DRAWN
from explorer.tabs.object_removal.first import CHOSEN
from explorer.tabs.object_removal.images import UPLOAD, judged
from explorer.tabs.object_removal.score import ScoreJob
from explorer.tabs.object_removal.service import Objects


def object_functions(objects: Objects) -> list[Callable[..., Any]]:
    """Return ``remove_object`` and ``score_objects``."""
    return [_remove_object(objects), _score_objects(objects)]


def _remove_object(objects: Objects) -> Any:
    def remove_object(
        image: str = "0",
        object_class: str = "",
        box: list[float] | None = None,
        fill: str = "",
        models: list[str] | None = None,
        k: int = 5,
        dataset: str = DRAWN,
        captions: list[str] | None = None,
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """Remove an object from an image, and see which captions each model retrieves before and after.

        Args:
            image: the number of an image of the dataset, a reference as the page has it, or an image file in base64.
            object_class: one of the image's classes; with a box any name. Empty: the first that may be removed.
            box: x0, y0, x1, y1 as fractions of the image, for an object that is not marked.
            fill: a fill by name; rerender is for the drawn scenes alone. Empty: the one that the page would choose.
            models: one or two image-text models by name; the small one and its fine-tuned twin if left out.
            k: captions per list.
            dataset: the dataset whose images are numbered, and whose captions answer an image file.
            captions: captions of your own that answer in place of the dataset's, some with the object, some without.
        """
        ref = _reference(objects, image, dataset, caller(request).address)
        fill = fill or offers.fill_for(objects.images.get(ref), FILL)
        asked = {"image": ref, "fill": fill, "models": models or _ready(objects), "k": k, "dataset": dataset}
        asked["captions"] = captions or None
        query = Query.of({**asked, "remove": _remove(objects, ref, object_class, box)})
        return objects.answers.answer(query, wait=LONGEST)

    return remove_object


def _score_objects(objects: Objects) -> Any:
    def score_objects(
        models: list[str] | None = None,
        dataset: str = DRAWN,
        fill: str = "telea",
        queries: int = 200,
        every: bool = False,
        seed: int = 0,
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """Compute ODmAP@k and recall of up to three models on a dataset; returns when they are done.

        Args:
            models: image-text models by name; the small one and its fine-tuned twin if left out.
            dataset: drawn_scenes, or a dataset that is open on the page, by name.
            fill: a fill by name; rerender is for the drawn scenes alone.
            queries: removals at most.
            every: each allowed class of an image in turn instead of one.
            seed: of the choice of images and classes.
        """
        asked = {"dataset": dataset, "models": models or _ready(objects), "fill": fill, "queries": queries}
        score = objects.scorer.check(Score.of({**asked, "every": every, "seed": seed}))
        job = objects.scores.add(ScoreJob(asked=score, caller=caller(request)))
        return objects.scores.waited(job, "fewer queries")

    return score_objects


def _ready(objects: Objects) -> list[str]:
    """Return the models that are asked if none is named."""
    return [name for name in CHOSEN if objects.models.known(name).missing is None]


def _reference(objects: Objects, image: str, dataset: str, visitor: str) -> str:
    """Return the reference of the image that is meant; an image file becomes an upload."""
    text = str(image).strip()
    if text.isascii() and text.isdigit() and len(text) < 8:
        return f"{dataset}.{int(text)}"
    if len(text) <= 200 and "." in text:
        return text
    content = file_in_base64(text, UPLOAD, "An image's number, its reference or an image file in base64")
    return objects.images.add(content, visitor=visitor).ref


def _remove(objects: Objects, ref: str, name: str, box: list[float] | None) -> dict[str, Any]:
    if box is not None:
        return {"class": name, "boxes": [box]}
    if name:
        return {"classes": [name]}
    for judgement in judged(objects.images.get(ref)):
        if judgement["allowed"]:
            return {"classes": [judgement["class"]]}
    raise RequestError("No object of this image may be removed by the overlap rules. Name one, or give a box.")
