"""``python -m tests.make.groceries``: write the photographs that ship, ``assets/groceries``.

They are part of a larger part of Grocery Store, Parquet files of its products, kinds and categories in two splits. The
same files give the same bytes: of a product's photographs, but for the twentieth whose files are largest, every so many
is taken in the order of their names.
"""

from __future__ import annotations

import sys
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from datasets import Image, load_dataset

from tests.programs import arguments, command
from trainers.data.labelled.datasets.groceries import FILE

EACH = 20
LEVELS = ("category", "coarse_label", "fine_label")
MOST = 7_000_000
"""Bytes of the file."""


@command
def main(argv: list[str]) -> None:
    """Choose and write."""
    flags = arguments(__doc__, argv, source=("shared/data/grocery_store", "folder with its README and data/*.parquet"))
    images = {name: files for split in ("train", "test") for name, files in chosen(Path(flags.source), split).items()}
    write(FILE, images)
    assert FILE.stat().st_size <= MOST, f"{FILE.stat().st_size:,} bytes"
    print(f"wrote {len(images):,} photographs to {FILE} ({FILE.stat().st_size / 1e6:.2f} MB)")


def chosen(source: Path, split: str) -> dict[str, bytes]:
    """The photographs of a split, by their names in the file: ``train/Fruit/Apple/Royal Gala/01.jpg``."""
    file = str(source / "data" / f"{split}-00000-of-00001.parquet")
    rows = load_dataset("parquet", data_files=file, split="train").cast_column("image", Image(decode=False))
    names = {level: rows.features[level].names for level in LEVELS}
    found = defaultdict(list)
    for row in rows:
        place = "/".join(names[level][row[level]].replace("-", " ") for level in LEVELS)
        found[place].append((row["image"]["path"], row["image"]["bytes"]))
    made = {}
    for place, files in sorted(found.items()):
        files = sorted(sorted(files, key=lambda file: (len(file[1]), *file))[: round(0.95 * len(files))])
        for number, at in enumerate(np.linspace(0, len(files) - 1, EACH).round().astype(int)):
            made[f"{split}/{place}/{number + 1:02}.jpg"] = files[at][1]
    return made


def write(path: Path, files: dict[str, bytes]) -> None:
    """Write a zip file that holds nothing but the files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
