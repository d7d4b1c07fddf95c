"""Names in a WebDataset: what is the key of an image, what the field; the same from a folder and from the Hub."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.data.world import picture
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.labelled.archive_names import division
from trainers.errors import DataError


def packed_tar(files: dict[str, bytes]) -> bytes:
    """Return a tar file of them."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return data.getvalue()


def samples(keys: list[str], *fields: str) -> list[str]:
    """Names of so many images, each with these fields."""
    return [f"{key}.{field}" for key in keys for field in fields]


# names, the first of them as key and field
DIVIDED: dict[str, tuple[list[str], tuple[str, str]]] = {
    "plain": (samples(["0", "1", "2"], "png", "cls"), ("0", "png")),
    "several images": (samples(["0", "1", "2"], "left.png", "right.png", "cls"), ("0", "left.png")),
    "masks": (samples(["0", "1", "2"], "png", "seg.png", "json"), ("0", "png")),
    "a rare field": ([*samples([*"0123456"], "a.png", "b.png"), "6.note.txt"], ("0", "a.png")),
    "one image": (samples(["0"], "left.png", "right.png"), ("0", "left.png")),
    "points and blanks": (samples(["scan 0.0 (v1)", "scan 0.1 (v1)"], "png", "cls"), ("scan 0.0 (v1)", "png")),
    "the same before points": (samples(["x 0.0 (new)", "x 0.1 (new)", "x 1.0 (new)"], "png"), ("x 0.0 (new)", "png")),
    "versions": (samples(["v1.0", "v1.1", "v1.2"], "jpg", "txt"), ("v1.0", "jpg")),
    "numbers and several images": (samples(["a.0", "a.1", "a.2"], "left.png", "right.png"), ("a.0", "left.png")),
    "words": (samples(["oak.tall", "elm.small", "fir.old", "yew.new"], "png", "cls"), ("oak.tall", "png")),
    "addresses": (samples(["www.a.org", "www.b.com", "en.c.net"], "jpg", "json"), ("www.a.org", "jpg")),
    "times": (samples(["2024.05.01T10.30", "2024.05.02T11.30"], "webp", "cls"), ("2024.05.01T10.30", "webp")),
    "folders with points": (samples(["v1.0/0", "v1.0/1"], "png", "cls"), ("v1.0/0", "png")),
    "other letters": (samples(["né.é 1", "né.é 2"], "png", "cls"), ("né.é 1", "png")),
    "capitals": (samples(["0", "1"], "PNG", "cls"), ("0", "png")),
    "packed": (samples(["a.0", "a.1"], "json.gz", "png"), ("a.0", "json.gz")),
    "left behind": ([*samples(["a.0", "a.1"], "png"), "._0.png", "__MACOSX/0.png", ".DS_Store"], ("a.0", "png")),
}  # fmt: skip


@pytest.mark.parametrize("name", DIVIDED)
def test_names_are_divided(name: str) -> None:
    names, first = DIVIDED[name]
    assert division(names)(names[0]) == first


def _set(keys: list[str], *, image: str = "png", label: str = "cls", odd: bool = False) -> dict[str, bytes]:
    files = {"._x.png": b"no image", "notes": b"none"} if odd else {}
    for at, key in enumerate(keys):
        files[f"{key}.{image}"] = picture(at)
        files[f"{key}.{label}"] = (b"%d" % (at // 3)) if label == "cls" else (b"NA", b"None", b"nan", b"x")[at // 3]
    return files


SETS = {
    "points": _set([f"v1.0/scan {n // 3}.{n % 3} (clean version)" for n in range(12)]),
    "texts": _set([f"{n // 3}.{n % 3}" for n in range(12)], label="txt"),
    "capitals": _set([f"pot.{n}" for n in range(12)], image="PNG", odd=True),
}


@pytest.mark.parametrize("name", SETS)
def test_a_webdataset_is_read_with_its_keys(name: str, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train-000.tar").write_bytes(packed_tar(SETS[name]))
    choice = DataChoice(source=str(tmp_path / "set"), image_size=16)
    report = inspect_data(choice)
    assert report.image_columns == ("png",)
    (label,) = (each for each in report.labels if each.usable)
    assert label.classes == 4 and label.name in ("cls", "txt")
    data = load_data(choice)
    shades = [int(image[0].float().mean()) for part in (data.train, data.test) for image in part.images]
    assert sorted(shades) == [*range(12)]
    kept = {f"{key.rsplit('.', 1)[0]}.png" for key in SETS[name] if key.lower().endswith(".png") and key[0] != "."}
    assert {*data.train.names, *data.test.names} == kept


BROKEN = {
    "no tar": (b"<html>", "'train.tar' of .* cannot be read: "),
    "cut": (packed_tar(SETS["points"])[:5000], "'train.tar' of .* cannot be read: unexpected end of data"),
    "different": (
        packed_tar({f"{n}.{('png', 'cls')[n % 2]}": picture(n) if n % 2 == 0 else b"1" for n in range(8)}),
        "no WebDataset: its first images have different fields. Give every image the same",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_tar_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    content, words = BROKEN[name]
    (tmp_path / "train.tar").write_bytes(content)
    with pytest.raises(DataError, match=words):
        inspect_data(DataChoice(source=str(tmp_path)))
