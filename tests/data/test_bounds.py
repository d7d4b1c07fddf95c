"""What a set claims, names and hides: rows, columns, files and archives are bounded before they are read."""

from __future__ import annotations

import copy
import gzip
import stat
import time
import zipfile
import zlib
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.data.world import Files, images, picture, tarred, write_split, write_tree, zipped
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.captioned.loader import load_captioned
from trainers.data.image_file import LARGEST_FILE
from trainers.data.labelled import columns, files, opening, table
from trainers.data.labelled.folders import Folders
from trainers.data.labelled.hub import head
from trainers.data.labelled.label_tables import Names
from trainers.data.labelled.opening import make_builder
from trainers.data.labelled.rows import chunks
from trainers.data.labelled.table import ArrowTable
from trainers.errors import DataError

LABELS = {"label": [n // 2 for n in range(8)]}


def repeated_rows(folder: Path, rows: int, caption: str) -> Path:
    """A table of one photo and five sentences said again and again: kilobytes on the disk, one group of rows."""
    image, said = {"bytes": picture(3), "path": None}, [caption] * 5
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "captions": datasets.List(datasets.Value("string")),
            "image_id": datasets.Value("int64"),
        }
    )
    once = pa.table({"image": [image] * 100, "captions": [said] * 100, "image_id": list(range(100))})
    path = folder / "data" / "train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    schema = features.arrow_schema
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        writer.write_table(pa.concat_tables([once.cast(schema)] * (rows // 100)).combine_chunks(), row_group_size=rows)
    return path


# ---------------------------------------------------------------------------------------------------------------- rows


def test_rows_are_cut_before_they_are_listed(tmp_path, monkeypatch):
    path = repeated_rows(tmp_path / "set", 20_000, "a dog on a mat")
    assert path.stat().st_size < 83_000
    monkeypatch.setattr(table, "MOST_LISTED", 10_000)  # the ids of all rows take more
    scenes = load_captioned(str(tmp_path / "set"), limit=10).splits["train"]
    assert len(scenes) == 10 and scenes[9].captions == ("a dog on a mat",) * 5


def test_a_group_of_rows_is_read_in_pieces(tmp_path):
    repeated_rows(tmp_path / "set", 5_000, "a dog")
    builder = make_builder(str(tmp_path / "set"), str(tmp_path), None, None, tmp_path / "cache")
    assert builder.config.batch_size < 1000


def test_equal_rows_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    path = repeated_rows(tmp_path / "set", 2_000, "a dog on a mat " * 200)
    monkeypatch.setenv("RANKSCOPE_DOWNLOAD_GB", "0.01")
    assert path.stat().st_size < 30_000
    with pytest.raises(DataError, match=r"unpacks to more than 0.01 GB.*RANKSCOPE_DOWNLOAD_GB"):
        load_captioned(str(tmp_path / "set"), limit=10)


def test_more_rows_than_are_read_are_said(tmp_path, monkeypatch):
    for module in (table, opening):
        monkeypatch.setattr(module, "MOST_ROWS", 12)
    write_split(tmp_path, "train", {"label": [n // 2 for n in range(40)]})
    report = inspect_data(DataChoice(source=str(tmp_path)))
    assert "Only the first 12 rows of 'train' are read." in report.notes
    data = load_data(DataChoice(source=str(tmp_path)))
    assert len(data.train) + len(data.test) == 12


def test_a_column_of_long_texts_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "MOST_LISTED", 10_000)
    repeated_rows(tmp_path / "set", 200, "a long tale " * 20)
    with pytest.raises(DataError, match="Column 'captions' takes more than"):
        load_captioned(str(tmp_path / "set"))
    assert load_captioned(str(tmp_path / "set"), limit=5).splits["train"]


def test_sentences_of_other_photos_are_not_kept(tmp_path):
    repeated_rows(tmp_path / "photos", 100, "here")
    repeated_rows(tmp_path / "said", 400, "there")
    dataset = load_captioned(str(tmp_path / "photos"), captions_from=str(tmp_path / "said"), limit=3)
    assert [scene.captions for scene in dataset.splits["train"]] == [("there",) * 20] * 3


# ------------------------------------------------------------------------------------------------------------- columns


def test_many_columns_are_capped(tmp_path):
    rng = np.random.default_rng(0)
    many = {f"note{n}": [int(v) for v in rng.integers(0, 4, 40)] for n in range(200)}
    write_split(tmp_path, "train", {**many, "species": [n // 4 for n in range(40)]})
    report = inspect_data(DataChoice(source=str(tmp_path)))
    assert report.proposal.label_columns == ("species",)  # named like a label: looked at although it comes last
    assert len(report.labels) == columns.MOST_COLUMNS
    assert "137 columns were not looked at" in report.notes[0]
    chosen = inspect_data(DataChoice(source=str(tmp_path), label_columns=("note199",)))
    assert chosen.proposal is not None or "note199" in chosen.problems[0]


def test_columns_with_too_many_values_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "MOST_NAMES", 20)
    write_split(tmp_path, "train", {"label": [n // 4 for n in range(48)], "kind": [f"k{n // 2}" for n in range(48)]})
    report = inspect_data(DataChoice(source=str(tmp_path)))
    assert report.proposal.label_columns == ("label",)
    assert [column.reason for column in report.labels] == ["", "it has more than 20 values"]
    with pytest.raises(DataError, match="'kind' was asked for; it has more than 20 values"):
        load_data(DataChoice(source=str(tmp_path), label_columns=("kind",)))


# -------------------------------------------------------------------------------------------------------------- images


@pytest.fixture
def opened(monkeypatch):
    """Names of files that `datasets` decoded on its own."""
    found = []
    monkeypatch.setattr(datasets.Image, "decode_example", lambda self, value, **_: found.append(value))
    return found


NESTED = {
    "list": (datasets.List(datasets.Image()), lambda cell: [cell, cell]),
    "struct": ({"inner": datasets.Image()}, lambda cell: {"inner": cell}),
    "list of structs": (datasets.List({"inner": datasets.Image()}), lambda cell: [{"inner": cell}]),
    "large list": (datasets.LargeList(datasets.Image()), lambda cell: [cell]),
}


@pytest.mark.parametrize("shape", NESTED)
def test_nested_images_are_never_opened(tmp_path, opened, shape):
    secret = tmp_path / "secret.png"
    secret.write_bytes(picture(5))
    kind, wrap = NESTED[shape]
    plain = datasets.Features(
        {"image": datasets.Image(decode=False), "views": _undecoded(kind), "label": datasets.Value("int64")}
    )
    named = {"bytes": None, "path": str(secret)}
    rows = {"image": [{"bytes": picture(n), "path": None} for n in range(8)], "views": [wrap(named)] * 8, **LABELS}
    made = datasets.Dataset.from_dict(rows, features=plain)
    decoding = datasets.Features({**plain, "image": datasets.Image(), "views": kind})
    (tmp_path / "set" / "data").mkdir(parents=True)
    arrow = made.data.table.replace_schema_metadata(decoding.arrow_schema.metadata)
    pq.write_table(arrow, tmp_path / "set" / "data" / "train-00000-of-00001.parquet")
    assert inspect_data(DataChoice(source=str(tmp_path / "set"))).problems == ()
    assert len(load_data(DataChoice(source=str(tmp_path / "set"))).train) == 4
    builder = make_builder(str(tmp_path / "set"), str(tmp_path), None, None, tmp_path / "cache")
    first = head(builder.as_streaming_dataset()["train"], 3)
    assert first is not None and len(first) == 3 and str(secret) in str(first.values("views"))
    assert opened == []


def _undecoded(kind):
    if isinstance(kind, datasets.Image):
        return datasets.Image(decode=False)
    if isinstance(kind, dict):
        return {name: _undecoded(inner) for name, inner in kind.items()}
    return type(kind)(_undecoded(kind.feature))


def test_encoded_images_are_measured_before_they_are_read(monkeypatch):
    cells = [b"x" * n for n in (10, 0, 30)]
    made = datasets.Dataset.from_dict({"image": [{"bytes": b or None, "path": None} for b in cells]})
    made = made.cast_column("image", datasets.Image(decode=False))
    arrow_table = ArrowTable(made)
    assert arrow_table.sizes("image", np.array([2, 0, 1])).tolist() == [30, 10, 0]
    assert arrow_table.images("image", np.arange(3)) == [cells[0], None, cells[2]]
    monkeypatch.setattr(table, "LARGEST_FILE", 29)
    assert arrow_table.images("image", np.arange(3)) == [cells[0], None, None]


def test_chunks_are_bounded_by_bytes():
    class Claims:
        def sizes(self, rows):
            return np.where(rows % 2 == 0, 50_000_000, 10)

    made = list(chunks(Claims(), 600))
    assert np.concatenate(made).tolist() == list(range(600))
    assert max(Claims().sizes(rows).sum() for rows in made) <= 128_000_000


# ------------------------------------------------------------------------------------------------------- files and zips


def packed(path: Path, files: Files, **options) -> Path:
    path.write_bytes(zipped(files, **options))
    return path


CLASSES = images(*"abcd")


@pytest.mark.parametrize(
    "name", ["../1.png", "e/../../1.png", "/1.png", "C:\\1.png", "\\e\\1.png", "e\\..\\..\\1.png", "\\\\host\\a.png"]
)
def test_zips_with_names_that_lead_out_are_refused(tmp_path, name):
    with pytest.raises(DataError, match="names that lead out of it"):
        load_data(DataChoice(source=str(packed(tmp_path / "own.zip", {**CLASSES, name: picture(1)}))))


def test_links_in_zips_are_left_out(tmp_path):
    packed(tmp_path / "own.zip", CLASSES)
    with zipfile.ZipFile(tmp_path / "own.zip", "a") as archive:
        link = zipfile.ZipInfo("a/link.png")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/hostname")
    assert inspect_data(DataChoice(source=str(tmp_path / "own.zip"))).splits == {"all": 12}


def test_a_zip_is_opened_once(tmp_path):
    place = files.Archive(packed(tmp_path / "own.zip", CLASSES))
    (tmp_path / "own.zip").unlink()
    assert {"/".join(file.parts): place.read(file) for file in place.files()} == CLASSES


def test_a_member_that_unpacks_to_more_than_it_states_is_not_unpacked_whole(tmp_path, monkeypatch):
    packed(tmp_path / "own.zip", {"a/bomb.png": bytes(40_000_000)}, compression=zipfile.ZIP_DEFLATED)
    data = (tmp_path / "own.zip").read_bytes()
    stated = (40_000_000).to_bytes(4, "little")
    assert data.count(stated) == 2
    (tmp_path / "own.zip").write_bytes(data.replace(stated, (1000).to_bytes(4, "little")))
    asked = []
    plain = zlib.decompressobj

    class Watched:
        def __init__(self, *arguments):
            self._inner = plain(*arguments)

        def decompress(self, part, most=0):
            found = self._inner.decompress(part, most)
            asked.append(len(found))
            return found

        def __getattr__(self, name):
            return getattr(self._inner, name)

    monkeypatch.setattr(zipfile.zlib, "decompressobj", Watched)
    place = files.Archive(tmp_path / "own.zip")
    found = list(place.files())
    assert [file.size for file in found] == [1000] and place.read(found[0]) is None
    assert asked and max(asked) <= 4096


def repeated_members(path: Path) -> Path:
    """A zip file of a hundred kilobytes whose table of contents names its one member thousands of times."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/0.png", bytes(20_000_000))
        for n in range(1, 2_000):
            again = copy.copy(archive.filelist[0])
            again.filename = again.orig_filename = f"{'abcd'[n % 4]}/{n}.png"
            archive.filelist.append(again)
    return path


def test_zips_that_unpack_to_far_more_than_images_do_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"unpacks to 40.0 GB, more than 200 times its size"):
        load_data(DataChoice(source=str(repeated_members(tmp_path / "own.zip"))))


def test_folders_of_a_zip_within_each_other_are_bounded(tmp_path):
    deep = {"a/" * 20_000 + "1.png": picture(1), "labels.csv": b"file_name,label\n1.png,a\n"}
    with pytest.raises(DataError, match="over 100 folders within each other"):
        load_data(DataChoice(source=str(packed(tmp_path / "own.zip", {**CLASSES, **deep}))))


def test_a_name_of_thousands_of_parts_is_looked_up_by_its_end():
    names = Names([("a", "1.png")])
    start = time.process_time()
    assert names.row("x/" * 60_000 + "a/1.png", ()) == 0 and names.row("x/" * 60_000 + "2.png", ()) is None
    assert time.process_time() - start < 2


def test_levels_of_many_images_are_read_at_once():
    paths = [(f"c{n % 100}", f"{n}.png") for n in range(30_000)]
    start = time.process_time()
    assert [len(level) for level in Folders.of(paths).levels()] == [30_000]
    assert time.process_time() - start < 5


def test_unusual_packing_is_refused(tmp_path):
    with pytest.raises(DataError, match="ordinary zip"):
        load_data(DataChoice(source=str(packed(tmp_path / "own.zip", CLASSES, compression=zipfile.ZIP_LZMA))))


def test_a_file_too_large_for_an_image_is_not_read(tmp_path):
    write_tree(tmp_path / "own", ["a", "b", "c", "d"])
    with (tmp_path / "own" / "a" / "big.png").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    data = load_data(DataChoice(source=str(tmp_path / "own")))
    assert len(data.train) + len(data.test) == 12 and "1 image could not be read" in data.notes[-1]


def test_a_card_cannot_name_files_of_the_machine(tmp_path):
    write_split(tmp_path / "secret", "train", LABELS)
    write_split(tmp_path / "set", "train", LABELS)
    named = tmp_path / "secret" / "data" / "*.parquet"
    for path in (named, "../secret/data/*.parquet"):
        card = f"---\nconfigs:\n- config_name: default\n  data_files: {path}\n---\n"
        (tmp_path / "set" / "README.md").write_text(card)
        with pytest.raises(DataError, match="names files that are not its own"):
            inspect_data(DataChoice(source=str(tmp_path / "set")))


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "gz"])
def test_archives_are_measured_before_they_are_unpacked(tmp_path, kind):
    path, much = tmp_path / f"x.{kind}", bytes(3_000_000)
    if kind == "zip":
        packed(path, {"a.png": much}, compression=zipfile.ZIP_DEFLATED)
    elif kind == "gz":
        path.write_bytes(gzip.compress(much))
    else:
        path.write_bytes(gzip.compress(tarred({"a.png": much})))
    assert path.stat().st_size < 10_000
    assert 3_000_000 <= opening.check_archive(path, "some/set", 4_000_000) < 3_020_000
    with pytest.raises(DataError, match=r"'some/set' unpacks to more than 0\.002 GB"):
        opening.check_archive(path, "some/set", 2_000_000)


def test_archives_of_a_set_are_measured(tmp_path, monkeypatch):
    (tmp_path / "set").mkdir()
    packed(tmp_path / "set" / "train.zip", {**CLASSES, "a/x.png": bytes(3_000_000)}, compression=zipfile.ZIP_DEFLATED)
    monkeypatch.setenv("RANKSCOPE_DOWNLOAD_GB", "0.002")
    with pytest.raises(DataError, match=r"unpacks to more than 0\.002 GB"):
        load_captioned(str(tmp_path / "set"))
