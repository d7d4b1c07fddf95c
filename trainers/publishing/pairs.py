"""Images with and without an object, as files of a dataset on the Hub: one parquet file and a card.

Both images of a row have the same size and are PNG: outside the mask a fill leaves every pixel as it is. They are the
queries of ODmAP's benchmark, chosen by the same rules.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from trainers.comparison.markup import markdown_text
from trainers.config import SceneChoice
from trainers.data.captioned_images import CaptionedDataset
from trainers.data.picture import LONGEST, read_picture
from trainers.errors import DataError
from trainers.object_removal.fills import fill_named
from trainers.object_removal.matching import Matcher, matcher_of
from trainers.object_removal.pairs import Removal, Tally, captions_left, objects, removals, scaled_mask
from trainers.object_removal.vocabulary import load_words
from trainers.parameters import parameter
from trainers.progress import Progress
from trainers.publishing.settings import source_name

ROWS = 50
"""Of a row group: what is in memory at once."""
_IMAGE = ("image", "without", "mask")


@dataclass(frozen=True, kw_only=True)
class PairSettings:
    """The settings of a dataset of pairs."""

    scenes: SceneChoice = parameter(factory=SceneChoice, help="Which images with captions and boxes.")
    split: str | None = parameter(None, help="Split of the images; that for tests if not given.")
    fill: str = parameter(
        "telea", registry="trainers.object_removal.fills:FILLS", help="What is painted over the object."
    )
    pairs: int = parameter(1000, low=1, high=20_000, help="Most pairs.")
    every: bool = parameter(False, help="Each class of an image that may go in turn, instead of one.")
    longest: int = parameter(LONGEST, low=64, high=2048, help="Longer side of the images in pixels, at most.")
    seed: int = parameter(0, low=0, high=2**31 - 1, help="Of the choice of the class.")


def write_pairs(
    dataset: CaptionedDataset, settings: PairSettings, repository: str, to: Path, progress: Progress
) -> Mapping[str, Path]:
    """Write what is uploaded; files by name.

    Raises:
        UserError: there is no such split or fill, the fill does not suit the images, or nothing may be removed.
    """
    import datasets
    import pandas  # noqa: F401  pyarrow loads it at its first table, and plotly takes a half-loaded one for whole
    import pyarrow as pa
    import pyarrow.parquet as pq

    split = settings.split or dataset.test_split
    if split not in dataset.splits:
        raise DataError(f"A split of {dataset.title} was needed: {', '.join(dataset.splits)}; got {split!r:.60}.")
    scenes, fill, tally = dataset.splits[split], fill_named(settings.fill), Tally()
    if (reason := fill.unfit(next(iter(scenes), None)) or fill.lacking()) is not None:
        raise DataError(reason)
    made = removals(scenes, fill, every=settings.every, seed=settings.seed, longest=settings.longest, tally=tally)
    schema = datasets.Features(_features(datasets)).arrow_schema
    words, count = matcher_of(dataset, load_words()), 0
    name = f"data/{_plain(split)}-00000-of-00001.parquet"
    (to / "data").mkdir()
    rows = (_row(removal, words, settings) for removal in islice(made, settings.pairs))
    with pq.ParquetWriter(to / name, schema, compression="none") as writer:  # PNG is compressed
        while part := list(islice(rows, ROWS)):
            writer.write_table(pa.Table.from_pylist(part, schema=schema))
            count += len(part)
            progress(f"{count:,} pairs", count / settings.pairs)
    if not count:
        left = "; ".join(f"{reason}: {number}" for reason, number in tally.left_out().items())
        raise DataError(f"No object may be removed from the images of {dataset.title} ({left or 'no boxes'}).")
    (to / "README.md").write_text(_card(dataset, settings, repository, _Made(split, count, tally)), encoding="utf-8")
    return {"README.md": to / "README.md", name: to / name}


class _Made(NamedTuple):
    """What came of it."""

    split: str
    pairs: int
    tally: Tally


def _features(datasets: Any) -> dict[str, Any]:
    text, number = datasets.Value("string"), datasets.Value("float32")
    texts = datasets.List(text)
    return {
        "image_id": text,
        **{name: datasets.Image() for name in _IMAGE},
        "chosen": text,
        "removed": texts,
        "kept": texts,
        "boxes": datasets.List(datasets.List(number)),
        "captions": texts,
        "captions_without": texts,
    }


def _row(removal: Removal, words: Matcher, settings: PairSettings) -> dict[str, Any]:
    scene, judgement = removal.scene, removal.judgement
    picture = read_picture(scene.load() or b"", settings.longest)
    boxes, classes, _ = objects(scene, picture.width, picture.height)
    mask = scaled_mask(picture, boxes, classes, judgement.removed)
    gone = [box for box, name in zip(boxes, classes, strict=True) if name in judgement.removed]
    images = (picture.pixels, removal.pixels, np.where(mask, 255, 0).astype(np.uint8))
    return {
        "image_id": scene.image_id,
        **{name: {"bytes": _png(pixels), "path": None} for name, pixels in zip(_IMAGE, images, strict=True)},
        "chosen": judgement.chosen,
        "removed": list(judgement.removed),
        "kept": list(judgement.kept),
        "boxes": [[value * picture.scale for value in box] for box in gone],
        "captions": list(scene.captions),
        "captions_without": [text for text, _ in captions_left(removal, words)],
    }


def _png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _plain(split: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in split) or "test"


def _card(dataset: CaptionedDataset, settings: PairSettings, repository: str, made: _Made) -> str:
    from huggingface_hub import DatasetCardData

    source, fill = source_name(settings.scenes.source), fill_named(settings.fill)
    known = dataset.licence if dataset.licence not in ("", "unknown") else ""
    spelt = known.lower() if re.fullmatch(r"[A-Za-z0-9.-]+", known) else "other" if known else None
    header = DatasetCardData(
        license=spelt,
        source_datasets=[source] if dataset.revision else None,
        tags=["rankscope", "object-removal", "counterfactual"],
    )
    left = "".join(f"- left out, {reason}: {number:,}\n" for reason, number in made.tally.left_out().items())
    facts = {
        "Images": f"{source} at commit {dataset.revision}" if dataset.revision else source,
        "Licence of the images": known or "not known; whoever publishes them must be allowed to",
        "Split": made.split,
        "Fill": f"{fill.title} (`{settings.fill}`{f', {fill.paper}' if fill.paper else ''})",
        "Class": "every class in turn that may go" if settings.every else f"one per image, seed {settings.seed}",
        "Longer side": f"at most {settings.longest} pixels",
    }
    lines = "\n".join(f"- **{name}**: {markdown_text(text)}" for name, text in facts.items())
    return f"""---
{header.to_yaml()}
---

# {repository.rpartition("/")[2]}

{made.pairs:,} images with and without an object, from {made.tally.images:,} images of {markdown_text(dataset.title)}.
Made with Rankscope: what may go, and goes with it, is chosen as for the queries of ODmAP (Kim et al. 2023).

{lines}
{left}
## Columns

- `image`, `without`: the image as it is, and with the object painted over; of the same size, lossless.
- `mask`: white where something was painted over; all other pixels are equal, but where a scene was drawn again.
- `chosen`: the class that was taken out; `removed`: it and the classes that it nearly covers; `kept`: those that stay.
- `boxes`: of what was removed: x0, y0, x1, y1 in pixels of these images.
- `captions`: of the image; `captions_without`: those that name something that is left, without the phrases that name
  what is gone.
"""
