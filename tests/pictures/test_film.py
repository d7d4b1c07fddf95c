"""Films of maps: every format is read back, colours and positions are those of the maps, and bad wishes are refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from explorer.settings import ASSETS
from trainers.cli.main import main
from trainers.errors import ParameterError, RunError
from trainers.pictures.film import FORMATS, SIZES, write_film
from trainers.pictures.map_drawing import MapDrawing, Moment
from trainers.pictures.moments import moments_of
from trainers.pictures.palette import palette
from trainers.runs import RunFolder

ROOT = Path(__file__).parents[2]
RUN = "01M82DDKVF2X86SWKXCY5TMG2H"


@pytest.fixture
def run() -> RunFolder:
    return RunFolder.open(ASSETS / "recorded", RUN, read_only=True)


def played(path: Path, size: tuple[int, int]) -> list[np.ndarray]:
    """Return the pictures of a GIF or WebP film of five seconds, uint8 RGB; equal ones in a row are one."""
    with Image.open(path) as film:
        assert film.format == path.suffix[1:].upper() and film.size == size
        assert film.n_frames >= 20 and film.info["loop"] == 0, "again and again"
        durations, pictures = [], []
        for number in range(film.n_frames):
            film.seek(number)
            pictures.append(np.asarray(film.convert("RGB")))
            durations.append(film.info["duration"])
    assert sum(durations) == 5000 and min(durations) >= 50, "milliseconds"
    return pictures


@pytest.mark.parametrize(
    ("ending", "size"),
    [
        ("mp4", "square"),
        *(pytest.param(*more, marks=pytest.mark.long) for more in [("webm", "square"), ("gif", "720p")]),
    ],
)
def test_a_film_is_as_long_and_as_large_as_was_asked_for(
    run: RunFolder, tmp_path: Path, ending: str, size: str
) -> None:
    told: list[float] = []
    path = tmp_path / f"maps.{ending}"
    write_film(run, path, seconds=5, size=size, tell=lambda _text, share: told.append(share))
    form, (width, height) = FORMATS[ending], SIZES[size]
    if ending == "gif":
        pictures = played(path, (width // form.shrink, height // form.shrink))
    else:
        with av.open(str(path)) as film:
            pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
        assert len(pictures) == 5 * form.rate and pictures[0].shape == (height, width, 3)
    assert np.abs(pictures[0].astype(int) - pictures[-1]).mean() > 0.5, "points move"
    assert told == sorted(told) and len(told) == 5 * form.rate
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_what_stops_a_film_leaves_no_file(run: RunFolder, tmp_path: Path) -> None:
    def stop(_text: str, share: float) -> None:
        if share > 0.1:
            raise KeyboardInterrupt

    (tmp_path / "maps.mp4").write_bytes(b"an earlier one")
    with pytest.raises(KeyboardInterrupt):
        write_film(run, tmp_path / "maps.mp4", seconds=5, tell=stop)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"an earlier one"]


@pytest.mark.parametrize(
    ("name", "wish", "said"),
    [
        ("maps.avi", {}, "ends in .mp4, .webm, .webp, .gif; got 'maps.avi'"),
        ("maps.mp4", {"seconds": 21}, "takes 5 to 20 seconds; got 21"),
        ("maps.mp4", {"seconds": float("nan")}, "takes 5 to 20 seconds"),
        ("maps.mp4", {"size": "4k"}, "one of 720p, square; got '4k'"),
    ],
)
def test_other_wishes_are_refused(
    run: RunFolder, tmp_path: Path, name: str, wish: dict[str, object], said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        write_film(run, tmp_path / name, **wish)  # type: ignore[arg-type]


def test_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(ASSETS / "recorded" / RUN, runs / RUN)
    out = tmp_path / "maps.gif"
    assert main(["film", RUN[:16], "--runs", str(runs), "--out", str(out), "--seconds", "5", "--size", "square"]) == 0
    assert "wrote" in capsys.readouterr().out and out.is_file()
    assert main(["film", RUN, "--runs", str(runs), "--out", str(tmp_path / "no" / "maps.gif")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    shutil.rmtree(runs / RUN / "layout")
    (runs / RUN / "layout").mkdir()


WITHOUT_AV = """
import json, os, sys
sys.modules["av"] = None  # as if it were not installed
from pathlib import Path
from explorer.exports import lacking, made
from explorer.server.library import Library
from explorer.settings import ASSETS
from trainers.cli.main import main
library = Library(ASSETS / "recorded", Path(sys.argv[1]) / "assets")
run = library.get(sys.argv[2])
said = [list(made(run)), lacking(run)]
os.environ["RANKSCOPE_PUBLIC"] = "1"
said.append(lacking(run))
os.environ["RANKSCOPE_PUBLIC"] = "0"
library.close()
words = ["film", run.id, "--runs", str(ASSETS / "recorded"), "--seconds", "5", "--size", "square"]
said.append([main([*words, "--out", f"{sys.argv[1]}/no.mp4"]), main(words)])
Path(sys.argv[1], "said").write_text(json.dumps(said))
"""


def test_without_av_films_are_webp_and_gif_and_what_brings_the_others_is_said(tmp_path: Path) -> None:
    words, env = [sys.executable, "-c", WITHOUT_AV, str(tmp_path), RUN], os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    offered, lacks, of_public_pages, ended = json.loads((tmp_path / "said").read_text())
    sentence = "MP4 and WebM films need the package av: pip install av. Without it films are WebP or GIF."
    assert offered == ["film.webp", "film.gif"] and lacks == [sentence] and of_public_pages == []
    assert ended == [1, 0] and sentence in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["maps.webp", "said"]
    pictures = played(tmp_path / "maps.webp", SIZES["square"])
    last = moments_of(RunFolder.open(ASSETS / "recorded", RUN, read_only=True)).drawn(*SIZES["square"])
    first, end = (np.abs(picture.astype(int) - last)[180:540].mean() for picture in (pictures[0], pictures[-1]))
    assert end < 5 and end + 0.5 < first, "it ends with the last map, in 255 colours"


def test_points_stand_where_the_map_has_them_and_have_the_colours_of_the_page() -> None:
    labels = np.array([[0, 0], [1, 1], [2, 1]])
    xy = np.array([[[-0.9, -0.9], [0.9, -0.9], [0.0, 0.9]]])
    drawing = MapDrawing(["one"], "heading", labels, 640, 640)
    pixels = drawing.draw(Moment(xy=xy, words="step 1", numbers=[""]))
    for label, colour in palette(labels).colours.items():
        rgb = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        rows, columns = np.nonzero((pixels == rgb).all(axis=2))
        assert len(rows) > 4
        left, top, side = drawing._box(0)
        x, y = xy[0, label]
        assert columns.mean() == pytest.approx(left + side * (1 + x) / 2, abs=1)
        assert rows.mean() == pytest.approx(top + side * (1 - y) / 2, abs=1)


def test_a_title_of_several_lines_is_written_on_one() -> None:
    drawing = MapDrawing(["two\nlines"], "a\nb", np.zeros((3, 1), int), 600, 400)
    assert drawing.draw(Moment(xy=np.zeros((1, 3, 2)), words="", numbers=[""])).shape == (400, 600, 3)


def test_numbers_are_the_newest_at_each_step(run: RunFolder) -> None:
    moments, rows = moments_of(run), run.scalars()
    for step, lines in zip(moments.steps, moments.numbers, strict=True):
        for arm, line in enumerate(lines):
            known = [row.value for row in rows if row.arm == arm and row.key == "R_at_1" and row.step <= step]
            assert f"{known[-1]:.3f}" in line if known else "R@1" not in line


def test_a_loss_that_diverged_leaves_its_map_empty() -> None:
    labels = np.zeros((3, 1), int)
    xy = np.stack([np.full((3, 2), np.nan), np.zeros((3, 2))])
    pixels = MapDrawing(["a", "b"], "", labels, 600, 400).draw(Moment(xy=xy, words="", numbers=["", ""]))
    assert pixels.shape == (400, 600, 3)


def test_a_run_without_maps_says_so(tmp_path: Path) -> None:
    from tests.tiny import tiny_config, write_images

    folder = RunFolder.create(tmp_path / "runs", tiny_config(write_images(tmp_path / "images")))
    with pytest.raises(RunError):
        moments_of(folder)
