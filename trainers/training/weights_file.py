"""Weights of an encoder from a file that another program wrote, and what of it matches."""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainers.checkpoints.files import INDEX, index_of, parts, tensors_in
from trainers.checkpoints.names import Reading, readings
from trainers.data import access
from trainers.encoders import Encoder
from trainers.errors import ParameterError, UserError
from trainers.training.encoder_file import without_head

ENDINGS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar", INDEX)
"""Of the names of files that may be weights."""
PREFIXES = (
    *("module", "_orig_mod", "state_dict", "model", "net", "network", "student", "teacher", "ema", "momentum_encoder"),
    *("encoder_q", "base_encoder", "encoder", "image_encoder", "backbone", "trunk", "visual", "vision_model"),
)
"""Names that programs put in front of an encoder's own, in any order, where these have to be converted; in front of
names that are the encoder's anything may stand."""
AVERAGED = re.compile(r"(?:^|.*_)(?:ema|swa|averaged?|teacher)(?:_.*|$)")
"""Names of the average over the steps of a training, with which timm, torchvision and DINO evaluate."""
BESIDE = re.compile(r"(?:^|.*_)(?:momentum|target|key|k)(?:_.*|$)")
"""Names of networks that follow the one that is trained only in order to teach it, as in MoCo and BYOL."""
LEAST = 0.9
"""Share of an encoder's tensors that a file must have, in their shapes, to be taken."""
_BY_TIMM = "converted by timm, which leaves out what it does not know"
_LISTED = 50  # names in one line
_COUNTS = "num_batches_tracked"  # of batch normalisations, which files of earlier programs do not have
_WRITTEN = re.compile(
    rf"(?P<path>.*(?:{'|'.join(map(re.escape, ENDINGS))}))(?::(?P<place>[\w.-]+))?(?:@(?P<digest>[0-9a-f]{{16}}))?",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class WeightsFile:
    """A file as a run names it: its path, behind a colon which of its networks, and behind an @ the digest of what it
    held when the run was made.

    Attributes:
        place: a name in the file in front of the network's own, such as ``state_dict_ema``; empty: any.
        digest: the first 16 digits of its sha256, of an index with that of the files that it names; empty: not noted.
    """

    path: Path
    place: str = ""
    digest: str = ""

    @classmethod
    def of(cls, written: str) -> WeightsFile:
        """Read ``PATH``, ``PATH:PLACE`` or ``PATH:PLACE@DIGEST``.

        Raises:
            ParameterError: its ending is none of those that are read.
            DataError: it may not be opened here.
        """
        found = _WRITTEN.fullmatch(written.strip())
        if found is None:
            raise ParameterError(
                f"A file of weights ends in {', '.join(ENDINGS)}; got {written.strip()[-60:]!r}. Save the encoder's "
                "state_dict in one of these forms; FILE:NAME chooses among several networks in a file."
            )
        return cls(path=access.allowed_path(found["path"]), place=found["place"] or "", digest=found["digest"] or "")

    def noted(self) -> WeightsFile:
        """Return the same with the digest of what it holds now; of a part of several files their index.

        Raises:
            UserError: it is not there, cannot be read, or holds something else than noted.
        """
        path = index_of(self.path) or self.path
        try:
            content = hashlib.sha256()
            for part in parts(path):
                with part.open("rb") as file:
                    hashlib.file_digest(file, lambda: content)
        except OSError as error:
            raise UserError(f"The weights {self.path} cannot be read: {error.strerror or error}.") from error
        digest = content.hexdigest()[:16]
        if self.digest and digest != self.digest:
            raise UserError(
                f"The weights {self.path} have changed: their sha256 begins with {digest}, and that of the file which "
                f"was chosen with {self.digest}. Put that file back, or choose this one without what stands behind @."
            )
        return replace(self, path=path.absolute(), digest=digest)

    def __str__(self) -> str:
        """Write it as :meth:`of` reads it."""
        return f"{self.path}{self.place and f':{self.place}'}{self.digest and f'@{self.digest}'}"


@dataclass(frozen=True, kw_only=True)
class Matched:
    """What of a file an encoder takes.

    Attributes:
        tensors: by the encoder's names.
        wanted: how many the encoder has in front of its head, but for counts of batches.
        missing: of these, not in the file.
        misshapen: in the file with another shape, with both.
        unused: of the file, by its own names.
        trail: the names in the file that lead to them.
        place: the same in words; empty: they are all that it holds.
        how: the names were converted so, in words.
        alike: networks in the file of which as many match and which were not chosen, in words.
    """

    tensors: dict[str, Tensor]
    wanted: int
    missing: tuple[str, ...] = ()
    misshapen: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    trail: tuple[str, ...] = ()
    place: str = ""
    how: str = ""
    alike: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many of those that are wanted it has."""
        return self.wanted - len(self.missing) - len(self.misshapen)

    @property
    def rank(self) -> int:
        """Among networks of which as many match: 0 for an average, 2 for one that teaches the trained one, else 1."""
        if any(AVERAGED.fullmatch(name) for name in self.trail):
            return 0
        return 2 if any(BESIDE.fullmatch(name) for name in self.trail) else 1

    @property
    def summary(self) -> str:
        """How much of the encoder is in the file, in words."""
        words = ", ".join(filter(None, (self.place, self.how)))
        how = f" ({words})" if words else ""
        return f"{self.count} of the encoder's {self.wanted} tensors are in the file{how}"

    def lines(self) -> list[str]:
        """List what did not match and what was not chosen, a line for each reason."""
        parts = (
            ("not in the file as dense real numbers, so they begin untrained", self.missing),
            ("of another shape in the file, likewise", self.misshapen),
            ("in the file and not used", self.unused),
        )
        lines = [f"{words}: {_listed(names)}" for words, names in parts if names]
        if self.alike:
            why = "; the average over the steps is taken, with which its authors evaluate" if self.rank == 0 else ""
            lines.append(f"as many match {_listed(self.alike)}, which is not taken{why}")
        return lines


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def match(encoder: Encoder, file: WeightsFile) -> Matched:
    """Find out what of a file an encoder takes: of all ways to read its names the one by which most match.

    Names are the encoder's behind anything, or those that :mod:`trainers.checkpoints.names` and timm convert behind
    :data:`PREFIXES`, or numbers of a Sequential that has the encoder's children in order. Of several networks of which
    as many match an average is taken first, one that :data:`BESIDE` names last, unless the file says which.

    Args:
        encoder: of which names and shapes count.

    Raises:
        UserError: the file cannot be read, has no such network, less than :data:`LEAST` of the encoder is in it, or a
            number is none.
    """
    wanted = without_head(encoder.state_dict(), type(encoder))
    inside = f"{encoder.wraps}." if encoder.wraps else ""
    own = {name.removeprefix(inside): value for name, value in wanted.items()}
    held = tensors_in(file.path)
    ways = [
        _compared(own, way, given, inside) for where, given in held.items() for way in _ways(given, where, own, encoder)
    ]
    chosen = [way for way in ways if f".{file.place}." in f".{'.'.join(way.trail)}."] if file.place else ways
    if not chosen:
        there = dict.fromkeys(way.place for way in ways if way.place and way.count >= LEAST * way.wanted)
        raise UserError(
            f"{file.path.name} has no network behind the name {file.place!r}. "
            + (f"This encoder is {_listed([*there])}." if there else "Leave the colon and what is behind it out.")
        )
    best = max(chosen, key=lambda way: (way.count, -way.rank))  # the first of several: the plainest
    others = {way.place: way for way in chosen if way.count == best.count and way.place != best.place}
    best = replace(best, alike=tuple(_offered(way, best, file) for way in others.values()))
    if best.count < LEAST * best.wanted:
        raise UserError(_refusal(own, held, best, file))
    if broken := [name for name, value in best.tensors.items() if not bool(torch.isfinite(value.float()).all())]:
        raise UserError(f"{file.path.name} has numbers that are none (NaN or infinite), first in {broken[0]}.")
    return best


def _offered(way: Matched, best: Matched, file: WeightsFile) -> str:
    name = next((name for name in way.trail if name not in best.trail), "")
    return f"{way.place} ({file.path.name}:{name})" if name else way.place or "what stands at the top of the file"


def _refusal(
    own: Mapping[str, Tensor], held: Mapping[str, Mapping[str, Tensor]], best: Matched, file: WeightsFile
) -> str:
    shapes = Counter(value.shape for name, value in own.items() if not name.endswith(_COUNTS))
    for given in held.values():
        theirs = Counter(value.shape for value in given.values())
        if (shapes & theirs).total() >= LEAST * best.wanted:
            return (
                f"{file.path.name} has tensors of this encoder's shapes under names that are not known here: "
                f"{_listed([*given][:3])} and so on, where it has {_listed([*own][:3])}. Save it with the "
                "encoder's own names."
            )
    told = "; ".join(best.lines()[:2])
    part = f" It is one of several files; put their index, {INDEX[1:]}, beside it." if "-of-" in file.path.name else ""
    return (
        f"{file.path.name} is not of this encoder: {best.summary}, and {LEAST:.0%} are needed; {told:.600}. Choose the "
        f"encoder that the file is of, with the same parameters.{part}"
    )


@dataclass(frozen=True, kw_only=True)
class _Way(Reading):
    """Tensors by one way to read their names, and where in the file they stand."""

    where: str
    front: str = ""

    @property
    def trail(self) -> tuple[str, ...]:
        return tuple(name for name in f"{self.where}.{self.front}".split(".") if name)

    @property
    def place(self) -> str:
        return " ".join(filter(None, (self.where and f"in {self.where!r}", self.front and f"behind {self.front!r}")))


def _ways(given: Mapping[str, Tensor], where: str, own: Mapping[str, Tensor], encoder: Encoder) -> Iterator[_Way]:
    """Yield the ways to read the names of a dictionary of tensors, plain ones first."""
    for reading in readings(given):
        for front in _fronts(reading.tensors, own):
            way = _behind(reading, where, front)
            yield way
            if (convert := _timms(encoder)) is not None:
                words = ", ".join(filter(None, (way.words, _BY_TIMM)))
                yield replace(way, tensors=convert(way.tensors), words=words)
    plain = next(readings(given))
    for front in _numbered(given):
        way = _behind(plain, where, front)
        if children := _in_order(way.tensors, own):
            yield replace(
                way,
                tensors={_child(name, children): value for name, value in way.tensors.items()},
                names={_child(name, children): names for name, names in way.names.items()},
                words="children of a Sequential, matched by order and shape",
            )


def _behind(reading: Reading, where: str, front: str) -> _Way:
    short = {name: name.removeprefix(front) for name in reading.tensors if name.startswith(front)}
    return _Way(
        tensors={new: reading.tensors[name] for name, new in short.items()},
        names={new: reading.names[name] for name, new in short.items()},
        words=reading.words,
        where=where,
        front=front,
    )


def _fronts(given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> list[str]:
    """List what may stand in front of an encoder's names, with the point at its end: nothing, names in
    :data:`PREFIXES`, and whatever stands in front of half of the encoder's own."""
    found = Counter(front for name in given for front, rest in _splits(name) if rest in own)
    fronts = {front for front, count in found.items() if count >= len(own) / 2}
    for name in given:
        for front, _ in _splits(name):
            if not set(front.split(".")[:-1]) <= {*PREFIXES}:
                break
            fronts.add(front)
    return sorted(fronts, key=lambda front: (len(front), front))


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to cut a name at its points, nothing in front first."""
    yield "", name
    for found in re.finditer(r"\.", name):
        yield name[: found.end()], name[found.end() :]


def _numbered(given: Mapping[str, Tensor]) -> list[str]:
    """List what stands in front of numbers of children."""
    return [*dict.fromkeys(front for name in given for front, rest in _splits(name) if rest.split(".")[0].isdigit())]


def _in_order(given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> dict[str, str]:
    """Match numbered children of a Sequential with an encoder's, in order.

    Returns:
        the encoder's child of each number; empty if not all that hold tensors are there in their shapes, or if they are
        so in more than one way.
    """
    theirs, mine = _children(given), _children(own)
    theirs = {name: theirs[name] for name in sorted((n for n in theirs if n.isdigit()), key=int)}
    ways: list[dict[str, str]] = [{}]
    for child, shapes in mine.items():
        fitting = [number for number, others in theirs.items() if others == shapes]
        ways = [
            {**way, number: child}
            for way in ways
            for number in fitting
            if not way or int(number) > int(next(reversed(way)))
        ][:_LISTED]
    return ways[0] if len(ways) == 1 else {}


def _children(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, torch.Size]]:
    """Return the shapes in each child, by their names in it."""
    found: dict[str, dict[str, torch.Size]] = {}
    for name, value in tensors.items():
        child, _, rest = name.partition(".")
        if not rest.endswith(_COUNTS):
            found.setdefault(child, {})[rest] = value.shape
    return found


def _child(name: str, children: Mapping[str, str]) -> str:
    number, point, rest = name.partition(".")
    return f"{children.get(number, number)}{point}{rest}"


def _compared(own: Mapping[str, Tensor], way: _Way, every: Mapping[str, Tensor], inside: str) -> Matched:
    given, names = way.tensors, way.names
    counted = [name for name in own if not name.endswith(_COUNTS)]
    fits = {name for name in own if name in given and given[name].shape == own[name].shape}
    differ = [name for name in counted if name in given and name not in fits]
    seen = {theirs for several in names.values() for theirs in several}
    return Matched(
        tensors={f"{inside}{name}": given[name] for name in fits},
        wanted=len(counted),
        missing=tuple(name for name in counted if name not in given),
        misshapen=tuple(f"{name} {list(given[name].shape)} for {list(own[name].shape)}" for name in differ),
        unused=(
            *(theirs for name in given if name not in own for theirs in names.get(name, (name,))),
            *(name for name in every if name not in seen),
        ),
        trail=way.trail,
        place=way.place,
        how=way.words,
    )


_Convert = Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]


def _timms(encoder: Encoder) -> _Convert | None:
    """Return timm's own conversion of names for its model, if it has one."""
    backbone = getattr(encoder, encoder.wraps) if encoder.wraps else None
    convert = getattr(sys.modules[type(backbone).__module__], "checkpoint_filter_fn", None)
    return None if convert is None or backbone is None else partial(_by_timm, convert, backbone)


def _by_timm(convert: Callable[..., Mapping[str, Tensor]], backbone: nn.Module, given: Mapping[str, Tensor]) -> Any:
    try:
        made = convert(dict(given), backbone)
        return {name: value for name, value in made.items() if isinstance(value, Tensor)}
    except Exception:  # it knows some forms, and stumbles over others
        return {}
