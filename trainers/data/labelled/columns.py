"""The image column and the columns of the label tree, judged by kind, name and the actual rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from trainers.cells import some
from trainers.data.labelled.splits import is_split
from trainers.data.labelled.table import IMAGE_NAMES, LABEL_KINDS, Kind, LabelCodes, SplitTable
from trainers.data.names import same_name
from trainers.errors import DataError

Cell = str | int | None
_WHOLE = re.compile(r"-?[0-9]+(\.0*)?")
_LIST = re.compile(r"""\[\s*(?:(['"])([^'",\[\]]+)\1|(-?[0-9]+))\s*\]""")
_PADDED = re.compile(r"-?0[0-9]")
_MISSING = ("nan", "na", "n/a", "null", "none", "-")  # in a column of numbers alone; elsewhere these are names
POINT = "its values are numbers with a point"


def alike(cells: Sequence[Cell]) -> list[Cell]:
    """Read cells as whole numbers if all are, ``3.0`` among them; numbers with leading zeros stay texts. Where all are
    lists of one as Python or JSON writes them, ``["oak"]``, they are its item.
    """
    lists = [None if cell is None else _LIST.fullmatch(str(cell).strip()) for cell in cells]
    if any(lists) and all(met is not None or cell is None for met, cell in zip(lists, cells, strict=True)):
        cells = [None if met is None else met[2] or met[3] for met in lists]
    given = [str(cell).strip() for cell in cells if cell is not None]
    numbers = [text for text in given if text.lower() not in _MISSING]
    if not numbers or not all(map(_WHOLE.fullmatch, numbers)):
        return [None if cell is None else str(cell) for cell in cells]
    texts = [None if cell is None or str(cell).strip().lower() in _MISSING else str(cell).strip() for cell in cells]
    if any(map(_PADDED.match, numbers)):
        return list(texts)
    return [None if text is None else int(text.partition(".")[0]) for text in texts]


def kind_of_cells(cells: Sequence[Cell]) -> Kind:
    """Return what cells hold that were made :func:`alike`."""
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, int) or _WHOLE.fullmatch(cell) for cell in given):
        return "whole number"
    return "other" if given and all(map(_is_number, given)) else "text"


def _is_number(cell: Cell) -> bool:
    try:
        float(cell or "")
    except ValueError:
        return False
    return True


NAME = "class"
_ONES = {"1", "1.0", "yes", "true"}
_ZEROS = {"0", "0.0", "no", "false"}
_MOST_ODD = 2  # columns of zeros and ones beside those of the classes
_FEW = 12  # columns, of which some may be others
_MOST_ONE_HOT_CELLS = 50_000_000


def read_one_hot(tables: Sequence[SplitTable]) -> str:
    """Add a label column to tables that have a column per class, and say so; empty: they have none.

    Columns of zeros and ones that are no classes, such as whether an image was checked, are left aside where the others
    have a single one in each row; a row without a one has no class.
    """
    columns = _binary(tables)
    chosen = _chosen(columns)
    if not chosen:
        counts = np.sum(list(columns.values()), axis=0)
        if len(columns) > 2 and (counts > 1).any():
            return (
                f"{len(columns)} columns of zeros and ones ({some(columns, 6)}) are not read as one column per class: "
                f"{int((counts > 1).sum()):,} rows have several ones."
            )
        return ""
    ones = np.stack([columns[name] for name in chosen], axis=1)
    values = np.where(ones.any(axis=1), ones.argmax(axis=1), -1)
    order = np.argsort(chosen)
    names, place = tuple(chosen[at] for at in order), np.argsort(order)
    codes = np.where(values >= 0, place[values], -1)
    taken = set().union(*(table.kinds for table in tables))
    name = next(each for each in (NAME, "one-hot class", *(f"{NAME} {n}" for n in range(2, 99))) if each not in taken)
    starts = np.cumsum([len(table) for table in tables])[:-1]
    for table, part in zip(tables, np.split(codes, starts), strict=True):
        table.derive(name, LabelCodes(values=part, names=names), chosen)
    return f"{len(chosen)} columns, one per class ({some(chosen, 6)}), are read as the label {name!r}."


def _binary(tables: Sequence[SplitTable]) -> dict[str, np.ndarray]:
    """Return the columns of zeros and ones of all tables, as bool [N]."""
    found: dict[str, np.ndarray] = {}
    most = _MOST_ONE_HOT_CELLS // max(1, sum(map(len, tables)))
    for name in list(label_kinds(tables[0]))[:most]:
        if is_split(name) or not all(name in label_kinds(table) for table in tables):
            continue
        codes = join(tables, name)
        texts = [text.lower() for text in codes.names]
        if not codes.reason and {*texts} & _ONES and {*texts} <= _ONES | _ZEROS:
            one = np.array([text in _ONES for text in texts] + [False])
            found[name] = one[codes.values]
    return found


def _chosen(columns: Mapping[str, np.ndarray]) -> list[str]:
    """Return the columns of which no row has two ones and most have one: as many as can be; nothing: there are none."""
    for odd in range(_MOST_ODD + 1 if len(columns) <= _FEW else 1):
        for left in combinations(columns, len(columns) - odd) if len(columns) - odd > 2 else ():
            counts = np.sum([columns[name] for name in left], axis=0)
            if np.max(counts) <= 1 and 2 * np.sum(counts) > len(columns[left[0]]):
                return list(left)
    return []


_LABEL_LIKE = re.compile(
    r"label|class|categor|target|species|genus|family|phylum|kingdom|breed|variety|product|item_?id|landmark_?id|"
    r"character|alphabet|brand|model|identity|coarse|fine|person_?id|taxon|^y$|^cls$|^kind$|^type$"
)
_NOT_LABEL = re.compile(
    r"(^|[_/\-. ])(width|height|size|area|urls?|path|file|filename|caption|captions|text|description|sentence|sentids|"
    r"prompt|question|answer|licen[sc]e|split|date|time|timestamp|author|source|md5|sha|hash|index|idx|key|bbox|box|"
    r"score|count|drawer|image_?id|img_?id|imgid|row|uuid|lat|lon|captured)([_/\-. ]|$)"
)
MOST_COLUMNS = 64
"""Columns of a dataset that are looked at as labels."""
_MOST_CELLS = 50_000_000  # of all of them together, each held as a number of eight bytes
_LISTED = 30  # names in a sentence
_GLANCE = 20_000  # rows that mostly show already that one column does not determine another
_OUTVOTED = 50  # one row of so many may contradict a tree
_LEAST_TO_VOTE = 20
_MAX_NAME = 80  # longer average text is a description, not a class name


@dataclass(frozen=True, kw_only=True)
class LabelColumn:
    """A column that could be a label.

    Attributes:
        classes: number of distinct values that occur.
        usable: it can be chosen.
        reason: why it cannot be chosen, or why the loader would not consider it by itself; empty if it would.
        examples: a few names.
    """

    name: str
    kind: Kind
    classes: int
    usable: bool
    reason: str
    examples: tuple[str, ...]

    @property
    def likely(self) -> bool:
        """Whether the loader would consider it by itself."""
        return not self.reason


def image_column(table: SplitTable, wanted: str | None) -> str:
    """Return the image column: the wanted one, else the first of :attr:`Table.image_columns`.

    Raises:
        DataError: there is none, or the wanted column holds no images.
    """
    images, columns = table.image_columns, listed(table.kinds)
    if wanted is not None:
        wanted = same_name(wanted, table.kinds) or wanted
    if wanted is not None and wanted not in images:
        why = f": {table.no_images(wanted)}" if wanted in table.kinds else ""
        raise DataError(f"An image column was needed; {wanted!r} holds no images{why}. The columns are: {columns}.")
    if not images:
        called = [name for name in table.kinds if name.lower() in IMAGE_NAMES]
        whys = "".join(f" {name!r} holds no images that can be read: {table.no_images(name)}." for name in called)
        raise DataError(
            f"This dataset has no image column. Its columns are: {columns}.{whys} Choose one with images, or save the "
            "dataset with images as the bytes of image files."
        )
    return wanted or images[0]


def join(tables: Sequence[SplitTable], column: str) -> LabelCodes:
    """Join one label column of several splits, one after the other, under one list of names (joined by name)."""
    parts = [table.codes(column) for table in tables]
    given_up = next((part.reason for part in parts if part.reason), "")
    if given_up:
        return LabelCodes.given_up(sum(map(len, tables)), given_up)
    if all(part.names == parts[0].names for part in parts) and len({*parts[0].names}) == len(parts[0].names):
        return LabelCodes(values=np.concatenate([part.values for part in parts]), names=parts[0].names)
    names = dict.fromkeys(name for part in parts for name in part.names)
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        names = dict.fromkeys(sorted(names, key=int))
    position = {name: index for index, name in enumerate(names)}
    moved = [np.array([*(position[name] for name in part.names), -1])[part.values] for part in parts]
    return LabelCodes(values=np.concatenate(moved), names=tuple(names))


def describe(name: str, kind: Kind, codes: LabelCodes) -> LabelColumn:
    """Judge one column by its name, kind and values."""
    present = codes.values[codes.values >= 0]
    classes, counts = np.unique(present, return_counts=True)
    repeated = int(counts[counts > 1].sum())
    texts = [codes.names[index] for index in classes[:200]]
    hindrance = codes.reason
    if not hindrance and len(classes) < 2:
        hindrance = "it has one value only" if len(classes) else "it is empty"
    elif not hindrance and not repeated:
        hindrance = "every row has its own value"
    return LabelColumn(
        name=name,
        kind=kind,
        classes=len(classes),
        usable=not hindrance,
        reason=hindrance or _doubt(_snake(name), kind, repeated, len(present), texts),
        examples=tuple(texts[:5]),
    )


def determines(fine: np.ndarray, coarse: np.ndarray) -> bool:
    """Return whether each value of ``fine`` meets one value of ``coarse``; rows where one is missing do not count."""
    both = (fine >= 0) & (coarse >= 0)
    if not both.any():
        return False
    fine, coarse = fine[both], coarse[both]
    step = len(fine) // _GLANCE
    return (step < 2 or _functional(fine[::step], coarse[::step])) and _functional(fine, coarse)


def contradictions(fine: np.ndarray, coarse: np.ndarray) -> np.ndarray | None:
    """Return the rows whose value of ``coarse`` the others with their value of ``fine`` outvote, int64 [r].

    Nothing is returned where ``fine`` determines ``coarse``; None where it does not, not even nearly: more than one row
    of fifty contradicts, or a third of those of one value, or what is left of ``coarse`` is one value.
    """
    if determines(fine, coarse):
        return np.zeros(0, dtype=np.int64)
    both = np.flatnonzero((fine >= 0) & (coarse >= 0))
    if len(both) < _LEAST_TO_VOTE:
        return None
    some = both if len(both) < 2 * _GLANCE else both[np.random.default_rng(0).integers(0, len(both), _GLANCE)]
    if np.mean(_voted(fine[some], coarse[some])[0] != coarse[some]) > 5 / _OUTVOTED:
        return None
    voted, clear = _voted(fine[both], coarse[both])
    odd = both[voted != coarse[both]]
    few = len(odd) <= max(1, len(both) // _OUTVOTED)
    return odd if clear and few and len(np.unique(voted)) > 1 else None


def _voted(fine: np.ndarray, coarse: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the most frequent value of ``coarse`` among the rows of each value of ``fine``, int64 [n], and whether it
    has two thirds of the rows of each.
    """
    width = int(coarse.max()) + 1
    pairs, counts = np.unique(fine * width + coarse, return_counts=True)
    children = pairs // width
    major = np.lexsort((counts, children))[np.flatnonzero(np.append(np.diff(children), 1))]
    of_child = np.bincount(children, weights=counts)
    parent = np.zeros(len(of_child), dtype=np.int64)
    parent[children[major]] = pairs[major] % width
    return parent[fine], bool((3 * counts[major] > 2 * of_child[children[major]]).all())


def _functional(fine: np.ndarray, coarse: np.ndarray) -> bool:
    pairs = np.unique(fine * (int(coarse.max()) + 1) + coarse)
    return len(pairs) == len(np.unique(fine))


def chain(columns: Sequence[LabelColumn], codes: dict[str, LabelCodes]) -> tuple[str, ...]:
    """Return the longest chain of likely columns, finest first, in which each determines the next; if several are, the
    one with most columns called labels, classes, categories and the like.

    Columns that say the same in other words (a number and its name) count once. If the dataset has typed class columns,
    or columns called labels, then free text and numbers of other names do not compete with them.
    """
    likely = [column for column in columns if column.likely]
    sure = [column for column in likely if column.kind == "class" or _LABEL_LIKE.search(_snake(column.name))]
    likely = _without_doubles(sure if any(column.kind == "class" for column in sure) else likely, codes)
    likely.sort(key=lambda column: column.classes)
    best: dict[str, tuple[tuple[int, int, int], tuple[str, ...]]] = {}
    for column in likely:  # from coarse to fine, so that every coarser chain is already there
        tails = [
            best[other.name]
            for other in likely
            if other.name in best
            and other.classes < column.classes
            and contradictions(codes[column.name].values, codes[other.name].values) is not None
        ]
        rank, tail = max(tails, default=((0, 0, 0), ()))
        named = bool(_LABEL_LIKE.search(_snake(column.name)))
        best[column.name] = ((rank[0] + 1, rank[1] + named, column.classes), (column.name, *tail))
    return max(best.values(), default=((0, 0, 0), ()))[1]


def label_kinds(table: SplitTable) -> dict[str, Kind]:
    """Return the columns whose kind can be a label."""
    return {name: kind for name, kind in table.kinds.items() if kind in LABEL_KINDS}


def others(tables: Sequence[SplitTable]) -> tuple[LabelColumn, ...]:
    """Return the columns whose kind is none of labels, with the reason."""
    return tuple(
        LabelColumn(name=name, kind="other", classes=0, usable=False, reason=tables[0].unread[name], examples=())
        for name, kind in tables[0].kinds.items()
        if kind == "other" and name in tables[0].unread
    )[:MOST_COLUMNS]


def candidates(tables: Sequence[SplitTable]) -> tuple[dict[str, Kind], int]:
    """Return the columns of all tables to look at as labels, in order, and the number of others, which are left unread.

    Where there are more than :data:`MOST_COLUMNS`, or fewer where the dataset has many rows, typed class columns come
    first, then those called labels, then those that are not called something else.
    """
    kinds = label_kinds(tables[0])
    common = {name: kind for name, kind in kinds.items() if all(name in table.kinds for table in tables)}
    rows = max(1, sum(map(len, tables)))
    most = min(MOST_COLUMNS, max(4, _MOST_CELLS // rows))
    best = sorted(common, key=lambda name: _promise(name, common[name]))[:most]
    return {name: kind for name, kind in common.items() if name in best}, len(common) - len(best)


def listed(names: Iterable[str]) -> str:
    """List column names in a sentence; the first of them where there are many."""
    every = list(names)
    more = f" and {len(every) - _LISTED:,} more" if len(every) > _LISTED else ""
    return (", ".join(every[:_LISTED]) or "none") + more


def _promise(name: str, kind: Kind) -> int:
    """Return a number that is small where a column is likely a label, judged by name and kind alone."""
    if kind == "class":
        return 0
    if _LABEL_LIKE.search(_snake(name)):
        return 1
    return 3 if _NOT_LABEL.search(_snake(name)) else 2


def _doubt(name: str, kind: Kind, repeated: int, rows: int, texts: list[str]) -> str:
    """Say why a usable column is read as a label only if it is chosen; empty if it is anyway."""
    if kind == "class":
        return ""
    if _NOT_LABEL.search(name) and not re.search(r"label|class|categor", name):
        return "its name says it is no label"
    if 2 * repeated < rows:
        return "most rows have their own value"
    if kind == "text":
        return "its values are sentences" if sum(map(len, texts)) > _MAX_NAME * len(texts) else ""
    return "" if _LABEL_LIKE.search(name) else "numbers and yes/no columns are labels only if called so"


def _without_doubles(columns: Sequence[LabelColumn], codes: dict[str, LabelCodes]) -> list[LabelColumn]:
    order = sorted(columns, key=lambda column: LABEL_KINDS.index(column.kind))
    kept: list[LabelColumn] = []
    for column in order:
        if not any(
            other.classes == column.classes and determines(codes[other.name].values, codes[column.name].values)
            for other in kept
        ):
            kept.append(column)
    return kept


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
