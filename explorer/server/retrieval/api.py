"""The public endpoint that searches images in runs."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import gradio as gr

from explorer.server.http import RequestError
from explorer.server.plain import typed
from explorer.server.retrieval.bodies import Search
from explorer.server.retrieval.service import RetrievalService
from explorer.server.retrieval.uploads import LARGEST
from explorer.server.visitors import caller

_LONGEST = 600.0
"""Seconds that a call waits."""


def add_retrieval_api(service: RetrievalService) -> None:
    """Add the endpoint to the page that is being built."""

    def retrieve_images(
        runs: list[str],
        row: int | None = None,
        image: str = "",
        gallery: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """The images that every arm of up to four runs finds for a query, with severities and scores.

        Args:
            runs: ids of runs; the gallery is the first one's.
            row: the query, an image of the gallery by its number from 0.
            image: or an image file in base64.
            gallery: its name: probe (the images on the maps, if left out), test, train or dataset; of the latter also
                source, part, held_out and max_images.
            settings: k, results of each arm; index, by name; rerank, a re-ranking by name; step, of the probe the
                embeddings stored at or before it.
        """
        query = {"upload": service.uploads.add(_decoded(image)).ref} if image else {"row": row}
        search = Search.of({**(settings or {}), "runs": runs, "query": query, "gallery": gallery})
        reply = service.searches.search(search, caller(request))
        if "answer" in reply:
            return reply["answer"]
        job = service.searches.jobs.get(reply["job"])
        if not job.done.wait(_LONGEST):
            service.searches.jobs.stop(job)
            raise RequestError(f"The search is not done after {_LONGEST:.0f} s. Choose a smaller gallery.")
        return job.wait()

    gr.api(typed(retrieve_images), api_name=retrieve_images.__name__)


def _decoded(image: str) -> bytes:
    text = image.partition(",")[2] if image.startswith("data:") else image
    if len(text) > LARGEST * 4 // 3:
        raise RequestError(f"An image file may have at most {LARGEST // 2**20} MB; this one is larger.")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError("An image file in base64 is needed.") from error
