"""Image files are opened in one place: known formats only, measured in bytes before they are unpacked, and upright."""

from __future__ import annotations

import ast
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.data.bombs import repeated
from tests.data.world import claimed, encode
from trainers.data import image_file
from trainers.data.decode import header, square
from trainers.data.image_file import BUDGET, FORMATS, ByteBudget, UndecodableError, open_header, scans, unpacked_bytes
from trainers.data.picture import read_picture

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


def names_of(path: Path) -> set[str]:
    """Every name that a file imports or calls, as ``module.name``."""
    tree = ast.parse(path.read_text())
    short: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            short |= {(each.asname or each.name): each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            short |= {(each.asname or each.name): f"{node.module}.{each.name}" for each in node.names}
    dotted = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    found = {".".join([short.get(text.split(".")[0], text.split(".")[0]), *text.split(".")[1:]]) for text in dotted}
    return found | set(short.values())


OPENERS = ("PIL.Image.open", "PIL.ImageFile", "cv2.imread", "cv2.imdecode", "torchvision.io", "imageio", "skimage.io")


def test_one_function_opens_images():
    paths = [*(ROOT / "trainers").rglob("*.py"), *(ROOT / "explorer").rglob("*.py"), ROOT / "app.py"]
    found = [path.relative_to(ROOT).as_posix() for path in paths if any(n.startswith(OPENERS) for n in names_of(path))]
    assert found == ["trainers/data/image_file.py"]


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


# ------------------------------------------------------------------------ decoding


GREY = np.full((20, 20), 100, np.uint8)
COLOUR = np.full((20, 20, 3), (250, 100, 10), np.uint8)


@pytest.mark.parametrize("mode", ["1", "L", "LA"])
def test_grey_files_have_one_channel(mode):
    pixels = square(encode(GREY, mode=mode), 8)
    assert pixels.shape == (1, 8, 8) and pixels.dtype == np.uint8
    assert header(encode(GREY, mode=mode)) == (20, 20, True)


@pytest.mark.parametrize(
    ("format", "mode"), [("PNG", "RGB"), ("PNG", "P"), ("PNG", "RGBA"), ("GIF", "P"), ("WEBP", "RGB"), ("BMP", "RGB")]
)
def test_colour_files_have_three(format, mode):
    pixels = square(encode(COLOUR, format, mode, **({"lossless": True} if format == "WEBP" else {})), 8)
    assert pixels.shape == (3, 8, 8)
    assert np.abs(pixels[:, 4, 4].astype(int) - (250, 100, 10)).max() <= 30  # GIF has a coarse palette


@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_jpeg_keeps_the_colour(mode):
    pixels = square(encode(np.repeat(np.repeat(COLOUR, 20, 0), 20, 1), "JPEG", mode, quality=95), 16)
    assert np.abs(pixels[:, 8, 8].astype(int) - (250, 100, 10)).max() <= 12


def test_sixteen_bits_are_scaled():
    deep = np.full((9, 9), 32896, np.uint16)
    assert (square(encode(deep), 3) == 128).all()
    assert (square(encode(np.full((9, 9), 0.5, np.float32), "TIFF"), 3) == 128).all()


def test_transparency_is_laid_on_white():
    clear = np.zeros((9, 9, 4), np.uint8)
    assert (square(encode(clear), 3) == 255).all()
    palette = Image.fromarray(GREY).convert("P")
    palette.info["transparency"] = 100
    assert square(encode(np.asarray(palette)), 3).shape == (1, 3, 3)


def test_the_orientation_mark_is_applied():
    upright = np.zeros((30, 30, 3), np.uint8)
    upright[:10] = 255  # white above
    exif = Image.Exif()
    exif[0x0112] = 8  # stored lying: to be turned by 90 degrees counter-clockwise
    lying = encode(np.rot90(upright, -1).copy(), "JPEG", exif=exif.tobytes())
    pixels = square(lying, 6)
    assert pixels[:, 0].min() > 200 and pixels[:, -1].max() < 50


def test_the_centre_is_cut_out():
    wide = np.zeros((10, 30), np.uint8)
    wide[:, 10:20] = 255
    pixels = square(encode(wide), 5)[0]
    assert (pixels[:, 1:-1] == 255).all() and pixels.min() > 200


def test_shrinking_averages():
    checks = (np.indices((64, 64)).sum(0) % 2 * 255).astype(np.uint8)
    pixels = square(encode(checks), 8)
    assert np.abs(pixels.astype(int) - 127).max() < 25


@pytest.mark.parametrize(
    "data",
    [b"", b"text", encode(COLOUR)[:60], encode(np.repeat(np.repeat(COLOUR, 9, 0), 9, 1), "JPEG")[:400]],
    ids=["empty", "text", "cut png", "cut jpeg"],
)
def test_what_is_no_picture_is_refused(data):
    with pytest.raises(UndecodableError):
        square(data, 8)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(("side", "colour"), [(30_000, 0), (12_000, 2), (9_000, 6)])
def test_a_bomb_is_refused_by_its_header(side, colour):
    with pytest.raises(UndecodableError, match="Shrink it first"):
        square(claimed(side, side, colour), 8)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_broken_remarks_do_not_cost_the_photo():
    broken = b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + bytes(range(40))
    assert square(encode(COLOUR, "JPEG", exif=broken), 8).shape == (3, 8, 8)
