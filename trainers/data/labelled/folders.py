"""What the folders of images say: the split of each, its role in a test of queries and a gallery, and its classes.

images/apple/1.jpg              one level:  class
images/fruit/apple/1.jpg        two levels: class = apple, group = fruit
images/train/fruit/apple/1.jpg  the same, with splits
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from trainers.cells import counted, some
from trainers.data.base import GALLERY, QUERY
from trainers.data.labelled.split_column import with_roles
from trainers.data.labelled.splits import is_split, rank_as_test, role_of

Names = tuple[str, ...]
_PICTURES = {"images", "image", "imgs", "img", "jpegimages", "photos", "pictures", "rgb", "color", "colour", "original"}
_MASKS = {
    *("segmentations", "segmentation", "segmentationclass", "segmentationobject", "masks", "mask", "annotations"),
    *("labels", "gt", "depth", "trimaps"),
}
_ALIKE = 0.8  # of the names in two folders that are in both
_LEFT_OUT = ""


@dataclass(frozen=True, kw_only=True)
class Folders:
    """What the folders of images say.

    Attributes:
        splits: of every image; empty: it is left out.
        inner: the folders below those that all images share and that of the split, outermost first.
        roles: :data:`QUERY` or :data:`GALLERY` of every image of a test that is divided so; None: of none.
        outer: the folder of every image beside which another has the same folders within; nothing: there are none.
        notes: what was decided, and what is left out.
    """

    splits: Sequence[str]
    inner: Sequence[Names]
    roles: Sequence[str | None] | None = None
    outer: Sequence[str | None] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, files: Sequence[Names]) -> Folders:
        """Read the paths of the images below the dataset's folder, as parts."""
        skip = _common_depth(files)
        below = [parts[skip:] for parts in files]
        tops = Counter(parts[0] for parts in below if len(parts) > 1)
        splits = _split_folders(below, tops)
        if splits:
            return _divided(below, tops, splits)
        masks = _masks(below, tops)
        if masks:
            return _without(files, [len(parts) > 1 and parts[0] in masks for parts in below], masks)
        inner = [parts[:-1] for parts in below]
        everything = cls(splits=["all"] * len(files), inner=inner)
        if _same_inside(below, tops):
            return replace(
                everything,
                inner=[parts[1:] for parts in inner],
                outer=[parts[0] for parts in inner],
                notes=(f"{some(sorted(tops))} hold folders of the same names, which are read as the same classes.",),
            )
        odd = [name for name in tops if is_split(name) or role_of(name)]
        if odd:
            read = "is read as a class" if len(odd) == 1 else "are read as classes"
            return replace(everything, notes=(f"{some(sorted(odd))} {read}, since other folders are no splits.",))
        return everything

    @cached_property
    def depth(self) -> int:
        """Levels that all images in folders have."""
        return min({len(parts) for parts in self._read()} - {0}, default=0)

    def levels(self) -> list[list[str | None]]:
        """Return the names of every level, finest first; the parts of a path are coarsest first."""
        above = [parts[: self.depth] if parts else (None,) * self.depth for parts in self.inner]
        return [[parts[-1 - level] if len(parts) > level else None for parts in above] for level in range(self.depth)]

    def said(self) -> list[str]:
        """Say what is left out where the folders are the classes."""
        read = self._read()
        loose, said = sum(not parts for parts in read), []
        if loose and self.depth:
            was = "was" if loose == 1 else "were"
            said.append(f"{counted(loose, 'image', 'lies')} in no class folder and {was} skipped.")
        if len({len(parts) for parts in read} - {0}) > 1:
            said.append(
                f"Class folders are nested to different depths; the first {self.depth} of them were read as labels."
            )
        return said

    def _read(self) -> list[Names]:
        return [parts for parts, split in zip(self.inner, self.splits, strict=True) if split]


def _split_folders(below: Sequence[Names], tops: Counter[str]) -> set[str]:
    """Return which of the outermost folders are splits: all, if all have such names; else those with such names, if
    they can be told from classes: a train and a test split or query and gallery are there, or they alone hold folders.
    """
    named = {name for name in tops if is_split(name) or role_of(name)}
    others = tops.keys() - named
    if not named or (not others and all(len(parts) > 1 for parts in below)):
        return named
    deep = {parts[0] for parts in below if len(parts) > 2}
    several = {"train" if _trains(name) else role_of(name) or "test" for name in named}
    flat = not named & deep
    if flat and len(others) > 1:
        return set()
    if several >= {"train", "test"} or several >= {QUERY, GALLERY} or (len(several) > 1 and "train" in several):
        return named
    return named if named <= deep and not others & deep else set()


def _trains(name: str) -> bool:
    return rank_as_test(name) is None and not role_of(name)


