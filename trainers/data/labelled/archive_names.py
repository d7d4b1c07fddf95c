"""Names in zip files, whose encoding is found, and in the tar files of a WebDataset, which are divided in two.

A WebDataset's name is the key of an image and a field, ``a/scan 0.5.png``. The format divides at the first point. Where
that makes no fields that several images have, as with points in the names themselves, the last words are the field.

Of the nine encodings of the tests, charset_normalizer 3.5 finds seven (it reads Big5 as Shift JIS, cp850 as cp775).
"""

from __future__ import annotations

import re
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import PurePosixPath
from typing import Any

from trainers.errors import DataError, brief

ENCODINGS = {
    "gb18030": "GBK",
    "cp932": "Shift JIS",
    "cp949": "EUC-KR",
    "big5": "Big5",
    "cp866": "cp866",
    "cp1251": "Windows-1251",
    "cp850": "cp850",
    "cp1252": "Windows-1252",
    "cp437": "cp437",
}
"""What names are guessed to be in, by Python's name, with the name that people know; the likelier come first."""
_MARKED = 0x800
_UNICODE_PATH = 0x7075
_LOOKED_AT = 2000  # names
_SURE = 0.6  # of a score, which is at most 1
# Korean's most frequent syllables: the bytes of any syllable are those of a usual Chinese character too.
_SYLLABLES = frozenset(
    "이다에의는가을로고를하은서지도사한기자인대시그나어일리라아스해전정부있장보상주구과수제여국원공소동만면조성들안유내중화비회관"
    "산물교학문선우개무경발신요적생연간모미계바오금마치양강진세용진식방배감귤토포고양이강아지새꽃나무잎손발집차말소돼닭개울"
)
_KOREAN = 0.3  # of the syllables are such


@dataclass(frozen=True, kw_only=True)
class ZipNames:
    """The names of the members of a zip file, in their order, and what is to be said of them; empty: nothing."""

    names: tuple[str, ...]
    note: str = ""

    @classmethod
    def of(cls, members: Sequence[zipfile.ZipInfo], encoding: str | None = None) -> ZipNames:
        """Read them.

        Args:
            encoding: of names without a mark; None: it is found.

        Raises:
            DataError: there is no such encoding, or the names are not in it.
        """
        raws = [_raw(member) for member in members]
        unknown = [raw for raw in raws if raw is not None and not raw.isascii()]
        if not unknown:
            return cls(names=tuple(member.orig_filename for member in members))
        chosen, note = (encoding, "") if encoding else _found(unknown)
        try:
            names = tuple(
                member.orig_filename if raw is None else _beside(member, raw) or raw.decode(chosen)
                for member, raw in zip(members, raws, strict=True)
            )
        except (LookupError, UnicodeError) as error:
            raise DataError(
                f"The names in the zip file were to be read as {chosen!r:.40}, which fails ({error}). Choose another "
                f"encoding of names, such as {', '.join(ENCODINGS)}, or none."
            ) from error
        return cls(names=names, note=note and note.format(example=_example(names, unknown, chosen)))


def _raw(member: zipfile.ZipInfo) -> bytes | None:
    """Return the bytes of a name that has no mark; None: it is marked as UTF-8."""
    if member.flag_bits & _MARKED:
        return None
    return member.orig_filename.encode("cp437")


def _beside(member: zipfile.ZipInfo, raw: bytes) -> str | None:
    """Return the name in the field for Unicode's form of it, if that is about this name; None: there is none."""
    extra = member.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == _UNICODE_PATH and len(field) > 5 and struct.unpack("<BL", field[:5]) == (1, zlib.crc32(raw)):
            try:
                return field[5:].decode()
            except UnicodeDecodeError:
                return None
    return None


