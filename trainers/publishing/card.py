"""The card of an uploaded run: its settings, how the model is loaded, and its picture of the map and the curve."""

from __future__ import annotations

import colorsys
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from trainers.comparison.markup import markdown_text
from trainers.config import Config
from trainers.data.sources import is_path
from trainers.encoders import ENCODERS
from trainers.errors import UserError
from trainers.kinds import kind_of
from trainers.metrics.measures import final_numbers
from trainers.parameters import Choice
from trainers.publishing.embedding_model import EmbeddingModel
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.runs.regular import replaceable
from trainers.training.encoder_file import RunEncoders
from trainers.training.footprint import without_values

_SOURCES = ("source", "captions_from", "weights")


def source_name(source: str) -> str:
    """Return a dataset as others know it: of a path its last part."""
    return (re.split(r"[\\/]", source.rstrip("\\/"))[-1] or "images") if is_path(source) else source


def public_settings(config: Config) -> dict[str, Any]:
    """Return the content of ``config.json`` with the names of folders in place of their paths."""
    values: dict[str, Any] = _named(json.loads(config.to_json()))
    return values


def _named(values: Any) -> Any:
    if isinstance(values, list):
        return [_named(value) for value in values]
    if not isinstance(values, dict):
        return values
    return {
        key: source_name(value) if key in _SOURCES and isinstance(value, str) else _named(value)
        for key, value in values.items()
    }


Font = ImageFont.ImageFont | ImageFont.FreeTypeFont
NAME, WEIGHTS = "picture.png", "embedding.safetensors"
_OPENING = "An image encoder trained with Rankscope."
_CARD = re.compile(rb"# .*\n\n" + re.escape(_OPENING).encode())
_SIDE, _GAP, _TITLE = 1040, 90, 90  # pixels, at twice the size at which it is drawn
_INK, _LINE = "#3d4250", "#d9dce3"
_HUE_STEP = 137.5 / 360  # the golden angle: neighbours in a list have hues far apart


def write_picture(folder: RunFolder, arm: int, to: Path) -> str:
    """Write a PNG, and return in a sentence what it shows; empty: the run has no map, and nothing is written."""
    newest, probe = folder.newest_map(), folder.probe()
    if newest is None or probe is None:
        return ""
    shown = (folder.refined_frame() or (newest, 0))[0]
    frame, labels = folder.frame(shown), np.asarray(probe.labels)[:, -1]
    image = Image.new("RGB", (2 * _SIDE + 3 * _GAP, _SIDE + _TITLE + _GAP), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(38)
    level = probe.hierarchy.levels[-1] if probe.hierarchy.levels else "class"
    method = frame.arms[arm].method.upper()
    draw.text((_GAP, 26), f"{method} of {len(labels):,} images at step {frame.step:,}, coloured by {level}", _INK, font)
    _map(draw, np.asarray(frame.arms[arm].xy, dtype=float), labels)
    title, points = _curve(folder, arm)
    if points:
        draw.text((_SIDE + 2 * _GAP, 26), f"{title} of these images, by step", _INK, font)
        _line(draw, points, font)
    image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS).save(to / NAME, optimize=True)
    about = f" and {title} at every map, up to step {points[-1][0]:,}" if points else ""
    return f"Map of {len(labels):,} images ({method}) coloured by {level}{about}"


def _map(draw: ImageDraw.ImageDraw, xy: np.ndarray, labels: np.ndarray) -> None:
    low, high = xy.min(0), xy.max(0)
    scaled = (xy - (low + high) / 2) / max(float((high - low).max()), 1.0)
    radius = float(np.clip(260 / np.sqrt(len(xy)), 3, 10))
    for order in np.random.default_rng(0).permutation(len(xy)):  # no class covers the others
        x = _GAP + _SIDE * (0.5 + 0.96 * scaled[order, 0])
        y = _TITLE + _SIDE * (0.5 - 0.96 * scaled[order, 1])
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), _colour(int(labels[order])))


def _colour(label: int) -> tuple[int, int, int]:
    red, green, blue = colorsys.hls_to_rgb(label * _HUE_STEP % 1.0, 0.36 if label % 2 else 0.5, 0.62)
    return round(255 * red), round(255 * green), round(255 * blue)


def _curve(folder: RunFolder, arm: int) -> tuple[str, list[tuple[int, float]]]:
    """Return the title and the values by step of the first number in the list of runs."""
    measures = kind_of(folder.config).measures_of(folder.config)
    rows = [row for row in folder.scalars() if row.arm == arm]
    for key in measures.numbers:
        points = sorted((row.step, row.value) for row in rows if row.key == key)
        if len(points) > 1:
            return measures.describe(key).title, points
    return "", []


