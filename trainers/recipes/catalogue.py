"""The papers' trainings, as the TOML files of this folder have them: settings, their sources, what the paper printed.

A file has the recipes of one paper. Its ``[texts]`` name what is long or stands in several places, its ``[datasets]``
images, its ``[shared]`` tables what recipes are based on; such a name holds in every file. A recipe has what it is
based on, then its own. ``settings`` stand below their source; of the ``figures`` of a table of the paper ``metrics``
names the columns, and every other key is an arm with the name of its row there and its numbers. Without ``arms`` the
arms are those of the figures.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from trainers.errors import ParameterError
from trainers.kinds import KINDS
from trainers.kinds.base import Kind
from trainers.parameters import Choice, Spec, check, flat, meant, parse_choice
from trainers.plans.config import SweepConfig

Named = TypeVar("Named")
SEEDS = (0, 1, 2)
"""Of every recipe: the papers print one number a row, and one seed decides nothing here."""
_PLACEHOLDER = "path/to/"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The value of a setting and where it comes from, as a phrase without a full stop.

    Attributes:
        value: entries of registries are written as on the command line.
    """

    value: Any
    source: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The images of a recipe.

    Attributes:
        source: a dataset of the catalogue, a Hub id, or ``path/to/NAME`` for a folder that the user has.
        layout: what the source holds, or what the folder must, as a sentence.
        levels: of the label tree; 0: captions in place of labels.
    """

    title: str
    source: str
    layout: str
    levels: int

    @property
    def at_hand(self) -> bool:
        """Whether the source can be read by name."""
        return not self.source.startswith(_PLACEHOLDER)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number that the paper printed.

    Attributes:
        arm: the arm of the recipe that it is of, as written there.
        metric: key of the number, as :func:`trainers.metrics.names.describe` reads it.
        value: in per cent.
        where: table, and where it has several sets of columns which.
        row: its name there.
    """

    arm: str
    metric: str
    value: float
    where: str
    row: str


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training that a paper describes.

    Attributes:
        file: where it stands.
        paper: as cited.
        kind: of its runs.
        settings: by name, those of nested settings as ``data.max_images``; the images are in ``dataset``. What is not
            among them has the program's default.
        arms: what is compared, as on the command line, and their source.
        figures: none where our text of the paper has none.
        differs: sentences on what today's settings do not express, and on what else is not the paper's.
    """

    name: str
    file: str
    title: str
    paper: str
    sentence: str
    dataset: Dataset
    kind: str
    settings: Mapping[str, Setting]
    arms: Setting
    figures: tuple[Figure, ...]
    differs: tuple[str, ...]

    @property
    def of(self) -> Kind[Any]:
        """The kind of its runs."""
        return KINDS[self.kind]

    @property
    def arms_setting(self) -> str:
        """The name of the setting that lists its arms."""
        return self.of.compares

    def values(self, data: str | None = None) -> dict[str, Any]:
        """Return every setting that it gives by its whole name, in the order of the flags.

        Args:
            data: in place of the source of the dataset.

        Raises:
            ParameterError: a setting does not accept its value.
        """
        source = "scenes.source" if not self.dataset.levels else "data.source"
        given = {source: data or self.dataset.source} | {name: setting.value for name, setting in self.settings.items()}
        given[self.arms_setting] = self.arms.value
        return {name: self._checked(name, spec, given[name]) for name, spec in self.known.items() if name in given}

    @property
    def known(self) -> dict[str, Spec]:
        """Every setting of its runs by its whole name, in the order of the flags."""
        return dict(flat(self.of.config))

    def config(self, data: str | None = None, vary: Mapping[str, Any] | None = None) -> SweepConfig:
        """Make the sweep."""
        return SweepConfig(run=_configured(self.of, self.values(data)), seeds=SEEDS, vary=dict(vary or {}))

    def changed(self, arms: Sequence[str] = (), **settings: Any) -> Recipe:
        """Return the same with other arms or settings, which have no figures."""
        source = "ours: of this comparison"
        given = {name.replace("__", "."): Setting(value=value, source=source) for name, value in settings.items()}
        chosen = Setting(value=tuple(arms), source=source) if arms else self.arms
        return dataclasses.replace(self, settings={**self.settings, **given}, arms=chosen, figures=())

    def _checked(self, name: str, spec: Spec, value: Any) -> Any:
        try:
            return check(spec, _read(spec, value), self.title)
        except ParameterError as error:
            raise ParameterError(f"{self.file}: recipe {self.name}: {name}: {error}") from None


def _read(spec: Spec, value: Any) -> Any:
    """Return the value of a setting of how it is written."""
    if isinstance(value, (tuple, list)):
        return tuple(_read(spec, item) for item in value)
    kind = spec.item or spec.type
    if isinstance(value, str) and kind is Choice:
        name, given = parse_choice(value, spec.rule.entries())
        return Choice(name=name, parameters=given)
    if isinstance(value, str) and kind is Mapping:
        return parse_choice(f":{'' if value == '-' else value}")[1]
    return value


def _configured(kind: Kind[Any], values: Mapping[str, Any]) -> Any:
    """Make the configuration of a run from settings by their whole names."""
    default = kind.config()
    given: dict[str, Any] = {name: value for name, value in values.items() if "." not in name}
    for outer in {name.partition(".")[0] for name in values if "." in name}:
        inner = {name.partition(".")[2]: value for name, value in values.items() if name.startswith(f"{outer}.")}
        given[outer] = dataclasses.replace(getattr(default, outer), **inner)
    return kind.configured(given)


_FORM = ConfigDict(extra="forbid", strict=True)


class _Part(BaseModel):
    """A recipe, or what recipes are based on, as it is written."""

    model_config = _FORM
    based_on: list[str] = []
    title: str = ""
    sentence: str = ""
    dataset: str = ""
    arms: list[str] = []
    source: str = ""
    differs: list[str] = []
    settings: dict[str, dict[str, Any]] = {}
    figures: dict[str, dict[str, list[str | float]]] = {}


class _File(BaseModel):
    """A file, as it is written."""

    model_config = _FORM
    name: str = ""
    order: int
    paper: str
    kind: str
    texts: dict[str, str] = {}
    datasets: dict[str, Dataset] = {}
    shared: dict[str, _Part] = {}
    recipes: dict[str, _Part]

    def text(self, name: str) -> str:
        """Return the text of that name; what is not a name is one."""
        return self.texts.get(name, name)


def read(folder: Path) -> Mapping[str, Recipe]:
    """Read the recipes of a folder's files, in the order that the files state.

    Raises:
        ParameterError: something in a file is wrong, with the file, the recipe and the key.
    """
    files = sorted(map(_file, sorted(folder.glob("*.toml"))), key=lambda file: file.order)
    every = _File(order=0, paper="", kind="", recipes={})
    for file in files:
        for table in ("texts", "datasets", "shared", "recipes"):
            known, own = getattr(every, table), getattr(file, table)
            if twice := sorted(known.keys() & own.keys()):
                raise ParameterError(f"{file.name}: {table}: another file has {twice[0]!r} already; rename one.")
            known.update(own)
    recipes = {}
    for file in files:
        for name, part in file.recipes.items():
            try:
                recipes[name] = _recipe(name, part, file, every)
            except ParameterError as error:
                raise ParameterError(f"{file.name}: recipe {name}: {error}") from None
    return MappingProxyType(recipes)


def _file(path: Path) -> _File:
    try:
        written = json.dumps(tomllib.loads(path.read_text(encoding="utf-8")) | {"name": path.name}, default=str)
        return _File.model_validate_json(written)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{path.name}: {error}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ParameterError(f"{path.name}: {where}: {first['msg']}; got {first['input']!r:.80}.") from None


def _recipe(name: str, part: _Part, file: _File, every: _File) -> Recipe:
    """Make a recipe of what it is based on and of its own.

    Args:
        every: the tables of all files.
    """
    merged, settings, differs = _Part(), dict[str, Setting](), list[str]()
    for one in _based(part, every.shared):
        merged = merged.model_copy(update={key: getattr(one, key) for key in one.model_fields_set})
        settings |= {key: Setting(value=value, source=every.text(source)) for key, value, source in _settings(one)}
        differs += [each if each.endswith(".") else _named(every.texts, each, "differs") for each in one.differs]
    figures = tuple(figure for where, rows in part.figures.items() for figure in _figures(where, rows))
    merged.arms = merged.arms or list(dict.fromkeys(figure.arm for figure in figures))
    for key in ("title", "sentence", "dataset", "arms", "source"):
        if not getattr(merged, key):
            raise ParameterError(f"{key}: it is not given.")
    for figure in figures:
        _named(dict.fromkeys(merged.arms), figure.arm, f"figures: {figure.where}")
    known = dict(flat(_named(KINDS, file.kind, "kind").config))
    for key in settings:
        _named(known, key, "settings")
    dataset = _named(every.datasets, merged.dataset, "dataset")
    return Recipe(
        name=name,
        file=file.name,
        title=merged.title,
        paper=file.paper,
        sentence=merged.sentence,
        dataset=dataclasses.replace(dataset, layout=every.text(dataset.layout)),
        kind=file.kind,
        settings={key: settings[key] for key in known if key in settings},
        arms=Setting(value=tuple(merged.arms), source=every.text(merged.source)),
        figures=figures,
        differs=tuple(differs),
    )


def _based(part: _Part, shared: Mapping[str, _Part], above: tuple[str, ...] = ()) -> Iterator[_Part]:
    """Yield what a part is based on, the innermost first, then itself."""
    for name in part.based_on:
        if name in above:
            raise ParameterError(f"based_on: {name!r} is based on itself.")
        yield from _based(_named(shared, name, "based_on"), shared, (*above, name))
    yield part


def _settings(part: _Part) -> Iterator[tuple[str, Any, str]]:
    """Yield the name of each setting, its value and its source."""
    names = set[str]()
    for source, table in part.settings.items():
        for name, value in _whole(table):
            if name in names:
                raise ParameterError(f"settings: {name} is given twice.")
            names.add(name)
            yield name, value, source


def _whole(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by their whole names, as ``data.image_size``."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _whole(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _figures(where: str, rows: Mapping[str, list[str | float]]) -> Iterator[Figure]:
    """Yield the numbers of a table, row after row."""
    metrics = rows.get("metrics", [])
    for arm, cells in rows.items():
        if arm == "metrics":
            continue
        if [type(cell) for cell in cells] != [str, *(float for _ in metrics)]:
            raise ParameterError(f"figures: {where}: {arm}: a name and {len(metrics)} numbers were needed.")
        for metric, value in zip(metrics, cells[1:], strict=True):
            yield Figure(arm=arm, metric=str(metric), value=float(value), where=where, row=str(cells[0]))


def _named(table: Mapping[str, Named], name: str, key: str) -> Named:
    """Return what is named, or say below which key there is no such name."""
    if name not in table:
        raise ParameterError(f"{key}: there is no {name!r:.60}.{meant(name, table)}")
    return table[name]


RECIPES = read(Path(__file__).parent)