def _found(raws: Iterable[bytes]) -> tuple[str, str]:
    """Return the encoding that suits all names, and a sentence with a place for an example; empty: it is certain."""
    # not at backslashes: in Shift JIS, Big5 and GBK that byte is the second half of letters too
    parts = sorted({part for raw in raws for part in re.split(rb"[/.]", raw) if not part.isascii()})
    whole, some = b"\n".join(parts), b"\n".join(parts[:: len(parts) // _LOOKED_AT + 1])
    if _read(whole, "utf-8") is not None:
        return "utf-8", ""
    scores = {
        encoding: -1.0 if _read(whole, encoding) is None else _score(_read(some, encoding) or "", encoding)
        for encoding in ENCODINGS
    }
    best = max(scores, key=lambda encoding: scores[encoding])
    sure = "" if scores[best] > _SURE else ", which does not suit them well"
    how = f"The zip file does not say how its names are encoded: they are read as {ENCODINGS[best]}{sure}"
    return best, how + ", such as {example}. If that is wrong, choose the encoding of names."


def _example(names: Sequence[str], unknown: Sequence[bytes], encoding: str) -> str:
    known = {raw.decode(encoding, "replace") for raw in unknown}
    first = next((name for name in names if name in known), "")
    part = next((part for part in re.split(r"[/\\]", first) if not part.isascii()), first)
    return repr(part[:60])


def _read(text: bytes, encoding: str) -> str | None:
    """Decode; None if the bytes are not in this encoding."""
    try:
        return text.decode(encoding)
    except UnicodeDecodeError:
        return None


def _score(read: str, encoding: str) -> float:
    """Return how well a text reads that is decoded so, at most 1: by letters of one script that people use most."""
    letters = [letter for letter in read if not letter.isascii()]
    total = sum(_usual(letter, encoding) for letter in letters) - _mixed(read)
    if encoding == "cp949" and sum(letter in _SYLLABLES for letter in letters) > _KOREAN * len(letters):
        total += 0.01 * len(letters)
    return total / max(1, len(letters))


def _usual(letter: str, encoding: str) -> float:
    """Return how usual a letter is among the names that are written in an encoding."""
    name = unicodedata.name(letter, "")
    if encoding in ("gb18030", "big5", "cp949", "cp932"):
        return _usual_wide(letter, name, encoding)
    script = "CYRILLIC" if encoding in ("cp866", "cp1251") else "LATIN"
    odd = script == "CYRILLIC" and not "\u0410" <= letter <= "\u0451" and letter != "\u0401"
    return 1.0 if name.startswith(script) and not odd else -1.0


def _usual_wide(letter: str, name: str, encoding: str) -> float:
    code = letter.encode(encoding)
    if encoding == "cp949":
        return 1.0 if name.startswith("HANGUL SYLLABLE") and code[0] >= 0xB0 and code[1] >= 0xA1 else -0.2
    if encoding == "cp932":
        if name.startswith(("HIRAGANA", "KATAKANA")):
            return 1.0
        return 1.0 if len(code) == 2 and 0x88 <= code[0] <= 0x97 and name.startswith("CJK") else -0.5
    if len(code) != 2 or not name.startswith("CJK UNIFIED"):
        return -0.5
    if encoding == "big5":
        return 0.99 if 0xA4 <= code[0] <= 0xC6 else 0.3
    if code[1] < 0xA1:
        return 0.0
    return 1.0 if 0xB0 <= code[0] <= 0xD7 else 0.4


def _mixed(text: str) -> int:
    """Count places that no word has: a letter of another script beside a Latin one, a capital after a small letter."""
    count = 0
    for before, after in pairwise(text):
        foreign = [letter for letter in (before, after) if not letter.isascii()]
        if not foreign or not (before.isalpha() and after.isalpha()):
            continue
        scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in (before, after)}
        count += "LATIN" in scripts and len(scripts) > 1 and "CJK" not in scripts
        count += before.islower() and after.isupper()
    return count


_KEYS_LOOKED_AT = 60  # names that tell how they are divided; those of a file of the Hub are fetched for it
_RARE = 0.25  # of the names may have a field that no other key has
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PACKED = ("gz", "bz2", "xz", "zst", "lz4")
_POINT = "\ue000"  # stands for a point in a key while `datasets` reads it
Division = Callable[[str], tuple[str, str]]
Member = tuple[str, Any]


def correct(builder: Any, source: str) -> None:
    """Have a builder of ``datasets`` for WebDataset divide names as they are meant, and name the tar file that fails.

    Args:
        source: of the dataset, for messages.
    """
    inner, found = builder._get_pipeline_from_tar, list[Division]()

    def pipeline(path: str, members: Iterable[Member]) -> Iterator[dict[str, Any]]:
        try:
            if not found:
                found.append(division([name for name, _ in islice(members, _KEYS_LOOKED_AT)]))
            for example in inner(path, _renamed(members, found[0])):
                yield {**example, "__key__": example["__key__"].replace(_POINT, ".")}
        except (tarfile.TarError, ValueError, EOFError) as error:
            raise DataError(f"{PurePosixPath(path).name!r} of {source!r} cannot be read: {brief(error)}") from error

    builder._get_pipeline_from_tar = pipeline


def division(names: list[str]) -> Division:
    """Return how names are divided: the first way that makes fields which several keys have, or else at the last point.

    Args:
        names: of the first files, as parts of a path joined by ``/``.
    """
    shown = [name for name in names if not _hidden(name)]
    return next((way for way in (_at_first, _before_words) if _recurs(shown, way)), _at_last)


def _recurs(names: list[str], way: Division) -> bool:
    """Return whether all fields are words, and nearly all are those of several keys, unless there is one key."""
    pairs = {way(name) for name in names}
    counts = Counter(field for _, field in pairs)
    if not all(_WORD.fullmatch(word) for field in counts for word in field.split(".")):
        return False
    rare = sum(count == 1 for count in counts.values())
    return rare <= _RARE * len(pairs) or len({key for key, _ in pairs}) == 1


def _renamed(members: Iterable[Member], way: Division) -> Iterator[Member]:
    """Write names so that ``datasets``, which divides at the first point, divides them the same way."""
    for name, file in members:
        if not _hidden(name):
            key, field = way(name)
            folder, slash, stem = key.rpartition("/")
            yield f"{folder}{slash}{stem.replace('.', _POINT)}.{field}", file


def _at_first(name: str) -> tuple[str, str]:
    folder, slash, last = name.rpartition("/")
    stem, _, field = last.partition(".")
    return f"{folder}{slash}{stem}", field.lower()


def _before_words(name: str) -> tuple[str, str]:
    """Divide before the words at the end; something is left for the key."""
    folder, slash, last = name.rpartition("/")
    parts = last.split(".")
    start = len(parts) - 1
    while start > 1 and _WORD.fullmatch(parts[start - 1]):
        start -= 1
    return f"{folder}{slash}{'.'.join(parts[:start])}", ".".join(parts[start:]).lower()


def _at_last(name: str) -> tuple[str, str]:
    folder, slash, last = name.rpartition("/")
    parts = last.split(".")
    fields = 2 if len(parts) > 2 and parts[-1].lower() in _PACKED else 1
    return f"{folder}{slash}{'.'.join(parts[:-fields])}", ".".join(parts[-fields:]).lower()


def _hidden(name: str) -> bool:
    """Return whether a file is no part of an image: without a field, or left by a program."""
    parts = name.split("/")
    return "." not in parts[-1] or any(map(_left_behind, parts))


def _left_behind(part: str) -> bool:
    return part == "__MACOSX" or (part.startswith(".") and part != ".")
