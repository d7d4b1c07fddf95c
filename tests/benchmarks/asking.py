"""Every image of a dataset through the page's own query: an object by its boxes, and the same by brush; with timings.

python -m tests.benchmarks.asking path/or/hub-id --model tiny_clip
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from explorer.object_removal.bodies import Query
from explorer.object_removal.images import about
from explorer.object_removal.service import Objects
from explorer.server.library import Library
from explorer.settings import Settings
from trainers.data.captioned.images import CaptionedDataset
from trainers.data.captioned.loader import load_captioned
from trainers.errors import UserError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--model", default="tiny_clip")
    parser.add_argument("--fill", default="telea")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as runs:
        objects = Objects(Settings(runs=Path(runs)), Library(Path(runs), Path(runs)), load=_in_one)
        group = objects.datasets.open(given.source)
        whole = objects.images.listing(group.name, 0, 10**6)
        while len(whole["images"]) < whole["total"]:
            whole["images"] += objects.images.listing(group.name, len(whole["images"]), 10**6)["images"]
        print(f"{whole['total']} images of {group.data.title}")
        taken: dict[str, list[float]] = {"boxes": [], "brush": [], "box by hand": []}
        refused: dict[str, int] = {}
        first: set[str] = set()
        for image in whole["images"]:
            for kind, remove in _wanted(objects, image["ref"]).items():
                start = time.perf_counter()
                try:
                    reply = _ask(objects, given, image["ref"], remove)
                except UserError as error:
                    refused[str(error)] = refused.get(str(error), 0) + 1
                    continue
                taken[kind].append(time.perf_counter() - start)
                first.update(note for model in reply["models"] for note in model["notes"])
    for kind, seconds in taken.items():
        each = 1e3 * np.array(seconds)
        if len(each):
            late = np.quantile(each, 0.95)
            print(f"{kind:<12} {len(each)} answers, median {np.median(each):.0f} ms, 95 % {late:.0f} ms")
    for sentence, count in refused.items():
        print(f"refused {count} times: {sentence}")
    print(*sorted(first), sep="\n")


def _in_one(source: str, **options: Any) -> CaptionedDataset:
    """All splits as one: the page shows the test split, and here every image counts."""
    found = load_captioned(source, **options)
    return dataclasses.replace(found, splits={"test": tuple(s for part in found.splits.values() for s in part)})


def _wanted(objects: Objects, ref: str) -> dict[str, dict[str, Any]]:
    """The first object of an image by its boxes, by brush and by a box drawn by hand; the middle where it has none."""
    found = about(objects.images.get(ref))["objects"]
    name, box = ("something", [0.4, 0.4, 0.6, 0.6]) if not found else (found[0]["class"], found[0]["boxes"][0])
    x0, y0, x1, y1 = box
    middle = (y0 + y1) / 2
    stroke = {"radius": max(0.01, (y1 - y0) / 4), "points": [[x0, middle], [(x0 + x1) / 2, middle], [x1, middle]]}
    wanted = {"brush": {"class": name, "strokes": [stroke]}, "box by hand": {"class": name, "boxes": [box]}}
    return ({"boxes": {"classes": [name]}} if found else {}) | wanted


def _ask(objects: Objects, given: argparse.Namespace, ref: str, remove: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps({"image": ref, "remove": remove, "fill": given.fill, "models": [given.model], "k": 5}).encode()
    return objects.answers.answer(Query.parse(body), wait=600.0)


if __name__ == "__main__":
    main()