def _line(draw: ImageDraw.ImageDraw, points: list[tuple[int, float]], font: Font) -> None:
    values = [value for _, value in points]
    low, high, last = min(0.0, *values), max(1.0, *values), points[-1][0]
    left, top = _SIDE + 2 * _GAP + 90, _TITLE + 20
    width, height = _SIDE - 90, _SIDE - 100

    def at(step: float, value: float) -> tuple[float, float]:
        return left + width * step / max(1, last), top + height * (high - value) / (high - low)

    for value in np.linspace(low, high, 6):
        x, y = at(0, float(value))
        draw.line((x, y, x + width, y), _LINE, 2)
        draw.text((x - 20, y), f"{value:.1f}", _INK, font, anchor="rm")
    for step in (0, last):
        draw.text((at(step, low)[0], top + height + 20), f"{step:,}", _INK, font, anchor="ma")
    draw.line([at(*point) for point in points], "#1f4e9e", 7, joint="curve")


def write_model(folder: RunFolder, arm: int, repository: str, to: Path) -> Mapping[str, Path]:
    """Write what is uploaded of an arm: weights as safetensors, configuration, numbers, a picture and a card;
    files by name.

    A timm backbone is there once more without the head, unless its normalisation was replaced: a repository that timm
    and ``hf-hub:`` load.

    Raises:
        UserError: the run has no such arm, no encoder or no checkpoint.
    """
    use = EmbeddingModel.of(folder, arm).write(to / WEIGHTS)
    weights = [WEIGHTS]
    backbone = None
    if folder.config.encoder_prefix:
        encoders = RunEncoders(folder)
        if encoders.names_are_the_librarys(arm):
            backbone = getattr(without_values(encoders.choice, channels=3, side=32, dim=2), "backbone", None)
    if backbone is not None:
        weights.append("model.safetensors")
        encoders.write(arm, to / weights[-1])
    texts = {
        "run.json": json.dumps(public_settings(folder.config), indent=2, sort_keys=True),
        "results.json": json.dumps(final_numbers(folder.scalars(), folder.config.arms)[arm], indent=1),
    }
    architecture = ""
    if backbone is not None:
        about = backbone.pretrained_cfg
        architecture = about["architecture"]
        tag = about.get("tag")
        kept = (
            "input_size",
            "fixed_input_size",
            "mean",
            "std",
            "interpolation",
            "crop_pct",
            "first_conv",
            "classifier",
        )
        texts["config.json"] = json.dumps(
            {
                "architecture": architecture,
                "num_classes": 0,
                "pretrained_cfg": {name: about[name] for name in kept if name in about} | {"num_classes": 0},
            },
            indent=1,
        )
        architecture = f"{architecture}.{tag}" if tag and began_published(folder.config) else architecture
    shown = write_picture(folder, arm, to)
    texts["README.md"] = card(folder, arm, repository, timm=architecture, picture=shown, use=use)
    for name, text in texts.items():
        (to / name).write_text(text, encoding="utf-8")
    return {name: to / name for name in (*weights, *texts, *((NAME,) if shown else ()))}


def write_export(folder: RunFolder, arm: int, path: Path, *, onnx: bool = False) -> Path:
    """Write the whole embedding model of an arm, as safetensors or ONNX, and beside it its card; returns the card.

    The card of ``birds.safetensors`` is ``birds.md``, that of ``birds.onnx`` is ``birds.onnx.md``: both may be there.

    Raises:
        UserError: the run embeds no images, has no such arm or no checkpoint; or it cannot be written as ONNX; or
            something else than a card has the card's name, and nothing is written.
        DiskFullError: the disk is full.
        OSError: a file cannot be written.
    """
    if path.suffix == ".md":
        raise UserError(f"{path.name} is the name of a card. Give one such as {path.stem}.safetensors.")
    beside = replaceable(path.with_suffix(f"{path.suffix}.md" if onnx else ".md"))
    if beside.exists() and not _CARD.match(beside.read_bytes()):
        raise UserError(
            f"The card would replace {beside}, which is not a card of this program. Move it, or give another name."
        )
    model = EmbeddingModel.of(folder, arm)
    use = model.write_onnx(path) if onnx else "\n".join(filter(None, (model.write(path), model.by_timm(path.name))))
    write_bytes(beside, _body(folder, arm, path.stem, "", "", use).encode(), home=beside.parent, shared=True)
    return beside


def named(folder: RunFolder, arm: int) -> str:
    """Return what an arm is called in the message of a commit."""
    return f"{kind_of(folder.config).arms(folder.config)[arm].title}, run {folder.id}"


@dataclass(frozen=True, kw_only=True)
class CardNumbers:
    """The final numbers of an arm.

    Attributes:
        about: what they are about, e.g. ``whole test set, 1,600 images``.
        values: ``(key, title, value)`` of each.
    """

    about: str
    values: tuple[tuple[str, str, float], ...]


