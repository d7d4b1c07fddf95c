"""Image files are opened in one place: known formats only, measured before they are unpacked; queries and uploads."""

from __future__ import annotations

import re
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.data import bombs
from tests.data.bombs import repeated
from tests.data.world import claimed, encode
from trainers.data import image_file
from trainers.data.decode import decode_query, header, square, with_channels
from trainers.data.image_file import (
    BROWSER_FORMATS,
    BUDGET,
    FORMATS,
    LARGEST_FILE,
    ByteBudget,
    UndecodableError,
    check_upload,
    open_header,
    scans,
    unpacked_bytes,
)
from trainers.data.picture import read_picture
from trainers.errors import DataError

ROOT = Path(__file__).resolve().parents[2]
NOISE = np.random.default_rng(0).integers(0, 255, (64, 96, 3), np.uint8)


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_that_are_opened(kind):
    data = encode(NOISE, kind)
    assert header(data) == (96, 64, False) and square(data, 8).shape == (3, 8, 8)
    assert read_picture(data).pixels.shape == (64, 96, 3)


@pytest.mark.parametrize("kind", ["EPS", "ICO", "TGA", "PCX", "SGI", "IM", "DDS", "ICNS"])
def test_formats_that_are_not(kind):
    data = encode(NOISE, kind)
    for read in (header, lambda data: square(data, 8), read_picture):
        with pytest.raises(UndecodableError, match=r"not an image that can be read\. Give a JPEG, PNG, WebP"):
            read(data)


def test_one_function_opens_images():
    """Beside the code that the card of an ONNX file gives to others."""
    paths = [*(ROOT / "trainers").rglob("*.py"), *(ROOT / "explorer").rglob("*.py"), ROOT / "app.py"]
    openers = re.compile(r"Image\.open|ImageFile|imread|imdecode|torchvision\.io|imageio|skimage")
    found = [path.relative_to(ROOT).as_posix() for path in paths if openers.search(path.read_text())]
    assert sorted(found) == ["trainers/data/image_file.py", "trainers/publishing/loader.py"]


@pytest.mark.parametrize(
    ("data", "least"),
    [
        (claimed(1000, 1000, 0), 1),
        (claimed(1000, 1000, 0, 16), 2),
        (claimed(1000, 1000, 2, 16), 8),
        (claimed(1000, 1000, 6), 8),
        (encode(np.zeros((1000, 1000), np.float32), "TIFF"), 8),
        (encode(np.zeros((1000, 1000, 3), np.uint8), "WEBP"), 16),
        (encode(np.zeros((1000, 1000, 3), np.uint8), "JPEG", "CMYK"), 4),
        (encode(np.zeros((1000, 1000, 3), np.uint8), "JPEG", progressive=True, subsampling=0), 10),
    ],
    ids=["grey", "16 bits", "RGB of 16 bits", "alpha", "float", "WebP", "CMYK", "progressive JPEG"],
)
def test_bytes_are_counted_not_pixels(data, least):
    with open_header(data) as picture:
        needed = unpacked_bytes(picture, 1_000_000) / 1e6
    assert least <= needed <= 4 * least


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_the_same_pixels_may_be_too_many_bytes():
    side = 11_000
    assert BUDGET // 8 < side**2 < BUDGET // 4
    with pytest.raises(UndecodableError, match="damaged or cut short"):  # it was begun: its bytes are allowed
        square(claimed(side, side, 2), 8)
    with pytest.raises(UndecodableError, match=r"11,000 x 11,000 pixels \(PNG, RGBA\) takes 968 MB .* above 512 MB"):
        square(claimed(side, side, 6), 8)


@pytest.mark.parametrize("read", [header, lambda data: square(data, 8), read_picture])
def test_a_jpeg_of_very_many_scans_is_not_unpacked(read):
    with pytest.raises(UndecodableError, match="more than 32 scans"):
        read(repeated(64, 40))
    read(repeated(64, 20))


