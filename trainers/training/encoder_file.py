"""Encoders of runs as safetensors files, and as the start of other runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import Tensor

from trainers.config import StartConfig
from trainers.data.pixel_range import PIXELS, PixelRange
from trainers.encoders import ENCODERS, Encoder
from trainers.errors import ParameterError, UserError
from trainers.parameters import Choice, entry
from trainers.runs import RunFolder, checked, is_id, list_runs
from trainers.runs.atomic_files import read_tensors, write_tensors
from trainers.runs.damage import reading
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
            self.check_names(arm)
            tensors = under(tensors, f"{self._class.wraps}.")
        about = {"encoder": json.dumps({"name": self.choice.name, "parameters": dict(self.choice.parameters)})}
        about |= zip(("channels", "side"), map(str, self._images), strict=False)
        if self._norm:
            about["norm"] = self._norm
        if self._pixel_range is not None:
            about[PIXELS] = json.dumps(self._pixel_range.as_list())
        about |= {"run": self._run, "arm": str(arm), "step": str(self.step)}
        path = replaceable(path)
        write_tensors(path, tensors, about, home=path.parent, shared=True)

    def check_names(self, arm: int) -> None:
        """Refuse an arm whose normalisation layers are not those of the library that the encoder comes from.

        Raises:
            UserError: they are not, or there is no such arm.
        """
        tensors = self.tensors(arm)
        if not self._norm or not self._class.wraps:
            return
        expected = without_head(without_values(self.choice, channels=3, side=32, dim=2).state_dict(), self._class)
        if expected.keys() != tensors.keys():
            raise UserError(
                f"The encoder of run {self._run} has {self._norm} normalisation in place of its batch "
                "normalisation, so the library that it comes from cannot load it. Only encoders trained with the "
                "normalisation 'batch' or 'split' can be exported so; as ONNX (`export --onnx`) it can."
            )


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
            f"{path} needs metadata that say which encoder it is, written by `python -m trainers export`; it lacks "
            f"{', '.join(lacking)}."
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


def read_start(written: str) -> tuple[str, int]:
    """Run and arm of the text ``ID`` or ``ID:ARM``.

    Raises:
        ParameterError: it is neither.
    """
    run, colon, arm = written.partition(":")
    if not is_id(run) or not re.fullmatch("[0-9]{1,4}" if colon else "", arm):
        raise ParameterError(
            "A run to start from is written as its id, 26 letters and digits, or as ID:ARM with arms counted from 0; "
            f"got {written!r:.60}."
        )
    return run, int(arm or 0)


def begin(encoder: Encoder, folder: RunFolder, config: StartConfig) -> None:
    """Make ``encoder`` what the run ``folder`` begins with: its weights as :func:`start_from`, its batch normalisation
    frozen if the run says so.

    Raises:
        UserError, RunError: as of :func:`start_from`.
    """
    if config.start:
        start_from(encoder, folder, config.start)
    encoder.frozen_norm = config.frozen_norm
    if config.frozen_norm:
        count = len(encoder.batch_norms())
        frozen = f"{count} layers keep the statistics they start with" if count else "the encoder has none to freeze"
        folder.log(f"frozen batch norm: {frozen}")


def start_from(encoder: Encoder, folder: RunFolder, written: str) -> None:
    """Give ``encoder`` the weights that the run ``folder`` starts from, and log it; its head keeps its own.

    A run that has a checkpoint takes them from there: the run that it started from may be gone.

    Args:
        encoder: of the run ``folder``, as built.
        written: ``ID`` or ``ID:ARM`` of a run beside it; of a plan, such as a sweep, it stands for the plan's run of
            the same seed.

    Raises:
        UserError: there is no such run or arm, or it has another encoder; of a plan, no run or several of that seed.
        RunError: it is damaged.
    """
    mine = without_head(encoder.state_dict(), type(encoder))
    if folder.read_checkpoint() is not None:
        given = RunEncoders(folder).tensors(0)
        encoder.load_state_dict({name: given[name] for name in mine if name in given}, strict=False)
        return
    given, origin = weights_to_start_from(mine, folder.path.parent, written, folder.config.single.seed)
    encoder.load_state_dict(given, strict=False)
    folder.log(f"start: {len(given)} tensors of the encoder of {origin}")


def weights_to_start_from(
    wanted: dict[str, Tensor], root: Path, written: str, seed: int
) -> tuple[dict[str, Tensor], str]:
    """Return the weights of the encoder that a run of a seed starts from, and where they come from in words.

    Args:
        own: the tensors of the run's own encoder without its head, by name; their values do not matter.
        root: the folder where the run lies.
        written: ``ID`` or ``ID:ARM``.

    Raises:
        UserError: there is no such run or arm, or it has another encoder.
        RunError: it is damaged.
    """
    run, arm = read_start(written)
    beside = of_seed(RunFolder.open(root, run), seed)
    run = beside.id
    try:
        source = RunEncoders(beside)
        given = source.tensors(arm)
        norm = beside.config.single.encoder_norm
    finally:
        beside.db.close()
    different = [name for name in sorted(wanted | given) if shape(wanted, name) != shape(given, name)]
    if different:
        why = f" It was trained with {norm} normalisation, which this program cannot start from." if norm else ""
        raise UserError(
            f"The encoder of run {run} is not the one of this run: {len(different)} of {len(wanted | given)} tensors "
            f"are missing or of another shape, the first of them {different[0]}.{why} Choose the same encoder with the "
            "same parameters."
        )
    return given, f"run {run}, arm {arm}, at step {source.step}"


def of_seed(folder: RunFolder, seed: int) -> RunFolder:
    """Return the run itself, or of a plan the one run of that seed."""
    parts = [part for part in list_runs(folder.path.parent) if part.part_of == folder.id]
    if not parts:
        return folder
    of_it = [part for part in parts if part.config.single.seed == seed]
    if len(of_it) != 1:
        raise UserError(
            f"A run of seed {seed} starts from the run of the same seed of a sweep; of its runs {folder.id} has "
            f"{len(of_it) or 'none'} with that seed. Choose a sweep that has this seed and varies nothing, or one run."
        )
    folder.db.close()
    return of_it[0]


def shape(tensors: dict[str, Tensor], name: str) -> tuple[int, ...] | None:
    """Return the shape of the tensor of that name; None: there is none."""
    return tuple(tensors[name].shape) if name in tensors else None
