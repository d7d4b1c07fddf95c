"""Tables as people keep them: what is guessed is said, and what the data contradict is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import torch
from PIL import Image
from pyarrow import feather
from safetensors.torch import save_file

from explorer.exports.tables import write_embeddings
from explorer.server.library import Library
from explorer.server.run import Run
from trainers.brought.opening import Opened, open_files, read_files
from trainers.errors import UserError

COUNT, WIDTH = 60, 10
CODES = np.arange(COUNT) % 6
SPECIES = [["ash", "birch", "cedar", "elm", "fir", "oak"][code] for code in CODES]
GENUS = ["broad" if code in (0, 1, 3, 5) else "needle" for code in CODES]
_DRAW = np.random.default_rng(5)
ROWS = (_DRAW.normal(size=(6, WIDTH))[CODES] + 0.25 * _DRAW.normal(size=(COUNT, WIDTH))).astype(np.float32)
UNIT = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
FRAME = pd.DataFrame({"species": SPECIES, "genus": GENUS})
WIDE = pd.DataFrame(ROWS, columns=[f"e{at}" for at in range(WIDTH)])
COUNTED = WIDE.set_axis(range(WIDTH), axis=1)
MAP = {"x": _DRAW.normal(size=COUNT), "y": _DRAW.normal(size=COUNT)}
FIXED = arrow.FixedSizeListArray.from_arrays(arrow.array(ROWS.reshape(-1)), WIDTH)
HOLES = np.isin(np.arange(COUNT), [3, 10, 17, 24, 31, 38])
PATHS = [f"photos/{at}.png" for at in range(COUNT)]
ORDER = _DRAW.permutation(COUNT)
SOME = "60 embeddings of 10 numbers"
BOTH = "levels species (6), genus (2)"
ONE = f"{SOME} (column embedding), level label (6)"


def write(place: Path, name: str, thing: Any) -> Path:
    """Write a thing in the form that the ending of a name says."""
    path = place / name
    ending = path.suffix
    if isinstance(thing, (str, bytes)):
        path.write_bytes(thing.encode() if isinstance(thing, str) else thing)
    elif ending == ".npy":
        np.save(path, thing, allow_pickle=True)
    elif ending == ".npz":
        np.savez(path, **thing)
    elif ending in (".csv", ".tsv"):
        thing.to_csv(path, index=False, sep="," if ending == ".csv" else "\t")
    elif ending == ".feather":
        feather.write_feather(arrow.table(thing), path)
    elif ending == ".arrow":
        with arrow.ipc.new_stream(path, thing.schema) as stream:
            stream.write_table(thing)
    elif ending == ".parquet":
        parquet.write_table(thing if isinstance(thing, arrow.Table) else arrow.table(thing), path)
    elif ending == ".safetensors":
        save_file(thing, path)
    elif ending == ".pt":
        torch.save(thing, path)
    else:
        with h5py.File(path, "w") as file:
            for key, value in thing.items():
                file[key] = value
    return path


def read(place: Path, files: dict[str, Any], **asked: Any) -> Opened:
    """Write files and read them; a name that begins with ``--labels`` is a value of it."""
    given, labels = [], []
    for name, thing in files.items():
        word = name.removeprefix("--labels ")
        if thing is not None:
            write(place, word.partition(":")[0], thing)
            word = str(place / word)
        (labels if name != word and name.startswith("--labels") else given).append(word)
    return read_files([Path(word) for word in given], labels=labels, **asked)


def text(rows: np.ndarray, mark: str = ",", form: str = "%.5f") -> str:
    return "".join(mark.join(form % number for number in row) + "\n" for row in rows)


def lines(words: Sequence[object]) -> str:
    return "".join(f"{word}\n" for word in words)


def classes(values: list[int]) -> arrow.Table:
    """As `datasets` writes a column of ClassLabel."""
    features = {"label": {"names": ["oak", "elm", "ash"], "_type": "ClassLabel"}}
    made = arrow.table({"embedding": FIXED, "label": values})
    return made.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


Files = dict[str, Any]
COLUMNS, LEVEL, NONE = f"{SOME} (columns e0 to e9)", "level label (6)", "no labels"
ZERO = f"{SOME} (columns 0 to 9)"
PLURAL = f"{SOME} (column embeddings), level labels (6)"
LABELLED = WIDE.assign(label=SPECIES)
NUMBERED = [f"photos/{at:02}.png" for at in range(COUNT)]
UNSEEN = "no images, because --images FOLDER does not say where those of"
# fmt: off
READ: dict[str, tuple[Files, str]] = {
    "no head": ({"a.csv": text(ROWS)}, f"{ZERO}, {NONE}"),
    "no head, exponents": ({"a.csv": text(ROWS, form="%.18e")}, f"{ZERO}, {NONE}"),
    "no head, spaces": ({"a.txt": text(ROWS, " ")}, f"{ZERO}, {NONE}"),
    "no head, an index": ({"a.csv": WIDE.to_csv(header=False)}, f"{ZERO}, {NONE}; passed over: index"),
    "no head, words": ({"a.csv": LABELLED.to_csv(header=False, index=False)}, f"{ZERO}, {LEVEL}"),
    "pandas": ({"a.csv": COUNTED.assign(label=SPECIES).to_csv()},
               f"{ZERO}, {LEVEL}; passed over: a column without a name"),
    "decimal commas": ({"a.csv": LABELLED.to_csv(index=False, sep=";", decimal=",")}, f"{COLUMNS}, {LEVEL}"),
    "coordinates, parquet": ({"a.parquet": {"embedding": FIXED, "label": SPECIES, **MAP}}, f"{ONE}; passed over: x, y"),
    "coordinates, csv": ({"a.csv": LABELLED.assign(**MAP)}, f"{COLUMNS}, {LEVEL}; passed over: x, y"),
    "a word called feature": ({"a.csv": LABELLED.assign(feature="a")}, f"{COLUMNS}, {LEVEL}; passed over: feature"),
    "text in parquet": ({"a.parquet": {"embedding": [str(row.tolist()) for row in ROWS], "label": SPECIES}}, ONE),
    "columns in parquet": ({"a.parquet": {str(at): ROWS[:, at] for at in range(WIDTH)} | {"label": SPECIES}},
                           f"{ZERO}, {LEVEL}"),
    "N x 1, beside": ({"a.npy": ROWS, "b.npy": CODES[:, None]}, f"{SOME}, {LEVEL}"),
    "one-hot, beside": ({"a.npy": ROWS, "b.npy": np.eye(6)[CODES]}, f"{SOME}, {LEVEL}"),
    "exponents beside": ({"a.npy": ROWS, "b.txt": text(CODES[:, None], form="%.18e")}, f"{SOME}, {LEVEL}"),
    "a comment": ({"a.txt": "# made by me\n" + text(ROWS, " ")}, f"{ZERO}, {NONE}"),
    "blank lines": ({"a.npy": ROWS, "b.txt": lines([*SPECIES[:-1], ""])},
                    f"{SOME}, {LEVEL}, 1 row without a label left out"),
    "labels of the second": ({"a.npy": ROWS, "b.csv": LABELLED}, f"2 times {SOME}, {LEVEL}"),
    "N x 1": ({"a.npz": {"embeddings": ROWS, "labels": CODES[:, None]}}, PLURAL),
    "one-hot": ({"a.npz": {"embeddings": ROWS, "labels": np.eye(6)[CODES]}}, PLURAL),
    "lists": ({"a.parquet": {"embedding": FIXED, "labels": list(map(list, zip(SPECIES, GENUS, strict=True)))}},
              f"{SOME} (column embedding), levels labels 1 (6), labels 2 (2)"),
    "twice": ({"a.parquet": {"embedding": FIXED, "label": SPECIES, "y": CODES}}, f"{ONE}; passed over: y"),
    "levels by their values": ({"a.csv": WIDE.join(FRAME.assign(split=["a", "b"] * 30))},
                               f"{COLUMNS}, {BOTH}; passed over: split"),
    "the projector": ({"tensors.tsv": text(ROWS, "\t"), "metadata.tsv": FRAME}, f"{ZERO}, {BOTH}"),
    "the projector, one column": ({"tensors.tsv": text(ROWS, "\t"), "b.tsv": lines(SPECIES)}, f"{ZERO}, {LEVEL}"),
    "a csv beside": ({"a.npy": ROWS, "--labels b.csv": FRAME}, f"{SOME}, {BOTH}"),
    "a column of it": ({"a.npy": ROWS, "--labels b.csv:genus": FRAME},
                       f"{SOME}, level genus (2); passed over: species"),
    "numbers beside": ({"a.npy": ROWS, "labels.npy": CODES}, f"{SOME}, {LEVEL}"),
    "words beside": ({"a.npy": ROWS, "b.txt": lines(SPECIES)}, f"{SOME}, {LEVEL}"),
    "words beside, a head": ({"a.npy": ROWS, "b.csv": lines(["kind", *SPECIES])}, f"{SOME}, level kind (6)"),
    "by path": ({"a.parquet": {"path": PATHS, "embedding": FIXED}, "b.csv": FRAME.assign(path=PATHS).iloc[ORDER]},
                f"{SOME} (column embedding), {BOTH}, {UNSEEN} path are"),
    "by path, elsewhere": ({"a.csv": WIDE.assign(file=PATHS),
                            "b.csv": FRAME.assign(path=[f"/x/{path[7:]}" for path in PATHS]).iloc[ORDER]},
                           f"{COLUMNS}, {BOTH}, {UNSEEN} file are; passed over: path"),
    "by id": ({"a.csv": WIDE.assign(id=range(COUNT)), "b.csv": FRAME.assign(id=range(COUNT)).iloc[:50]},
              f"{COLUMNS}, {BOTH}, 10 rows without a label left out; passed over: id"),
    "empty": ({"a.csv": WIDE.assign(label=[None, *SPECIES[1:]])},
              f"{COLUMNS}, {LEVEL}, 1 row without a label left out"),
    "NaN": ({"a.npz": {"embeddings": ROWS, "labels": np.where(CODES == 2, np.nan, CODES)}},
            f"{SOME} (column embeddings), level labels (5), 10 rows without a label left out"),
    "None": ({"a.parquet": {"embedding": FIXED, "label": [None, None, *SPECIES[2:]]}},
             f"{ONE}, 2 rows without a label left out"),
    "ClassLabel": ({"a.parquet": classes([-1, *(CODES[1:] % 3)])},
                   f"{SOME} (column embedding), level label (3), 1 row without a label left out"),
    "ClassLabel, Arrow": ({"a.arrow": classes([*(CODES % 3)])}, f"{SOME} (column embedding), level label (3)"),
    "feather": ({"a.feather": {"embedding": FIXED, "label": SPECIES}}, ONE),
    "bfloat16": ({"a.safetensors": {"embeddings": torch.tensor(ROWS).bfloat16(), "labels": torch.tensor(CODES)}},
                 PLURAL),
    "a tensor": ({"a.pt": torch.tensor(ROWS)}, f"{SOME}, {NONE}"),
    "a dictionary": ({"a.pt": {"embeddings": torch.tensor(ROWS), "labels": SPECIES}}, PLURAL),
    "a pair": ({"a.pt": (torch.tensor(ROWS), torch.tensor(CODES))}, f"{SOME} (column array 0), level array 1 (6)"),
    "vectors by name": ({"a.pt": dict(zip(PATHS, torch.tensor(ROWS), strict=True)), "b.csv": FRAME.assign(id=PATHS)},
                        f"{SOME} (column embeddings), {BOTH}; passed over: id"),
    "HDF5": ({"a.h5": {"embeddings": ROWS, "labels": SPECIES}}, PLURAL),
    "hloc": ({"a.h5": {f"{name}/global_descriptor": row for name, row in zip(NUMBERED, ROWS, strict=True)}},
             f"{SOME} (column embeddings), {NONE}; passed over: id"),
    "fvecs": ({"a.fvecs": np.hstack([np.full((COUNT, 1), WIDTH, "<i4"), ROWS.view("<i4")]).tobytes()},
              f"{SOME}, {NONE}"),
    "fbin": ({"a.fbin": np.array([COUNT, WIDTH], "<u4").tobytes() + ROWS.tobytes()}, f"{SOME}, {NONE}"),
    "JSON lines": ({"a.jsonl": pd.DataFrame({"embedding": ROWS.tolist(), "label": SPECIES}).to_json(
        orient="records", lines=True)}, ONE),
}
# fmt: on


@pytest.mark.parametrize("case", READ)
def test_what_was_chosen_is_right_and_said(case: str, tmp_path: Path) -> None:
    files, said = READ[case]
    opened = read(tmp_path, files)
    assert opened.about == said
    kept = len(opened.tables[0].embeddings)
    assert kept == COUNT or f"{COUNT - kept} row" in said
    assert all(len(cells) == kept for cells in opened.levels.values())
    if kept == COUNT:
        assert np.abs(opened.tables[0].embeddings - UNIT).max() < (1e-2 if case == "bfloat16" else 1e-4)
        same = CODES % 3 if case.startswith("ClassLabel") else CODES
        finest = max(opened.levels.values(), key=lambda cells: len({*cells}), default=same)
        assert len({*zip(finest, same, strict=True)}) == len({*same})


# fmt: off
REFUSED: dict[str, tuple[Files, str]] = {
    "empty cells": ({"a.parquet": {"embedding": FIXED.from_arrays(FIXED.values, WIDTH, mask=arrow.array(HOLES))}},
                    "'embedding'; 6 of 60 have none"),
    "cut numbers": ({"a.csv": "label,embedding\n" + "a,[ 0.1 0.2 ... 0.3]\n" * 9}, "'embedding' are not in the file"),
    "objects": ({"a.npz": {"embeddings": ROWS, "labels": np.array(SPECIES, object)}},
                r"'labels' in a.npz cannot be labels: it is an array of objects.*dtype=str"),
    "no class": ({"a.csv": WIDE.assign(**MAP), "--labels y": None},
                 "'y' is no class: its values are numbers with a point"),
    "each its own": ({"a.csv": WIDE.assign(name=PATHS), "--labels name": None}, "every row has its own value"),
    "a row too few": ({"a.npy": ROWS, "b.csv": FRAME.iloc[1:]}, "b.csv has 59 rows below its head"),
    "two rows too few": ({"a.npy": ROWS, "b.csv": FRAME.iloc[2:]}, "A label for each of 60 rows of a.npy"),
    "no ids": ({"a.csv": WIDE.assign(id=range(COUNT)), "b.csv": FRAME.assign(id=range(100, 100 + COUNT))},
               "None of the rows of a.csv is in b.csv by 'id'"),
    "no labels": ({"a.npy": ROWS, "b.csv": pd.DataFrame(MAP)}, "A column of classes was needed"),
    "another order": ({"a.npz": {"embeddings": ROWS, "label": SPECIES},
                       "b.npz": {"embeddings": ROWS, "label": SPECIES[::-1]}},
                      "in row 1 'label' is 'ash' and 'oak'"),
    "other images": ({"a.csv": WIDE.assign(path=PATHS), "b.csv": WIDE.assign(path=[*PATHS[1:], "z.png"])},
                     "row 1 of the first is not in it"),
    "counts": ({"a.fbin": np.array([COUNT, 9], "<u4").tobytes() + ROWS.tobytes()}, "its size is another"),
    "more than tensors": ({"a.pt": {"embeddings": Path("x")}}, "holds more than tensors"),
}
# fmt: on


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_data_contradict_is_refused(case: str, tmp_path: Path) -> None:
    files, said = REFUSED[case]
    with pytest.raises(UserError, match=said):
        read(tmp_path, files)


def test_models_are_compared_image_by_image(tmp_path: Path) -> None:
    first = WIDE.assign(path=PATHS, label=SPECIES)
    opened = read(tmp_path, {"a.csv": first, "b.csv": first.iloc[ORDER]})
    assert np.array_equal(opened.tables[0].embeddings, opened.tables[1].embeddings)
    named = read_files([tmp_path / "a.csv", tmp_path / "b.csv"], embeddings=[tmp_path / "a.csv"])
    assert len(named.tables) == 1 and named.about.startswith(f"{SOME} (columns e0 to e9), level label (6)")


@pytest.mark.parametrize(("paths", "folder", "said"), [
    (None, "photos", "images of photos in the order of their names, 0.png to 59.png"),
    (PATHS, "photos", "images of photos by filepath (60 of 60)"),
    ([path.replace("/", "\\") for path in PATHS], ".", "by filepath (60 of 60)"),
    ([f"/mnt/elsewhere/{path}" for path in PATHS], "photos", "(60 of 60, 60 of them by the last parts of their paths)"),
    ([*PATHS[:50], *["none.png"] * 5, *[None] * 5], "photos", "images of photos by filepath (50 of 60)"),
])  # fmt: skip
def test_images_are_those_of_their_rows(paths: list[str] | None, folder: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for at in range(COUNT):
        Image.new("RGB", (8, 8), (4 * at, 0, 0)).save(tmp_path / "photos" / f"{at}.png")
    columns = {"embedding": FIXED, "label": SPECIES} | ({} if paths is None else {"filepath": paths})
    opened = read(tmp_path, {"a.parquet": columns}, images=tmp_path / folder)
    assert said in opened.about and opened.images is not None
    assert all(image is None or image.stem == str(at) for at, image in enumerate(opened.images))


@pytest.mark.parametrize("split", [lambda levels: levels, lambda _: {}], ids=["labels", "no labels"])
def test_what_is_downloaded_opens_as_what_it_was(
    split: Callable[[dict[str, Any]], dict[str, Any]], tmp_path: Path
) -> None:
    levels = split({"species": SPECIES, "genus": GENUS})
    for name, rows in (("one.parquet", ROWS), ("two.parquet", ROWS[:, ::-1] + 1)):
        write(tmp_path, name, {"embedding": list(rows), **levels})
    run = open_files(tmp_path / "r", [tmp_path / "one.parquet", tmp_path / "two.parquet"])
    library = Library(tmp_path / "r", tmp_path / "none")
    write_embeddings(library, Run(run), tmp_path / "embeddings.parquet")
    again = open_files(tmp_path / "r", [tmp_path / "embeddings.parquet"])
    library.close()
    before, after = run.probe(), again.probe()
    assert before is not None and after is not None and before.hierarchy == after.hierarchy
    assert np.array_equal(before.labels, after.labels) and again.config.models == run.config.models == ("one", "two")
    for one, other in zip(run.embeddings(0), again.embeddings(0), strict=True):
        assert np.abs(one.astype(float) - other).max() < 1e-3
    numbers = [{key: run.newest(key) for key in ("R_at_1", "test/R_at_1")} for run in (run, again)]
    assert numbers[0] == numbers[1] and bool(numbers[0]["R_at_1"]) == bool(levels)
