"""Weights of an encoder from a file that another program wrote, and what of it matches."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from trainers.data import access
from trainers.encoders import Encoder
from trainers.errors import ParameterError, UserError, brief
from trainers.runs.atomic_files import read_tensors
from trainers.training.encoder_file import without_head

PLAIN = ".safetensors"
PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".tar")
"""Files of ``torch.save``, of which tensors are read and nothing is run."""
PREFIXES = (
    *("module", "_orig_mod", "state_dict", "model", "net", "network", "student", "teacher", "ema", "momentum_encoder"),
    *("encoder_q", "base_encoder", "encoder", "image_encoder", "backbone", "trunk", "visual", "vision_model"),
)
"""Names that programs put in front of an encoder's own, in any order."""
LEAST = 0.9
"""Share of an encoder's tensors that a file must have, in their shapes, to be taken."""
_DEPTH = 3  # of dictionaries in each other
_LISTED = 50  # names in one line
_COUNTS = "num_batches_tracked"  # of batch normalisations, which files of earlier programs do not have
_WRITTEN = re.compile(r"(?P<path>.*?)(?:@(?P<digest>[0-9a-f]{16}))?", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class WeightsFile:
    """A file as a run names it: its path, and behind an @ the digest of what it held when the run was made.

    Attributes:
        digest: the first 16 digits of its sha256; empty: not noted yet.
    """

    path: Path
    digest: str = ""

    @classmethod
    def of(cls, written: str) -> WeightsFile:
        """Read ``PATH`` or ``PATH@DIGEST``.

        Raises:
            ParameterError: its ending is none of those that are read.
            DataError: it may not be opened here.
        """
        found = _WRITTEN.fullmatch(written.strip())
        assert found is not None  # it matches every text
        if not found["path"].lower().endswith((PLAIN, *PICKLED)):
            raise ParameterError(
                f"A file of weights ends in {', '.join((PLAIN, *PICKLED))}; got {written.strip()[-60:]!r}. Save the "
                "encoder's state_dict in one of these forms."
            )
        return cls(path=access.allowed_path(found["path"]), digest=found["digest"] or "")

    def noted(self) -> WeightsFile:
        """Return the same with the digest of what it holds now.

        Raises:
            UserError: it is not there, cannot be read, or holds something else than noted.
        """
        try:
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        except OSError as error:
            raise UserError(f"The weights {self.path} cannot be read: {error.strerror or error}.") from error
        if self.digest and digest != self.digest:
            raise UserError(
                f"The weights {self.path} have changed: their sha256 begins with {digest}, and that of the file which "
                f"was chosen with {self.digest}. Put that file back, or choose this one without what stands behind @."
            )
        return WeightsFile(path=self.path.absolute(), digest=digest)

    def __str__(self) -> str:
        """Write it as :meth:`of` reads it."""
        return f"{self.path}@{self.digest}" if self.digest else str(self.path)

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """Read every dictionary of tensors in the file, by the names that lead to it; of most files one, ``""``.

        Raises:
            UserError: it holds none, or cannot be read without running code.
        """
        try:
            if self.path.suffix.lower() == PLAIN:
                content: Any = read_tensors(self.path)[0]
            else:
                content = torch.load(self.path, map_location="cpu", weights_only=True)
        except (OSError, SafetensorError) as error:
            raise UserError(f"The weights {self.path} cannot be read: {brief(error)}.") from error
        except Exception as error:  # of pickle and torch many kinds
            raise UserError(
                f"{self.path} holds more than tensors, or is damaged, and nothing of a file is run here. Load it where "
                "it is from, and save the encoder's state_dict alone: torch.save(encoder.state_dict(), 'weights.pt')."
            ) from error
        found = dict(_dictionaries(content, ()))
        if not found:
            raise UserError(
                f"{self.path} holds no dictionary of tensors by name, dense and of real numbers, such as a state_dict."
            )
        return found


def _dictionaries(content: object, above: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Tensor]]]:
    if not isinstance(content, Mapping) or len(above) > _DEPTH:
        return
    tensors = {name: value for name, value in content.items() if isinstance(name, str) and _is_plain(value)}
    if tensors:
        yield ".".join(above), tensors
    for name, inner in content.items():
        if isinstance(name, str):
            yield from _dictionaries(inner, (*above, name))


