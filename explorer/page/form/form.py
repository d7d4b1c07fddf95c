"""The form of a kind of run: sections of fields as JSON, and from the values of the fields to a configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from explorer.page.form.fields import Json, as_json, entries, field, is_written
from explorer.page.form.kind_page import KindPage
from trainers.config import BUDGET, MAX_ARMS, DataChoice, RunConfig
from trainers.devices.device import most_processes
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.kinds.base import Kind, Preset, Section
from trainers.parameters import Choice, Spec, describe, flat, imported, parse_text
from trainers.parameters import check as checked
from trainers.recipes.catalogue import RECIPES
from trainers.values import check_types, readable, values_of


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form.

    Attributes:
        kind: of the runs.
        page: what the page adds to it.
        public: strangers use it: settings that reach beyond the run are not offered.
    """

    kind: Kind
    page: KindPage
    public: bool = False

    @cached_property
    def known(self) -> dict[str, Spec]:
        """Every setting of the kind by name; of one within another ``data.subset``."""
        return dict(flat(self.kind.config))

    @cached_property
    def sections(self) -> list[Section]:
        """Its sections, without settings that are not offered."""
        kept = [
            dataclasses.replace(section, names=[name for name in section.names if self._offers(name)])
            for section in self.kind.sections
        ]
        return [section for section in kept if section.names]

    @cached_property
    def names(self) -> list[str]:
        """The settings that have a field, in order."""
        return [name for section in self.sections for name in section.names]

    def json(self) -> Json:
        """Describe it for the page."""
        first = self.first()
        return {
            "name": self.kind.name,
            "title": self.kind.title,
            "sentence": self.kind.sentence,
            "unlabelled": self.page.unlabelled,
            "presets": [*map(self._preset, self.kind.presets() if self.page.presets else ()), *self._recipes()],
            "sections": [
                {
                    **dataclasses.asdict(section),
                    "fields": [self._field(name, first) for name in section.names],
                    "views": self.page.views is not None and list(section.names) == ["augmentation"],
                }
                for section in self.sections
            ],
        }

    def first(self) -> RunConfig:
        """Return the settings that the fields show at first."""
        if not self.page.images:
            return self.kind.config()
        return self.kind.configured({"data": DataChoice(source=self.page.images)})

    def registries(self) -> set[str]:
        """Return the registries, ``module:NAME``, from which its fields choose."""
        return {self.known[name].rule.registry for name in self.names} - {""}

    # ---------------------------------------------------------------- values

    def values(self, config: RunConfig) -> Json:
        """Return the values of its fields that show a configuration, by name."""
        return {name: as_json(self.known[name], _at(config, name)) for name in self.names}

    def config(self, values: Mapping[str, Any], also: Collection[str] = ()) -> RunConfig:
        """Make the checked configuration that the fields describe; what is missing takes its default.

        Args:
            also: further settings that are accepted, by name.

        Raises:
            UserError: the first thing that is wrong, with what is accepted and what it got.
        """
        unknown = sorted(set(values) - {*self.names, *also})
        if unknown:
            raise ParameterError(
                f"{self.kind.title} has no setting {unknown[0]!r:.60} here; it has {', '.join(self.names)}."
            )
        config = self.part(values)
        check(config)
        return config

    def part(self, values: Mapping[str, Any]) -> RunConfig:
        """Make the configuration, whose values are checked one by one and not yet together."""
        settings: dict[str, Any] = dataclasses.asdict(self.kind.config())
        with readable(self.kind.title):
            for name, value in values.items():
                _put(settings, name.split("."), self._read(self.known[name], value))
            made = self.kind.config(**values_of(self.kind.config, settings))
            check_types(made)
        return made

    def _read(self, spec: Spec, value: Any) -> Any:
        """Check one value and return it as JSON holds it; text is without blanks around it, and none where empty."""
        if is_written(spec):
            return parse_text(spec, str(value))
        if isinstance(value, str):
            value = value.strip() or None
            if value is None and not spec.optional:
                asked = "Choose images first." if spec.label == "Images" else f"Fill in {spec.label}: {describe(spec)}."
                raise ParameterError(asked)
        if spec.type is tuple and spec.optional and not value:
            value = None
        if Choice in (spec.type, spec.item):
            several = spec.type is tuple
            items = [_choice(spec, item) for item in (value if several else [value])]
            checked(spec, tuple(items) if several else items[0], self.kind.title)
            return value
        return checked(spec, value, self.kind.title)

    # ----------------------------------------------------------- description

    def _offers(self, name: str) -> bool:
        if not self.kind.offers(name) or (name == "processes" and most_processes() == 1):
            return False
        return not (self.public and self.known[name].rule.private)

    def _field(self, name: str, first: RunConfig) -> Json:
        spec = self.known[name]
        made = field(spec, name)
        made["default"] = as_json(spec, _at(first, name))
        if name == "data.source":
            made["control"] = "images"
        if name == "data.hierarchy":
            made["control"] = "hierarchy"
        if name == "data.level_names":
            made["control"] = "levels"
        if name == "start":
            made["control"] = "run"
        if name == "processes":
            made |= {"control": "slider", "low": 1, "high": most_processes(), "step": 1, "whole": True}
        if made["control"] == "entries":
            made |= {"added": list(self.page.added), "most": MAX_ARMS}
        if spec.rule.registry:
            entries = spec.rule.entries()
            offered = [entry for entry in self.page.entries.get(name, entries) if entries[entry].listed]
            if len(offered) < len(entries):
                made["offered"] = offered
        if name in self.page.sets:
            follow = self.page.sets[name]
            made["sets"] = {entry: dict(follow(follower)) for entry, follower in spec.rule.entries().items()}
        return made

    def _preset(self, preset: Preset) -> Json:
        """Describe a preset: images and budget stay as they are unless it has its own."""
        config = self.kind.configured({}, {"preset": preset.name})
        given = preset.settings
        kept = {
            *(() if "data" in given else (name for name in self.names if name.startswith("data."))),
            *(() if any(given.get(name) is not None for name in BUDGET) else BUDGET),
        }
        values = {name: value for name, value in self.values(config).items() if name not in kept}
        return {"name": preset.name, "title": preset.title, "sentence": preset.sentence, "values": values}

    def _recipes(self) -> list[Json]:
        """Describe the papers' recipes that are no presets already and whose every setting has a field; they are too
        large for a public page.
        """
        if self.public:
            return []
        presets = [self.kind.configured({}, {"preset": preset.name}) for preset in self.kind.presets()]
        made = [(recipe, recipe.config().run) for recipe in RECIPES.values() if recipe.kind == self.kind.name]
        fitting = [
            (recipe, run) for recipe, run in made if set(recipe.values()) <= set(self.names) and run not in presets
        ]
        return [
            {
                "name": recipe.name,
                "title": recipe.title,
                "sentence": f"{recipe.sentence} {recipe.paper}. Sources: `python -m trainers recipe {recipe.name}`.",
                "values": self.values(run),
            }
            for recipe, run in fitting
        ]


def registry_json(path: str) -> list[Json]:
    """Describe the entries of the registry at ``module:NAME``."""
    return entries(imported(path))


def _at(config: Any, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def _put(settings: dict[str, Any], path: list[str], value: Any) -> None:
    *above, last = path
    for part in above:
        settings = settings[part]
    settings[last] = value


def _choice(spec: Spec, value: Any) -> Choice:
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise ParameterError(f"{spec.label} needs a name and parameters; got {value!r:.60}.")
    return Choice(name=value["name"], parameters=dict(value.get("parameters") or {}))
