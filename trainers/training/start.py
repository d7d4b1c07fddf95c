"""What the encoder of a run begins with: the encoder of another run, or weights in a file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from trainers.config import StartConfig
from trainers.encoders import Encoder
from trainers.errors import ParameterError, UserError
from trainers.runs import RunFolder, is_id, list_runs
from trainers.training.encoder_file import RunEncoders, without_head
from trainers.training.weights_file import WeightsFile, match

SENT = "start.weights"
"""Name of the file in the folder of a run that was sent to another machine with its weights."""


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
    """Make ``encoder`` what the run ``folder`` begins with: its weights as :func:`start_from` and
    :func:`start_from_file`, its batch normalisation frozen if the run says so.

    Raises:
        UserError, RunError: as of these.
    """
    if config.start:
        start_from(encoder, folder, config.start)
    if config.weights:
        start_from_file(encoder, folder, config.weights)
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
    if _from_checkpoint(encoder, folder):
        return
    given, origin = weights_to_start_from(mine, folder.path.parent, written, folder.config.single.seed)
    encoder.load_state_dict(given, strict=False)
    folder.log(f"start: {len(given)} tensors of the encoder of {origin}")


def start_from_file(encoder: Encoder, folder: RunFolder, written: str) -> None:
    """Give ``encoder`` the weights of a file, and log what of it matched and what did not; its head keeps its own.

    A run that has a checkpoint takes them from there, and says so if the file is another now.

    Args:
        encoder: of the run ``folder``, as built.
        written: as :class:`trainers.training.weights_file.WeightsFile` reads it.

    Raises:
        UserError: the file cannot be read, has changed since the run was made, or is not of this encoder.
    """
    file = WeightsFile.of(written)
    if _from_checkpoint(encoder, folder):
        try:
            file.noted()
        except UserError as error:
            folder.log(f"weights: the run goes on from its checkpoint. {error}")
        return
    sent = folder.path / SENT
    file = (replace(file, path=sent) if sent.is_file() else file).noted()
    matched = match(encoder, file)
    encoder.load_state_dict(matched.tensors, strict=False)
    for line in (f"{matched.summary}, {file.path} with the sha256 {file.digest}...", *matched.lines()):
        folder.log(f"weights: {line}")


def _from_checkpoint(encoder: Encoder, folder: RunFolder) -> bool:
    """Load the encoder of a run's first arm from its checkpoint; returns whether it has one."""
    if folder.read_checkpoint() is None:
        return False
    given, mine = RunEncoders(folder).tensors(0), without_head(encoder.state_dict(), type(encoder))
    encoder.load_state_dict({name: given[name] for name in mine if name in given}, strict=False)
    return True


def weights_to_start_from(
    wanted: dict[str, Tensor], root: Path, written: str, seed: int
) -> tuple[dict[str, Tensor], str]:
    """Return the weights of the encoder that a run of a seed starts from, and where they come from in words.

    Args:
        wanted: the tensors of the run's own encoder without its head, by name; their values do not matter.
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