def numbers_of(folder: RunFolder, arm: int) -> CardNumbers:
    """Read the final numbers of an arm that the command line prints at the end; none before they are there."""
    config = folder.config
    measures = kind_of(config).measures_of(config)
    finals = final_numbers(folder.scalars(), config.arms)
    keys = [key for key in measures.summary or finals[arm] if key in finals[arm]]
    described = [(key, measures.describe(key)) for key in keys]
    shown = [(key, about.title, finals[arm][key]) for key, about in described if about.measure.family != "count"]
    return CardNumbers(about=measures.scored(finals[arm]) if shown else "", values=tuple(shown))


def card(folder: RunFolder, arm: int, repository: str, *, timm: str, picture: str, use: str = "") -> str:
    """Write the card: header for the Hub, what was trained how, the numbers, and how the model is loaded.

    Args:
        timm: name of the timm model that it is, with its tag if it began with those weights; empty: an encoder of this
            program alone.
        picture: what the picture beside the card shows; empty: there is none.
        use: how the whole model is loaded, in Markdown.
    """
    shown, name = numbers_of(folder, arm), repository.rpartition("/")[2]
    files = "`run.json`: the settings of the run. `results.json`: all final numbers, unrounded.\n"
    use = "\n".join(filter(None, (use, _encoder_alone(repository, timm), files)))
    return f"---\n{_header(folder, shown, repository, timm)}\n---\n\n{_body(folder, arm, name, timm, picture, use)}"


def _body(folder: RunFolder, arm: int, name: str, timm: str, picture: str, use: str) -> str:
    """Write a card without its header."""
    shown = numbers_of(folder, arm)
    rows = "\n".join(f"| {title} | {value:.4f} |" for _, title, value in shown.values)
    facts = "\n".join(f"- **{name}**: {words}" for name, words in _facts(folder, arm, timm).items() if words)
    shown_as = f"\n![{markdown_text(picture)}]({NAME})\n" if picture else ""
    numbers = (
        f"| {shown.about} | |\n|---|---|\n{rows}\n\nOne training, one seed: others give other numbers.\n"
        if rows
        else "It has no final numbers.\n"
    )
    return f"""# {name}

{_OPENING} Whoever passes it on chooses its licence, within those of the images and of the
weights that it started from.

{facts}
{shown_as}
## Numbers

{numbers}
## Use

{use}"""


def _header(folder: RunFolder, shown: CardNumbers, repository: str, timm: str) -> str:
    """Write the metadata that the Hub reads, as YAML."""
    from huggingface_hub import EvalResult, ModelCardData

    config = folder.config
    kind, source = kind_of(config), source_name(kind_of(config).source(config))
    data: dict[str, Any] = {
        "task_type": "image-feature-extraction",
        "dataset_type": source,
        "dataset_name": kind.data_title(config),
        "dataset_revision": folder.revision or None,
        "dataset_split": shown.about or None,
    }
    results = [
        EvalResult(metric_type=key, metric_name=title, metric_value=round(value, 5), **data)
        for key, title, value in shown.values
    ]
    more: dict[str, Any] = {"eval_results": results} if results else {}
    header: str = ModelCardData(
        model_name=repository.rpartition("/")[2],
        library_name="timm" if timm else None,
        pipeline_tag="image-feature-extraction",
        base_model=f"timm/{timm}" if timm and "." in timm else None,
        datasets=[source] if folder.revision else None,
        tags=["metric-learning", "image-retrieval", "rankscope"],
        **more,
    ).to_yaml()
    return header


def began_published(config: Any) -> bool:
    """Return whether the encoder of a run began with weights that its library publishes, not of a file or a run."""
    chosen: Choice = config.encoder
    return not (config.start or config.weights) and ENCODERS[chosen.name].pretrained(chosen.parameters)


def _network(config: Any) -> str:
    choice: Choice = config.encoder if config.encoder_prefix else config.model
    return ", ".join([choice.name, *(f"{name} {value}" for name, value in choice.parameters.items())])


def _facts(folder: RunFolder, arm: int, timm: str) -> dict[str, str]:
    """Return what was trained how, by name."""
    config = folder.config
    kind = kind_of(config)
    about, source = kind.arms(config)[arm], source_name(kind.source(config))
    return {
        "Trained": f"{about.title} ({about.paper})" if about.paper else about.title,
        "Parameters": ", ".join(f"{name} {value}" for name, value in about.parameters.items()),
        "Images": f"{source} at commit {folder.revision}" if folder.revision else source,
        "Encoder": timm or _network(config),
        "Started from": source_name(weights) if (weights := getattr(config, "weights", None)) else "",
        "Settings": kind.summary(config, kind.data_title(config)),
        "Steps": kind.by_stage(folder) or f"{folder.state().step:,}",
        "Seed": str(config.single.seed),
    }


def _encoder_alone(repository: str, timm: str) -> str:
    """Say how the encoder is loaded without its head; empty: it is no model of timm's."""
    if not timm:
        return ""
    return f"""The encoder alone, without pooling and head of the run:

```python
import timm
model = timm.create_model("hf-hub:{repository}", pretrained=True, num_classes=0)
```

As an encoder of Rankscope: `--encoder timm:model=hf-hub:{repository}`.
"""
