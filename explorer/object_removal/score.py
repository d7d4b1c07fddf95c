"""ODmAP@k and recall of models over a set of photos."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.object_removal.caption_index import Index
from explorer.object_removal.datasets import PhotoSet, Sets
from explorer.object_removal.fields import Fields
from explorer.object_removal.gallery import Galleries
from explorer.object_removal.jobs import Job
from explorer.object_removal.models import LOADED, PHOTOS, PIECE, STRANGER, Known, Loaded, Models
from explorer.object_removal.removal import RERENDER, RERENDER_TITLE, fill_named
from explorer.object_removal.sheet import COLUMNS, KS, Order, Sheet, make_sheet
from explorer.server.http import GoneError
from trainers.errors import DataError
from trainers.metrics.bootstrap import bootstrap
from trainers.metrics.counterfactual import Counterfactual, before_removal, counterfactual
from trainers.metrics.image_text import recall_both_ways
from trainers.object_removal.benchmark_measures import measures_json
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import Tally

MOST_QUERIES = 2000
PUBLIC_QUERIES = 500
_PAINTING = 0.3  # share of the work before any model is asked


class Scorer:
    """Checks orders and does them."""

    def __init__(self, sets: Sets, galleries: Galleries, models: Models, index: Index, *, public: bool = False) -> None:
        self._sets = sets
        self._galleries = galleries
        self._models = models
        self._index = index
        self._most = PUBLIC_QUERIES if public else MOST_QUERIES

    def read(self, fields: Fields) -> Order:
        """An order from the values of a request.

        Raises:
            UserError: something is wrong with it, in a sentence.
        """
        group = self._sets.get(fields.text("set"))
        fill = fields.text("fill", "telea")
        if fill == RERENDER and not group.drawn:
            raise DataError("Only the drawn scenes can be drawn again without an object. Choose another fill.")
        if fill != RERENDER and (missing := fill_named(fill).lacking()) is not None:
            raise DataError(missing)
        models = tuple(dict.fromkeys(fields.texts("models", LOADED)))
        for name in models:
            lacking = self._models.known(name).missing
            if lacking is not None:
                raise DataError(lacking)
        return Order(
            group=group.name,
            models=models,
            fill=fill,
            queries=min(fields.whole("queries", 200, 1, 10**6), self._most),
            every=fields.flag("every", False),
            seed=fields.whole("seed", 0, 0, 2**31 - 1),
        )

    def score(self, job: Job) -> dict[str, Any]:
        """Do an order.

        Raises:
            UserError: it cannot be done, in a sentence.
            StoppedError: somebody stopped it.
        """
        order: Order = job.order
        group = self._sets.get(order.group)
        job.tell("gathering sentences", 0.0)
        gallery = self._galleries.get(order.group)
        sides = []
        for name in order.models:
            job.tell(f"loading {self._models.known(name).title}", 0.0)
            sides.append(self._models.get(name).side)
        sheet = make_sheet(order, group, gallery, sorted(set(sides)), lambda text, at: job.tell(text, _PAINTING * at))
        share = (1 - _PAINTING) / len(order.models)
        models = [
            self._asked(job, name, group, sheet, (_PAINTING + share * number, share))
            for number, name in enumerate(order.models)
        ]
        return {
            "set": group.name,
            "fill": order.fill,
            "fill_title": RERENDER_TITLE if order.fill == RERENDER else FILLS[order.fill].title,
            "gallery": len(gallery.texts),
            "queries": len(sheet.done),
            "photos": len(next(iter(sheet.photos.values()))),
            "sentences": len(sheet.own),
            "skipped": skipped(sheet.tally),
            "notes": [*gallery.notes, *sheet.notes(order)],
            "models": models,
            "measures": measures_json(dict.fromkeys(key for model in models for key in model["values"])),
        }

    def _asked(self, job: Job, name: str, group: PhotoSet, sheet: Sheet, span: tuple[float, float]) -> dict[str, Any]:
        """What one model gets; ``span``: where its work begins on the whole of it, and its share."""
        known = self._models.known(name)
        start, share = span
        vectors = self._sentences(job, known, group, (start, share / 2))
        loaded = self._models.get(name)
        begin = start + share / 2
        queries = self._looked(job, loaded, sheet.queries[loaded.side], (begin, share / 5))
        photos = self._looked(job, loaded, sheet.photos[loaded.side], (begin + share / 5, share / 5))
        own = self._own(job, loaded, sheet, vectors)
        mentions = torch.from_numpy(sheet.gallery.mentions)
        found = counterfactual(queries, vectors, mentions, sheet.present, sheet.removed, ks=KS)
        values = dict(found.values)
        whole = counterfactual(photos[sheet.origin], vectors, mentions, sheet.present, sheet.removed, ks=KS)
        values |= before_removal(whole)
        if own is not None:
            values |= recall_both_ways(photos, own, sheet.owner, ks=KS, texts=sheet.said)
        job.rows += sheet.rows(known, found)
        return {
            "name": name,
            "title": known.title,
            "notes": [STRANGER] if not known.photos and not group.drawn else [],
            "values": {key: interval(value) for key, value in values.items()},
            "distinct_top1": found.counts["distinct_top1"],
            "skipped": left_out(found),
            "failing": sheet.failing(found),
        }

    def _sentences(self, job: Job, known: Known, group: PhotoSet, span: tuple[float, float]) -> Tensor:
        reading = self._index.ask(known.name, group.name)
        while not reading.done.wait(0.2):
            job.tell(f"{known.title}: {reading.message}", span[0] + span[1] * reading.fraction)
        if reading.error is not None:
            raise reading.error
        return reading.first(reading.read)

    def _looked(self, job: Job, loaded: Loaded, images: Tensor, span: tuple[float, float]) -> Tensor:
        found, total = [], len(images)
        for start in range(0, total, PHOTOS):
            job.tell(f"{loaded.known.title} looks at photos: {start:,} of {total:,}", span[0] + span[1] * start / total)
            found.append(loaded.images(images[start : start + PHOTOS]))
        return torch.cat(found)

    def _own(self, job: Job, loaded: Loaded, sheet: Sheet, vectors: Tensor) -> Tensor | None:
        """Embeddings of the photos' own sentences; those of the gallery are there already."""
        place = sheet.gallery.place
        missing = [text for text in dict.fromkeys(sheet.own) if text not in place]
        extra: dict[str, Tensor] = {}
        for start in range(0, len(missing), PIECE):
            job.tell(f"{loaded.known.title} reads more sentences: {start:,} of {len(missing):,}", job.fraction)
            part = missing[start : start + PIECE]
            extra |= dict(zip(part, loaded.texts(part), strict=True))
        found = [vectors[place[text]] if text in place else extra[text] for text in sheet.own]
        return torch.stack(found) if found else None


