"""What the readers of tables raise is said as a sentence with the name of the file."""

from __future__ import annotations

from pathlib import Path

import datasets
import pyarrow as pa
import pytest

from tests.data.test_packed import Files, written
from tests.data.world import write_split
from trainers.config import DataChoice
from trainers.data import inspect_data
from trainers.data.captioned.loader import load_captioned
from trainers.data.labelled.hub import head
from trainers.errors import DataError

CARD = b"""---
dataset_info:
  features:
  - name: image
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          "0": oak
---
"""
BROKEN: dict[str, tuple[Files, str]] = {
    "other columns": (
        {"a.jsonl": b'{"x": 1}\n' * 30, "b.jsonl": b'{"y": 1}\n' * 30},
        r"'b\.jsonl' of '.*' has columns that the files before it have not: y beside x\. Give all files the same",
    ),
    "no JSON": ({"a.json": b'{"x": 1', "b.json": b"[]"}, r"'a\.json' of '.*' cannot be read: "),
    "no arrow": ({"part.arrow": b"no"}, r"'part\.arrow' of '.*' cannot be read: "),
    "no parquet": (
        {"data/test-00000-of-00001.parquet": b"<html>"},
        r"'test-00000-of-00001\.parquet' of '.*' cannot be read: ",
    ),
    "no zip": (
        {"metadata.csv": b"file_name,text\nx.png,a\n", "page.zip": b"<html>"},
        r"'page\.zip' of '.*' cannot be read: File is not a zip file",
    ),
    "a class that the card has not": (
        {"README.md": CARD, "a.csv": b"image,label\nx.png,elm\n"},
        r"has files or rows of the class 'elm', which is not among the classes that its card .* Correct the card",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    files, words = BROKEN[name]
    folder = written(tmp_path / "set", files)
    if name == "no parquet":
        write_split(folder, "train", {"label": [0, 0, 1, 1]})
    with pytest.raises(DataError, match=words):
        if name == "no zip":
            load_captioned(str(folder))
        else:
            inspect_data(DataChoice(source=str(folder)))


def test_a_column_that_is_empty_at_first_is_looked_at() -> None:
    parts = [pa.table({"x": [1, 2], "label": values}) for values in (pa.nulls(2), pa.array(["oak", "elm"]))]
    stream = datasets.IterableDataset.from_generator(lambda: (row for part in parts for row in part.to_pylist()))
    table = head(stream, 4, 1)
    assert table is not None and table.codes("label").names == ("elm", "oak")
