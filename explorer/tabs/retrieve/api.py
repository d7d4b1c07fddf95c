"""The public endpoints of retrieval: search, mistakes, and what an encoder looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from explorer.server.posted import file_in_base64
from explorer.server.visitors import Caller, caller
from explorer.tabs.retrieve.bodies import Look, Measure, Search
from explorer.tabs.retrieve.mistake_bodies import Mistakes
from explorer.tabs.retrieve.service import RetrievalService
from explorer.tabs.retrieve.uploads import LARGEST


def retrieval_functions(service: RetrievalService) -> list[Callable[..., Any]]:
    """Return the functions that programs and assistants call."""
    return [_retrieve_images(service), _look_at_query(service), _list_mistakes(service), _measure_background(service)]


def _retrieve_images(service: RetrievalService) -> Callable[..., Any]:
    def retrieve_images(
        runs: list[str],
        row: int | None = None,
        image: str = "",
        remove: dict[str, Any] | None = None,
        gallery: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """Find the images of a gallery nearest to a query, for every arm of up to four runs, with severities and
        scores.

        Args:
            runs: ids of runs; the gallery is the first one's.
            row: the query, an image of the gallery by its number from 0.
            image: or an image file in base64.
            remove: also search without this: classes, known ones, or boxes of fractions x0, y0, x1, y1; and fill, by
                name.
            gallery: its name, such as test or train, and beside it its parameters, as of dataset source, part, held_out
                and max_images; probe, the images on the maps, if left out.
            settings: k, results of each arm; index, by name; rerank, a re-ranking by name; step, of the probe the
                embeddings stored at or before it.
        """
        sender = caller(request)
        query = _query(service, row, image, sender)
        if remove is not None:
            query |= {"remove": remove, "fill": remove.get("fill")}
        search = Search.of({**(settings or {}), "runs": runs, "query": query, "gallery": gallery})
        return service.searches.jobs.answer(service.searches.search(search, sender), "a smaller gallery")

    return retrieve_images


def _query(service: RetrievalService, row: int | None, image: str, sender: Caller) -> dict[str, Any]:
    """Return the query that a row or an image file is."""
    query: dict[str, Any] = {"row": row}
    if image:
        content = file_in_base64(image, LARGEST, "An image file in base64")
        query["upload"] = service.uploads.add(content, sender.address).ref
    return query


def _look_at_query(service: RetrievalService) -> Callable[..., Any]:
    def look_at_query(
        runs: list[str],
        row: int | None = None,
        image: str = "",
        result: int | None = None,
        grid: int = 10,
        gallery: dict[str, Any] | None = None,
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """Cover a query patch by patch and tell how much its similarity falls, for every arm of up to four runs.

        Args:
            runs: ids of runs that keep weights; the gallery is the first one's.
            row: the query, an image of the gallery by its number from 0.
            image: or an image file in base64.
            result: row of the gallery's image that the similarity is to; the mean of the query's class if left out.
            grid: patches on each side.
            gallery: as of retrieve_images.
        """
        sender = caller(request)
        query = _query(service, row, image, sender)
        asked = Look.of({"runs": runs, "query": query, "result": result, "grid": grid, "gallery": gallery})
        answer = service.searches.jobs.answer(service.searches.look(asked, sender), "fewer patches")
        arms = [{name: value for name, value in arm.items() if name != "picture"} for arm in answer["arms"]]
        return {**answer, "arms": arms}

    return look_at_query


def _list_mistakes(service: RetrievalService) -> Callable[..., Any]:
    def list_mistakes(run: str, k: int = 10, step: int | None = None) -> dict[str, Any]:
        """List the results of every arm by severity, first and first k, and the confusions that cost most.

        Args:
            run: id of a run.
            k: results of each query among the images on the maps.
            step: the newest map at or before it; the newest of all if left out.
        """
        return service.mistakes.severity(Mistakes.of({"run": run, "k": k, "step": step}))

    return list_mistakes


def _measure_background(service: RetrievalService) -> Callable[..., Any]:
    def measure_background(
        run: str, data: str = "", fill: str = "", queries: int = 200, request: gr.Request | None = None
    ) -> dict[str, Any]:
        """Measure what every arm of a run finds by each form of the queries, beside controls; intervals are over
        queries only.

        Args:
            run: id of a run.
            data: a dataset that knows its objects; the run's own test set if left out.
            fill: what takes the object's place, by name; what suits the images if left out.
            queries: most queries.
        """
        asked = Measure.of({"run": run, "data": data, "fill": fill, "queries": queries})
        backgrounds = service.backgrounds
        return backgrounds.jobs.answer(backgrounds.measure(asked, caller(request)), "fewer queries")

    return measure_background
