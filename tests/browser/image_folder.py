"""A small dataset of images with boxes and captions, in the layout of COCO."""

from __future__ import annotations

import io
import json
from pathlib import Path

from PIL import Image, ImageDraw

SIZE = (160, 120)
BOXES = {"dog": (20, 50, 60, 50), "frisbee": (110, 20, 28, 16)}  # x, y, width, height
HOSTILE = '<img src=x onerror="window.hacked=1"> a dog & a <b>frisbee</b>'


def picture(number: int = 0) -> Image.Image:
    """A meadow with a brown and a red rectangle."""
    made = Image.new("RGB", SIZE, (90, 150 + number * 10, 90))
    pen = ImageDraw.Draw(made)
    for colour, (x, y, w, h) in zip(((110, 70, 30), (210, 30, 40)), BOXES.values(), strict=True):
        pen.rectangle((x, y, x + w, y + h), fill=colour)
    return made


def jpeg() -> bytes:
    """One of them as the bytes of a JPEG file."""
    out = io.BytesIO()
    picture().save(out, "JPEG")
    return out.getvalue()


def write_dataset(folder: Path, count: int = 3) -> Path:
    """Write ``count`` images; the captions of each try to be HTML."""
    (folder / "annotations").mkdir(parents=True)
    (folder / "val2017").mkdir()
    images, captions, boxes = [], [], []
    for number in range(count):
        name = f"{number}.png"
        picture(number).save(folder / "val2017" / name)
        images.append({"id": number, "file_name": name, "width": SIZE[0], "height": SIZE[1]})
        for text in (HOSTILE, f"photo {number} of a dog", "a red frisbee in the air"):
            captions.append({"image_id": number, "caption": text})
        for category, box in enumerate(BOXES.values(), 1):
            boxes.append({"image_id": number, "category_id": category, "bbox": list(box), "iscrowd": 0})
    named = [{"id": category, "name": name} for category, name in enumerate(BOXES, 1)]
    said = {"images": images, "annotations": captions}
    seen = {"images": images, "annotations": boxes, "categories": named}
    (folder / "annotations" / "captions_val2017.json").write_text(json.dumps(said))
    (folder / "annotations" / "instances_val2017.json").write_text(json.dumps(seen))
    return folder