def _divided(below: Sequence[Names], tops: Counter[str], splits: set[str]) -> Folders:
    """Take the outermost folder of every image as its split; those in no split are left out, and are named."""
    first = [parts[0] if len(parts) > 1 and parts[0] in splits else _LEFT_OUT for parts in below]
    inner = [parts[1:-1] if split else () for parts, split in zip(below, first, strict=True)]
    notes = []
    odd = [name for name in tops if name not in splits]
    if odd:
        count = sum(tops[name] for name in odd)
        notes.append(f"Left out, {counted(count, 'image')} in folders beside the splits: {some(sorted(odd))}.")
    loose = sum(len(parts) == 1 for parts in below)
    if loose:
        notes.append(f"Left out, {counted(loose, 'image')} beside the folders of the splits.")
    return _with_roles(Folders(splits=first, inner=inner, notes=tuple(notes)))


def _with_roles(folders: Folders) -> Folders:
    """Read queries and gallery, beside the other splits or within one, as one test split."""
    inner = list(folders.inner)
    splits, roles = with_roles(folders.splits)
    if roles is None:
        splits = list(folders.splits)
        called = [role_of(parts[0]) if parts else None for parts in inner]
        below: dict[str, set[str | None]] = {}
        for split, role in zip(splits, called, strict=True):
            below.setdefault(split, set()).add(role)
        within = {split for split, found in below.items() if split and found == {QUERY, GALLERY}}
        roles = [role if split in within else None for split, role in zip(splits, called, strict=True)]
        inner = [parts[1:] if role else parts for parts, role in zip(inner, roles, strict=True)]
    if not any(roles):
        return folders
    return replace(folders, splits=splits, inner=inner, roles=roles)


def _masks(below: Sequence[Names], tops: Counter[str]) -> set[str]:
    """Return the outermost folders that hold files of the same names as one of pictures: masks of these."""
    held: dict[str, set[Names]] = {name: set() for name in tops}
    for parts in below:
        if len(parts) > 1:
            held[parts[0]].add((*parts[1:-1], PurePosixPath(parts[-1]).stem))
    deep = {name for name in tops if any(len(parts) > 1 for parts in held[name])}
    called = {name for name in tops if name.lower() in _MASKS}
    pictures = [name for name in tops if name.lower() in _PICTURES]
    if not pictures and called <= deep:  # one that is called mask and holds images alone may be a class
        pictures = [name for name in deep if called and name not in called]
    picture = max(pictures, key=lambda name: tops[name], default=None)
    if picture is None:
        return set()
    stems = {name: {parts[-1:] for parts in held[name]} for name in tops}
    alike = {name for name in deep - called if name.lower() not in _PICTURES and name != picture}
    return {name for name in called if _overlap(stems[name], stems[picture]) >= _ALIKE} | {
        name for name in alike if _overlap(held[name], held[picture]) >= _ALIKE
    }


def _without(files: Sequence[Names], left_out: Sequence[bool], masks: set[str]) -> Folders:
    """Read the images but for those that are masks of others."""
    rows = [row for row, out in enumerate(left_out) if not out]
    rest = Folders.of([files[row] for row in rows])
    splits: list[str] = [_LEFT_OUT] * len(files)
    inner: list[Names] = [()] * len(files)
    roles: list[str | None] | None = None if rest.roles is None else [None] * len(files)
    outer: list[str | None] = [None] * len(files) if rest.outer else []
    for at, row in enumerate(rows):
        splits[row], inner[row] = rest.splits[at], rest.inner[at]
        if roles is not None and rest.roles is not None:
            roles[row] = rest.roles[at]
        if rest.outer:
            outer[row] = rest.outer[at]
    count, named = counted(sum(left_out), "image"), some(sorted(masks))
    note = f"Left out, {count} that have the names of others, as masks have: {named}."
    return Folders(splits=splits, inner=inner, roles=roles, outer=outer, notes=(note, *rest.notes))


def _same_inside(below: Sequence[Names], tops: Counter[str]) -> bool:
    """Return whether all outermost folders, of several, hold folders of nearly the same names, of two or more."""
    inside: dict[str, set[str]] = {name: set() for name in tops}
    for parts in below:
        if len(parts) != 3:
            return False
        inside[parts[0]].add(parts[1])
    named = list(inside.values())
    return len(named) > 1 and all(len(names) > 1 and _jaccard(names, named[0]) >= _ALIKE for names in named)


def _overlap(some: set[Names], others: set[Names]) -> float:
    return len(some & others) / max(1, min(len(some), len(others)))


def _jaccard(some: set[str], others: set[str]) -> float:
    return len(some & others) / len(some | others)


def _common_depth(files: Sequence[Names]) -> int:
    """Return how many outer folders all files share that are neither a split nor the only class folder."""
    first = files[0]
    shared = 0
    while all(len(parts) > shared + 2 and parts[shared] == first[shared] for parts in files):
        if is_split(first[shared]) or role_of(first[shared]):
            break
        shared += 1
    return shared