def skipped(tally: Tally) -> list[dict[str, Any]]:
    """Why photos asked nothing, and how many."""
    reasons = {
        "fewer than two classes": tally.one_class,
        "no class that the overlap rules allow": tally.no_allowed_class,
        "photo cannot be read": tally.unreadable,
        "box without an area": tally.boxes_dropped,
    }
    return [{"reason": reason, "count": count} for reason, count in reasons.items() if count]


def left_out(found: Counterfactual) -> list[dict[str, Any]]:
    """Why queries are out of ODmAP, and how many."""
    reasons = {
        "nothing removed": found.counts["skipped_nothing_removed"],
        "nothing left": found.counts["skipped_nothing_present"],
        "no correct sentence in the gallery": found.counts["skipped_no_correct_sentence"],
    }
    return [{"reason": reason, "count": count} for reason, count in reasons.items() if count]


def interval(values: np.ndarray) -> dict[str, Any]:
    """Mean and 95 % bootstrap interval; null where no query counts."""
    found = bootstrap(values)
    numbers = {"mean": found.mean, "low": found.low, "high": found.high}
    plain = {name: None if math.isnan(value) else round(value, 6) for name, value in numbers.items()}
    return {**plain, "queries": found.queries}


def table(job: Job) -> bytes:
    """The finished score as a CSV file.

    Raises:
        GoneError: it is not finished.
    """
    if job.phase != "done":
        raise GoneError("This score is not finished, so there is no table yet.")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_plain(cell) for cell in row] for row in job.rows)
    return out.getvalue().encode("utf-8", "replace")


def _plain(cell: Any) -> Any:
    """A caption that begins like a formula must not be run by a spreadsheet."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
