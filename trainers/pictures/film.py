"""A film of a run's maps: points move from map to map, with step and numbers. GIF, WebP by Pillow; MP4, WebM by av."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np
from PIL import Image

from trainers.errors import ParameterError, UserError
from trainers.pictures.map_drawing import Moment
from trainers.pictures.moments import Moments, moments_of
from trainers.progress import Progress, silent
from trainers.runs.atomic_files import write_bytes
from trainers.runs.reader import RunReader
from trainers.runs.regular import replaceable

SECONDS = (5, 20)
"""The shortest and the longest film."""
SIZES: Mapping[str, tuple[int, int]] = MappingProxyType({"720p": (1280, 720), "square": (720, 720)})
"""Width and height in pixels, by name."""
_REST = 1.0  # seconds that the last map stands


@dataclass(frozen=True, kw_only=True)
class _Format:
    """How films with one ending are written.

    Attributes:
        codec: of FFmpeg's libraries, which the package av brings, or the name of one of Pillow's formats.
        by_av: whether it is one of FFmpeg's.
        rate: pictures a second.
        shrink: what their sides are divided by.
    """

    codec: str
    by_av: bool
    rate: int
    options: Mapping[str, str | int]
    shrink: int = 1


FORMATS: Mapping[str, _Format] = MappingProxyType(
    {
        "mp4": _Format(codec="libx264", by_av=True, rate=30, options={"crf": "20", "preset": "veryfast"}),
        "webm": _Format(
            codec="libvpx-vp9",
            by_av=True,
            rate=30,
            options={"crf": "32", "b": "0", "cpu-used": "6", "row-mt": "1"},
        ),
        "webp": _Format(codec="WEBP", by_av=False, rate=20, options={"lossless": 1, "quality": 30, "method": 1}),
        "gif": _Format(codec="GIF", by_av=False, rate=12, options={"optimize": 0}, shrink=2),
    }
)


def lacking(ending: str) -> str:
    """Return what films with an ending need that is not installed, and the command that brings it; empty: nothing."""
    if not FORMATS[ending].by_av or find_spec("av") is not None:
        return ""
    return "MP4 and WebM films need the package av: pip install av. Without it films are WebP or GIF."


def write_film(
    folder: RunReader, path: Path, *, seconds: float = 10, size: str = "720p", tell: Progress = silent
) -> None:
    """Write the film of a run's maps to a file, whose ending says the format: one of :data:`FORMATS`.

    Args:
        seconds: how long it is, within :data:`SECONDS`; in the last one the last map is at rest.
        size: one of :data:`SIZES`; a GIF has half as many pixels a side, and WebP and GIF have 255 colours.
        tell: told how far it is; what it raises ends the film, and no file is left.

    Raises:
        UserError: the run has no maps, or is a plan of several runs, or a package is not installed.
        ParameterError: ending, length or size are none of these.
        OSError: it cannot be written there.
    """
    ending = path.suffix.removeprefix(".").lower()
    if ending not in FORMATS:
        raise ParameterError(f"A film ends in {', '.join(f'.{name}' for name in FORMATS)}; got {path.name!r:.60}.")
    if size not in SIZES:
        raise ParameterError(f"A film's size is one of {', '.join(SIZES)}; got {size!r:.40}.")
    if not SECONDS[0] <= seconds <= SECONDS[1]:
        raise ParameterError(f"A film takes {SECONDS[0]} to {SECONDS[1]} seconds; got {seconds:g}.")
    if lacks := lacking(ending):
        raise UserError(lacks)
    form, (width, height), moments = FORMATS[ending], SIZES[size], moments_of(folder)
    frames = _frames(moments, width, height, round(seconds * form.rate), form.rate, tell)
    path = replaceable(path)
    path.parent.stat()  # before the work: the folder must be there
    if form.by_av:
        content = _by_av(frames, form, ending, width, height)
    else:
        content = _by_pillow(frames, form, moments.drawn(width, height))
    write_bytes(path, content, home=path.parent, shared=True)


def _frames(moments: Moments, width: int, height: int, count: int, rate: int, tell: Progress) -> Iterator[np.ndarray]:
    """Yield the pictures, uint8 RGB ``[height, width, 3]``; every map takes as long as every other."""
    drawing, last = moments.drawing(width, height), len(moments.steps) - 1
    moving = max(1, count - 1 - round(_REST * rate))
    for number in range(count):
        tell(f"drawing the film, {number + 1} of {count} pictures", number / count)
        at = min(1.0, number / moving) * last
        before = min(int(at), max(0, last - 1))
        after, part = min(before + 1, last), at - before
        eased = part * part * (3 - 2 * part)
        step = round(moments.steps[before] + (moments.steps[after] - moments.steps[before]) * part)
        yield drawing.draw(
            Moment(
                xy=moments.xy[before] * (1 - eased) + moments.xy[after] * eased,
                words=f"step {step:,} of {moments.steps[-1]:,} · {len(moments.labels):,} images",
                numbers=moments.numbers[after if part > 0.5 else before],
                share=step / max(1, moments.steps[-1]),
            )
        )


def _by_av(frames: Iterator[np.ndarray], form: _Format, container_format: str, width: int, height: int) -> bytes:
    import av

    file = io.BytesIO()
    with av.open(file, "w", format=container_format) as container:
        options = {name: str(value) for name, value in form.options.items()}
        stream = container.add_stream(form.codec, rate=Fraction(form.rate), options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for pixels in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
    return file.getvalue()


def _by_pillow(frames: Iterator[np.ndarray], form: _Format, last: np.ndarray) -> bytes:
    """Write an animation that plays again and again; ``last``, a picture of all points apart, gives the colours."""

    def small(pixels: np.ndarray) -> Image.Image:
        image = Image.fromarray(pixels)
        size = (image.width // form.shrink, image.height // form.shrink)
        return image if form.shrink == 1 else image.resize(size, Image.Resampling.LANCZOS)

    shared = small(last).quantize(255, dither=Image.Dither.NONE)  # one table of colours: nothing flickers
    first, *rest = [small(pixels).quantize(palette=shared, dither=Image.Dither.NONE) for pixels in frames]
    starts = [round(100 * number / form.rate) * 10 for number in range(len(rest) + 2)]  # GIF counts in 10 ms
    file = io.BytesIO()
    first.save(
        file,
        form.codec,
        save_all=True,
        append_images=rest,
        duration=[after - before for before, after in pairwise(starts)],
        loop=0,
        **form.options,
    )
    return file.getvalue()
