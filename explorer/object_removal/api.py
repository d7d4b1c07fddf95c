"""The public endpoints of the tab: the same questions as the page's, with plain data in and out."""

from __future__ import annotations

import base64
import binascii
import time
from typing import Any

import gradio as gr

from explorer.object_removal.datasets import DRAWN
from explorer.object_removal.fields import Fields
from explorer.object_removal.first import CHOSEN
from explorer.object_removal.images import UPLOAD
from explorer.object_removal.service import Objects
from explorer.server.http import RequestError
from explorer.server.plain import typed
from explorer.server.visitors import caller

_LONGEST = 600.0
"""Seconds that a program waits for sentences to be read, or for a score."""
_AT_ONCE = 2


def add_object_api(objects: Objects) -> None:
    """Add ``remove_object`` and ``score_objects`` to the page that is being built."""

    def remove_object(
        photo: str = "0",
        object_class: str = "",
        box: list[float] | None = None,
        fill: str = "telea",
        models: list[str] | None = None,
        k: int = 5,
        photos: str = DRAWN,
    ) -> dict[str, Any]:
        """Take an object out of a photo, and see which sentences each model finds before and after.

        Args:
            photo: the number of a photo of the set, a reference as the page has it, or an image file in base64.
            object_class: one of the photo's classes; with a box any name. Empty: the first that may be removed.
            box: x0, y0, x1, y1 as fractions of the photo, for an object that is not marked.
            fill: a fill by name, or rerender for the drawn scenes.
            models: one or two image-text models by name; the small one and its mended twin if left out.
            k: sentences per list.
            photos: the set whose photos are numbered, and whose sentences answer an image file.
        """
        ref = _reference(objects, photo, photos)
        chosen = models or _ready(objects)
        remove = _remove(objects, ref, object_class, box)
        asked = {"photo": ref, "remove": remove, "fill": fill, "models": chosen, "k": k, "set": photos}
        question = objects.answers.read(Fields(asked))
        return objects.answers.answer(question, patience=_LONGEST, hurry=_LONGEST)

    def score_objects(
        models: list[str] | None = None,
        photos: str = DRAWN,
        fill: str = "telea",
        queries: int = 200,
        every: bool = False,
        seed: int = 0,
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """ODmAP@k and recall of up to three models over a set; returns when they are done.

        Args:
            models: image-text models by name; the small one and its mended twin if left out.
            photos: drawn_scenes, or a set that is open on the page, by name.
            fill: a fill by name, or rerender for the drawn scenes.
            queries: at most so many removals.
            every: each allowed class of a photo in turn instead of one.
            seed: of the choice of photos and classes.
        """
        chosen = models or _ready(objects)
        asked = {"set": photos, "models": chosen, "fill": fill, "queries": queries, "every": every, "seed": seed}
        job = objects.jobs.add(objects.scorer.read(Fields(asked)), caller(request))
        end = time.monotonic() + _LONGEST
        while job.phase in ("waiting", "running") and time.monotonic() < end:
            time.sleep(0.1)
        if job.phase != "done":
            objects.jobs.stop(job.id)
            raise RequestError(job.error or f"The score is not done after {_LONGEST:.0f} s. Ask for fewer queries.")
        return job.result or {}

    for function in (remove_object, score_objects):
        gr.api(typed(function), api_name=function.__name__, concurrency_limit=_AT_ONCE)


def _ready(objects: Objects) -> list[str]:
    """The models that are asked if none is named."""
    return [name for name in CHOSEN if objects.models.known(name).missing is None]


def _reference(objects: Objects, photo: str, group: str) -> str:
    """Reference of the photo that is meant; an image file becomes an upload."""
    text = str(photo).strip()
    if text.isascii() and text.isdigit() and len(text) < 8:
        return f"{group}.{int(text)}"
    if len(text) <= 200 and "." in text:
        return text
    data = text.partition(",")[2] if text.startswith("data:") else text
    if len(data) > UPLOAD * 4 // 3:
        raise RequestError(f"An image file of at most {UPLOAD // 2**20} MB was needed; a larger one came.")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError("A photo's number, its reference or an image file in base64 was needed.") from error
    return objects.photos.add(content).ref


def _remove(objects: Objects, ref: str, name: str, box: list[float] | None) -> dict[str, Any]:
    if box is not None:
        return {"class": name, "boxes": [box]}
    if name:
        return {"classes": [name]}
    allowed = objects.photos.allowed(ref)
    if not allowed:
        raise RequestError("No object of this photo may be removed by the overlap rules. Name one, or give a box.")
    return {"classes": [allowed[0]]}