def _is_plain(value: object) -> bool:
    """Return whether it is a dense tensor of real numbers, as encoders have; any other counts as not in the file."""
    if not isinstance(value, Tensor) or value.is_nested or value.layout != torch.strided:
        return False
    return not (value.is_meta or value.is_quantized or value.is_complex())


@dataclass(frozen=True, kw_only=True)
class Matched:
    """What of a file an encoder takes.

    Attributes:
        tensors: by the encoder's names.
        wanted: how many the encoder has in front of its head, but for counts of batches.
        missing: of these, not in the file.
        misshapen: in the file with another shape, with both.
        unused: of the file, by its own names.
        place: where in the file they stand, in words; empty: they are all that it holds.
        how: the names were converted so, in words.
        alike: places in the file where as many match; the first is taken.
    """

    tensors: dict[str, Tensor]
    wanted: int
    missing: tuple[str, ...] = ()
    misshapen: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    place: str = ""
    how: str = ""
    alike: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many of those that are wanted it has."""
        return self.wanted - len(self.missing) - len(self.misshapen)

    @property
    def summary(self) -> str:
        """How much of the encoder is in the file, in words."""
        words = ", ".join(filter(None, (self.place, self.how)))
        how = f" ({words})" if words else ""
        return f"{self.count} of the encoder's {self.wanted} tensors are in the file{how}"

    def lines(self) -> list[str]:
        """List what did not match, a line for each reason."""
        parts = (
            ("not in the file as dense real numbers, so they begin untrained", self.missing),
            ("of another shape in the file, likewise", self.misshapen),
            ("in the file and not used", self.unused),
        )
        lines = [f"{words}: {_listed(names)}" for words, names in parts if names]
        others = [place for place in self.alike if place != self.place]
        return [*lines, *([f"as many match {_listed(others)}, which is not taken"] if others else [])]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def match(encoder: Encoder, file: WeightsFile) -> Matched:
    """Find out what of a file an encoder takes: of all ways to read its names the one by which most match.

    Names are read behind :data:`PREFIXES`; those of a timm model also as timm converts them, and those of torchvision's
    vision transformers as timm's. Nothing else is tried.

    Args:
        encoder: of which names and shapes count.

    Raises:
        UserError: the file cannot be read, less than :data:`LEAST` of the encoder is in it, or a number is none.
    """
    wanted = without_head(encoder.state_dict(), type(encoder))
    inside = f"{encoder.wraps}." if encoder.wraps else ""
    own = {name.removeprefix(inside): value for name, value in wanted.items()}
    ways = [
        _compared(own, reading, given, inside)
        for where, given in file.tensors().items()
        for reading in _readings(given, where, encoder)
    ]
    best = max(ways, key=lambda way: way.count)  # the first of several: the plainest
    best = replace(best, alike=tuple({way.place: None for way in ways if way.count == best.count}))
    if best.count < LEAST * best.wanted:
        told = "; ".join(best.lines()[:2])
        raise UserError(
            f"{file.path.name} is not of this encoder: {best.summary}, and {LEAST:.0%} are needed; {told:.600}. Choose "
            "the encoder that the file is of, with the same parameters."
        )
    if broken := [name for name, value in best.tensors.items() if not bool(torch.isfinite(value.float()).all())]:
        raise UserError(f"{file.path.name} has numbers that are none (NaN or infinite), first in {broken[0]}.")
    return best


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """The tensors of a file by one way to read their names, these names in the file, and the way in words."""

    tensors: Mapping[str, Tensor]
    names: Mapping[str, str]
    place: str
    words: str = ""


def _readings(given: Mapping[str, Tensor], where: str, encoder: Encoder) -> Iterator[_Reading]:
    """Yield the ways to read the names of a dictionary of tensors, plain ones first."""
    for front in sorted({front for name in given for front in _fronts(name)}, key=lambda front: (len(front), front)):
        named = {name.removeprefix(front): name for name in given if name.startswith(front)}
        tensors = {short: given[name] for short, name in named.items()}
        place = " ".join(filter(None, (where and f"in {where!r}", front and f"behind {front!r}")))
        yield _Reading(tensors=tensors, names=named, place=place)
        for words, convert in _conversions(encoder):
            yield _Reading(tensors=convert(tensors), names=named, place=place, words=words)


def _fronts(name: str) -> Iterator[str]:
    """Yield what a name begins with, of names in :data:`PREFIXES` with their points: nothing, one, two and so on."""
    front = ""
    yield front
    for part in name.split(".")[:-1]:
        if part not in PREFIXES:
            return
        front += f"{part}."
        yield front


def _compared(own: Mapping[str, Tensor], reading: _Reading, every: Mapping[str, Tensor], inside: str) -> Matched:
    given, names = reading.tensors, reading.names
    counted = [name for name in own if not name.endswith(_COUNTS)]
    fits = {name for name in own if name in given and given[name].shape == own[name].shape}
    differ = [name for name in counted if name in given and name not in fits]
    return Matched(
        tensors={f"{inside}{name}": given[name] for name in fits},
        wanted=len(counted),
        missing=tuple(name for name in counted if name not in given),
        misshapen=tuple(f"{name} {list(given[name].shape)} for {list(own[name].shape)}" for name in differ),
        unused=(
            *(names.get(name, name) for name in given if name not in own),
            *(name for name in every if name not in names.values()),
        ),
        place=reading.place,
        how=reading.words,
    )


_Convert = Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]


def _conversions(encoder: Encoder) -> Iterator[tuple[str, _Convert]]:
    """Yield the conversions of names that there are for a timm model, with what they are called."""
    backbone = getattr(encoder, encoder.wraps) if encoder.wraps else None
    if backbone is None:
        return
    convert = getattr(sys.modules[type(backbone).__module__], "checkpoint_filter_fn", None)
    if convert is not None:
        yield "converted by timm, which leaves out what it does not know", partial(_by_timm, convert, backbone)
    yield "names of torchvision", _of_torchvision


def _by_timm(convert: Callable[..., Mapping[str, Tensor]], backbone: nn.Module, given: Mapping[str, Tensor]) -> Any:
    try:
        made = convert(dict(given), backbone)
        return {name: value for name, value in made.items() if isinstance(value, Tensor)}
    except Exception:  # it knows some forms, and stumbles over others
        return {}


_VIT = (
    (r"^conv_proj\.", "patch_embed.proj."),
    (r"^class_token$", "cls_token"),
    (r"^encoder\.pos_embedding$", "pos_embed"),
    (r"^encoder\.ln\.", "norm."),
    (r"^encoder\.layers\.encoder_layer_(\d+)\.", r"blocks.\1."),
    (r"\.ln_([12])\.", r".norm\1."),
    (r"\.self_attention\.in_proj_", ".attn.qkv."),
    (r"\.self_attention\.out_proj\.", ".attn.proj."),
    (r"\.mlp\.(?:0|linear_1)\.", ".mlp.fc1."),
    (r"\.mlp\.(?:3|linear_2)\.", ".mlp.fc2."),
)
"""Names of torchvision's vision transformer, and timm's."""


def _of_torchvision(given: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    renamed = {}
    for name, value in given.items():
        for theirs, ours in _VIT:
            name = re.sub(theirs, ours, name)
        renamed[name] = value
    return renamed