def test_only_the_scans_of_the_image_itself_are_counted():
    inner, photo = repeated(64, 40), encode(NOISE, "JPEG", progressive=True)
    remark = b"\xff\xe1" + struct.pack(">H", len(inner) + 2) + inner
    ours = scans(photo)
    assert 2 <= ours <= 15 and scans(photo[:2] + remark + photo[2:]) == ours
    assert scans(photo + inner) == ours, "what follows the image"
    assert scans(photo.replace(b"\xff\xda", b"\xff\xff\xff\xda")) == ours, "filled up before a marker"
    assert scans(encode(NOISE, "JPEG")) == 1
    square(photo[:2] + remark + photo[2:], 8)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(("width", "height"), [(1, 100_000_000), (100_000_000, 1), (16_385, 1)])
@pytest.mark.parametrize("read", [header, lambda data: square(data, 8), read_picture])
def test_each_side_is_bounded_as_well_as_their_product(read, width, height):
    with pytest.raises(UndecodableError, match=f"{width:,} x {height:,} pixels; a side may have 16,384"):
        read(claimed(width, height, 0))


def test_what_pillow_keeps_of_each_row_is_counted():
    with open_header(claimed(1, 16_384, 0)) as picture:
        assert unpacked_bytes(picture, 16_384) == 16_384 * (4 + 8)


def test_a_jpeg_is_unpacked_at_the_size_that_is_wanted():
    with open_header(encode(np.zeros((2000, 3000, 3), np.uint8), "JPEG")) as picture:
        whole = unpacked_bytes(picture, 6_000_000)
        picture.draft(None, (100, 100))
        assert unpacked_bytes(picture, 6_000_000) * 60 < whole
        with image_file.unpacked(picture, 100):
            assert picture.size == (375, 250)


def test_a_tile_larger_than_the_picture_counts():
    with open_header(encode(NOISE, "TIFF")) as picture:
        before = unpacked_bytes(picture, 96 * 64)
        picture.tag_v2[322] = picture.tag_v2[323] = 50_000
        assert unpacked_bytes(picture, 96 * 64) > BUDGET > before


def test_large_pictures_share_one_budget(monkeypatch):
    seen = []

    class Watched(ByteBudget):
        def hold(self, count):
            seen.append(count)
            return super().hold(count)

    monkeypatch.setattr(image_file, "_BUDGET", Watched(BUDGET))
    wide = encode(np.zeros((700, 800, 3), np.uint8))
    square(wide, 8)
    read_picture(wide)
    square(encode(NOISE), 8)
    assert seen == [700 * (800 * 4 + 8)] * 2


