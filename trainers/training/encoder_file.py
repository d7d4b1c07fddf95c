"""Encoders of runs as safetensors files, and as the start of other runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import Tensor

from trainers.config import VERSION
from trainers.data.pixel_range import PIXELS, PixelRange
from trainers.encoders import ENCODERS, Encoder
from trainers.errors import UserError
from trainers.parameters import Choice, entry
from trainers.runs import RunFolder, checked
from trainers.runs.atomic_files import read_tensors, write_tensors
from trainers.runs.damage import reading
from trainers.runs.earlier import SETTINGS
from trainers.runs.regular import replaceable
from trainers.training.arm import under
from trainers.training.footprint import without_values


class RunEncoders:
    """The encoders of a run at its last checkpoint, one per arm, without the layers behind the pooled features.

    Args:
        folder: the run; nothing is written to it.

    Raises:
        UserError: its kind trains no encoder of the catalogue, or it has no checkpoint.
        RunError: it is damaged.

    Attributes:
        choice: name and parameters of the encoder.
        step: how many steps had been trained.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._run, self._config = folder.id, folder.config
        self._norm = self._config.single.encoder_norm
        if not self._config.encoder_prefix:
            raise UserError(
                f"Run {folder.id} trains no encoder of the catalogue. Choose a run of metric learning, of contrastive "
                "pretraining, or of a model that has such an encoder."
            )
        self.choice: Choice = self._config.encoder  # type: ignore[attr-defined]
        self._class = entry(ENCODERS, self.choice.name, "encoder").make
        checkpoint = folder.read_checkpoint()
        if checkpoint is None:
            raise no_checkpoint(folder)
        self._tensors, about = checkpoint
        with reading(folder.id):
            self.step = checked.whole(about["step"], "step")
            images: Any = about.get("images", ())
            self._images = [checked.whole(number, "images") for number in images]
            self._pixel_range = PixelRange.from_list(about.get(PIXELS))

    def tensors(self, arm: int) -> dict[str, Tensor]:
        """Return the weights and statistics of an arm's encoder on the CPU, by the names that the encoder gives them.

        Raises:
            UserError: there is no such arm.
        """
        if not 0 <= arm < self._config.arms:
            there = "one arm, 0" if self._config.arms == 1 else f"{self._config.arms} arms, counted from 0"
            raise UserError(f"Run {self._run} has {there}; got {arm}.")
        return without_head(under(self._tensors, f"arm{arm}/{self._config.encoder_prefix}"), self._class)

    def write(self, arm: int, path: Path) -> None:
        """Write an arm's encoder as a safetensors file, whose metadata say what it is and where it comes from.

        Of a library's model the names are the library's own.

        Raises:
            UserError: there is no such arm, or the library could not load the file.
            DiskFullError: the disk is full.
            OSError: the file cannot be written, or what lies there is no file.
        """
        tensors = self.tensors(arm)
        if self._class.wraps:
            if not self.names_are_the_librarys(arm):
                raise UserError(
                    f"The encoder of run {self._run} has {self._norm} normalisation in place of its batch "
                    "normalisation, so the library that it comes from cannot load it. Leave `--without-head` "
                    "out, or export ONNX with `--onnx`."
                )
            tensors = under(tensors, f"{self._class.wraps}.")
        about = {"encoder": json.dumps({"name": self.choice.name, "parameters": dict(self.choice.parameters)})}
        about[SETTINGS] = str(VERSION)
        about |= zip(("channels", "side"), map(str, self._images), strict=False)
        if self._norm:
            about["norm"] = self._norm
        if self._pixel_range is not None:
            about[PIXELS] = json.dumps(self._pixel_range.as_list())
        about |= {"run": self._run, "arm": str(arm), "step": str(self.step)}
        path = replaceable(path)
        write_tensors(path, tensors, about, home=path.parent, shared=True)

    def names_are_the_librarys(self, arm: int) -> bool:
        """Return whether the library that the encoder comes from can load an arm; not where normalisation layers were
        replaced, or it comes from none.

        Raises:
            UserError: there is no such arm.
        """
        tensors = self.tensors(arm)
        if not self._norm or not self._class.wraps:
            return bool(self._class.wraps)
        expected = without_head(without_values(self.choice, channels=3, side=32, dim=2).state_dict(), self._class)
        return expected.keys() == tensors.keys()


def read_file(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Read the metadata and the tensors of a file that :meth:`RunEncoders.write` wrote, or
    :class:`trainers.publishing.embedding_model.EmbeddingModel` with its head.

    Raises:
        UserError: there is no such file, or it does not say which encoder it holds and which images that takes.
    """
    try:
        tensors, about = read_tensors(path)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} cannot be read as a safetensors file: {error}.") from error
    what = "model" if "model" in about else "encoder"
    lacking = [name for name in (what, "channels", "side") if name not in about]
    if lacking:
        raise UserError(
            f"{path} needs metadata that say which {what} it holds and which images that takes, as `python -m trainers "
            f"export` writes them; it lacks {', '.join(lacking)}."
        )
    return about, tensors


def no_checkpoint(folder: RunFolder) -> UserError:
    """Return the error about a run without weights."""
    return UserError(
        f"Run {folder.id} has no checkpoint that can be read; a run writes its first one in time, and neither "
        "recordings nor comparisons of several runs have one."
    )


def without_head(tensors: dict[str, Tensor], encoder: type[Encoder]) -> dict[str, Tensor]:
    """Select those of an encoder's tensors that do not belong to the layers behind its pooled features."""
    behind = tuple(f"{name}." for name in encoder.behind)
    return {name: value for name, value in tensors.items() if not name.startswith(behind)}
