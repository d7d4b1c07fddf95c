"""How long removal takes per image: reading, overlap, fill, captions; over every image of a dataset with boxes.

python -m tests.benchmarks.removal path/or/hub-id --fill telea
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from trainers.data.captioned.loader import load_captioned
from trainers.errors import DataError
from trainers.object_removal.captions import remove_phrases
from trainers.object_removal.fills import FILLS, paint
from trainers.object_removal.image import read_picture
from trainers.object_removal.overlap import judge_all
from trainers.object_removal.pairs import Tally, build_pairs, objects, scaled_mask
from trainers.object_removal.regions import Regions
from trainers.object_removal.vocabulary import load_words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--fill", default="telea", choices=list(FILLS))
    parser.add_argument("--limit", type=int, help="images of each split")
    given = parser.parse_args()
    dataset = load_captioned(given.source, limit=given.limit)
    words, scenes = load_words(), [scene for part in dataset.splits.values() for scene in part]
    print(*dataset.notes, sep="\n")
    steps: dict[str, list[float]] = {"read": [], "overlap": [], "fill": [], "captions": []}
    images = allowed = removals = 0
    for scene in scenes:
        try:
            start = time.perf_counter()
            picture = read_picture(scene.load() or b"")
            steps["read"].append(time.perf_counter() - start)
        except DataError as error:
            print(f"{scene.image_id}: {error}")
            continue
        images += 1
        boxes, classes, _ = objects(scene, picture.width, picture.height)
        start = time.perf_counter()
        verdicts = judge_all(Regions.of_boxes(boxes, classes, picture.width, picture.height))
        steps["overlap"].append(time.perf_counter() - start)
        allowed += any(verdict.allowed for verdict in verdicts)
        for verdict in verdicts:
            mask = scaled_mask(picture, boxes, classes, verdict.removed)
            if mask.all():
                continue
            removals += 1
            start = time.perf_counter()
            paint(FILLS[given.fill], picture.pixels, mask)
            steps["fill"].append(time.perf_counter() - start)
            start = time.perf_counter()
            for caption in scene.captions:
                remove_phrases(caption, verdict.removed, words)
            steps["captions"].append(time.perf_counter() - start)
    print(f"{images} of {len(scenes)} images; {removals} removals of one class; {allowed} images with an allowed one")
    for name, values in steps.items():
        each = 1e3 * np.array(values)
        print(
            f"{name:10s} median {np.median(each):7.2f} ms, 95 % {np.quantile(each, 0.95):7.2f}, most {each.max():7.2f}"
        )
    tally, start = Tally(), time.perf_counter()
    pairs = sum(1 for _ in build_pairs(scenes, words, FILLS[given.fill], tally=tally))
    print(f"{pairs} object-removed pairs in {time.perf_counter() - start:.1f} s: {tally}")


if __name__ == "__main__":
    main()
