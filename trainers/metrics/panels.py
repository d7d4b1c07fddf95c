"""Pictures of single numbers: a curve over the steps, or bars by group."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One curve per arm.

    Attributes:
        dashed: another number, drawn dashed beside it.
        small: it also stands in the small view of a run that is followed beside its form.
    """

    key: str
    dashed: str | None = None
    small: bool = False


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One number for each of several groups, as bars at one step; a small picture per arm.

    Attributes:
        key: name of the numbers, ``*`` standing for the group; a group's name starts with its place, from 1.
        title: of the pictures.
        axis: what the groups are ordered by, and ``unit`` what its marks are counted in.
        marks: name of the numbers that say where each group lies on the axis, ``*`` standing for the same group.
        share: the share of the axis that the groups cover; the rest of the picture is left empty.
        rest: what that rest is.
        beside: numbers written beside an arm's title.
        note: a sentence on how to read it.
    """

    key: str
    title: str
    axis: str
    unit: str
    marks: str
    share: str
    rest: str
    beside: tuple[str, ...]
    note: str
