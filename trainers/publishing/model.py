"""The files of an arm of a run that make a model repository."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from trainers.kinds import kind_of
from trainers.metrics.measures import final_numbers
from trainers.publishing.card import card
from trainers.publishing.pictures import NAME, write_picture
from trainers.publishing.settings import public_settings
from trainers.runs import RunFolder
from trainers.training.encoder_file import RunEncoders
from trainers.training.encoder_sizes import without_values


def write_model(folder: RunFolder, arm: int, repository: str, to: Path) -> Mapping[str, Path]:
    """Write what is uploaded of an arm: weights as safetensors, configuration, numbers, a picture and a card;
    files by name.

    A timm backbone becomes a repository that timm and ``hf-hub:`` load.

    Raises:
        UserError: the run has no such arm, no encoder or no checkpoint.
    """
    encoders = RunEncoders(folder)
    wrapped = without_values(encoders.choice, channels=3, side=32, dim=2)
    backbone = getattr(wrapped, "backbone", None) if wrapped.wraps else None
    weights = "encoder.safetensors" if backbone is None else "model.safetensors"
    encoders.write(arm, to / weights)
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
        architecture = f"{architecture}.{tag}" if tag else architecture
    shown = write_picture(folder, arm, to)
    texts["README.md"] = card(folder, arm, repository, timm=architecture, picture=shown)
    for name, text in texts.items():
        (to / name).write_text(text, encoding="utf-8")
    return {name: to / name for name in (weights, *texts, *((NAME,) if shown else ()))}


def named(folder: RunFolder, arm: int) -> str:
    """Return what an arm is called in the message of a commit."""
    return f"{kind_of(folder.config).arms(folder.config)[arm].title}, run {folder.id}"