@pytest.mark.parametrize(("count", "most"), [(60, 1), (40, 2), (7, 14)])
def test_what_is_unpacked_at_one_time_is_bounded(count, most):
    budget, begun, held, peak = ByteBudget(100), threading.Barrier(20), [0], [0]
    lock = threading.Lock()

    def work():
        begun.wait(60)
        with budget.hold(count):
            with lock:
                held[0] += 1
                peak[0] = max(peak[0], held[0])
            threading.Event().wait(0.002)
            with lock:
                held[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 1 <= peak[0] <= most and held == [0]
    with budget.hold(100):  # everything was given back
        pass


def test_a_large_one_is_not_overtaken():
    budget, order = ByteBudget(10), []
    first, waiting = threading.Event(), []

    def work(name, count):
        with budget.hold(count):
            order.append(name)

    with budget.hold(5):
        for name, count in (("large", 10), ("small", 1)):
            waiting.append(threading.Thread(target=work, args=(name, count)))
            waiting[-1].start()
            while len(budget.waiting) < len(waiting):
                first.wait(0.001)
        assert order == []
    for thread in waiting:
        thread.join(60)
    assert order == ["large", "small"]


@pytest.mark.parametrize(
    "data",
    [b"", b"text", b"%PDF-1.4", bytes(LARGEST_FILE + 1), encode(NOISE)[:60], encode(NOISE, "JPEG")[:400]],
    ids=["empty", "text", "pdf", "huge", "cut png", "cut jpeg"],
)
def test_what_is_no_picture_is_refused_in_a_sentence(data):
    with pytest.raises(UndecodableError):
        square(data, 8)
    for read in (read_picture, lambda data: decode_query(data, channels=3, side=16)):
        with pytest.raises(DataError, match=r"^[A-Z].*\.$"):
            read(data)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_broken_remarks_do_not_cost_the_photo():
    broken = b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + bytes(range(40))
    assert square(encode(NOISE, "JPEG", exif=broken), 8).shape == (3, 8, 8)


# ----------------------------------------------------------------- pictures and queries


def test_the_size_of_a_picture_is_bounded_and_its_scale_kept():
    for height, width, shape, scale in (
        (1000, 2000, (256, 512), 0.256),
        (60, 100, (60, 100), 1),
        (20, 4000, (3, 512), 0.128),
    ):
        picture = read_picture(encode(np.zeros((height, width, 3), np.uint8)))
        assert (picture.pixels.shape, picture.scale) == ((*shape, 3), scale)
        assert (picture.width, picture.height) == (width, height)
    for height, width in ((1, 1), (400, 15)):
        with pytest.raises(DataError, match="at least 16"):
            read_picture(encode(np.zeros((height, width, 3), np.uint8)))


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_a_broken_profile_drops_the_profile_not_the_photo(kind):
    picture = read_picture(encode(np.full((20, 20, 3), (255, 0, 0), np.uint8), kind, "CMYK", icc_profile=b"no profile"))
    assert tuple(picture.pixels[5, 5] // 250) == (1, 0, 0) and "colour profile is damaged" in picture.notes[0]


RED = (200, 10, 10)


def test_an_image_is_read_as_in_training() -> None:
    assert torch.equal(decode_query(encode(NOISE), channels=3, side=16)[0], torch.from_numpy(square(encode(NOISE), 16)))


def test_the_first_frame_of_an_animation_counts_and_it_is_said() -> None:
    first, second = (np.full((20, 20, 3), colour, np.uint8) for colour in (RED, (0, 255, 0)))
    for kind, options in (("GIF", {}), ("PNG", {}), ("WEBP", {"lossless": True})):
        data = encode(first, kind, save_all=True, append_images=[Image.fromarray(second)], **options)
        assert decode_query(data, channels=3, side=8)[0, :, 4, 4].tolist() == pytest.approx(RED, abs=4)
        assert "only the first" in read_picture(data).notes[0]


def test_grey_and_colour_are_turned_into_each_other() -> None:
    colour = torch.tensor(RED, dtype=torch.uint8).reshape(1, 3, 1, 1).expand(2, 3, 4, 4)
    grey, own = with_channels(colour, 1), Image.new("RGB", (1, 1), RED).convert("L").getpixel((0, 0))
    assert grey.shape == (2, 1, 4, 4) and grey.unique().tolist() == [own]
    assert with_channels(grey, 3).shape == (2, 3, 4, 4) and with_channels(colour, 3) is colour


# ------------------------------------------------------------------------ uploads


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("name", bombs.BOMBS)
def test_what_takes_long_to_read_is_refused(name: str) -> None:
    data, words = bombs.BOMBS[name]
    with pytest.raises(UndecodableError, match=words):
        check_upload(data)


def test_ordinary_files_and_remarks_are_taken() -> None:
    for kind in BROWSER_FORMATS:
        check_upload(encode(NOISE, kind))
    exif = Image.Exif()
    exif[0x010E] = "x" * 60_000
    frames = [Image.fromarray(NOISE // (number + 1)) for number in range(12)]
    for kind, options in {
        "JPEG": {"exif": exif, "icc_profile": bytes(400_000), "progressive": True, "comment": b"x" * 900},
        "PNG": {"exif": exif, "icc_profile": bytes(400_000), "save_all": True, "append_images": frames},
        "GIF": {"comment": b"x" * 900, "save_all": True, "append_images": frames},
        "WEBP": {"exif": exif, "save_all": True, "append_images": frames},
    }.items():
        check_upload(encode(NOISE, kind, **options))
    for data in (bombs.profiles(2), bombs.chunks(50), bombs.commented(50), bombs.marked(50), bombs.runs(10_000)):
        check_upload(data)


@pytest.mark.parametrize("start", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"GIF89a", b"BM"])
def test_broken_files_are_refused_with_a_sentence(start: bytes) -> None:
    draws = np.random.default_rng(1)
    for length in (0, 1, 5, 40, 4000):
        with pytest.raises(UndecodableError):
            check_upload(start + draws.bytes(length))
