"""The verbs that list the registries: losses, metrics, models, encoders, augmentations, and those of the kinds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from trainers.cli.flags import LISTED, shown
from trainers.cli.output import Table, json_flag, print_json
from trainers.parameters import Rule, describe, entry, specs

_FACTS = ("family", "paper", "url", "year", "sentence", "unlike", "equation", "symbols", "slow", "differs")


def add(verbs: Any) -> None:
    """Add the verbs."""
    for verb in LISTED:
        if verb not in verbs.choices:
            text = f"List the {verb}; with names, what they are and their parameters."
            verbs.add_parser(verb, help=text, description=text, equip=partial(_equip, verb=verb))


def _equip(parser: argparse.ArgumentParser, verb: str) -> None:
    parser.add_argument("names", nargs="*", metavar="[NAME ...]", help="Those that are described.")
    json_flag(parser)
    parser.set_defaults(run=show, verb=verb)


def show(arguments: argparse.Namespace) -> int:
    """Print the entries as a table, or those that are named with their parameters."""
    entries = _entries(arguments.verb)
    names = arguments.names or entries
    chosen = [_entry(entries, name, arguments.verb) for name in names]
    if arguments.json:
        print_json(chosen)
    elif arguments.names:
        print("\n\n".join("\n".join(_lines(described)) for described in chosen))
    else:
        rows = [(described["name"], described["title"], _parameters(described)) for described in chosen]
        print(Table(columns=("name", "title", "parameters"), rows=rows).text())
    return 0


def _entries(verb: str) -> Mapping[str, Any]:
    if verb == "metrics":
        from trainers.metrics import PUBLISHED

        return PUBLISHED
    return Rule(help="", registry=LISTED[verb]).entries()


def _entry(entries: Mapping[str, Any], name: str, verb: str) -> dict[str, Any]:
    """Describe an entry by name; a metric also by its title, and with numbers in place of k and l."""
    if verb != "metrics" or name in entries:
        return _described(name, entry(entries, name, verb.removesuffix("s")))
    from trainers.metrics.names import describe as described
    from trainers.metrics.names import family_of, key_of

    family, key = family_of(name), key_of(name)
    about = _described(family, entry(entries, family, "metric"))
    if key == family:
        return about
    words = described(key)
    return about | {"name": key, "title": words.title, "sentence": words.sentence}


def _described(name: str, descriptor: Any) -> dict[str, Any]:
    """Describe an entry: its name, what is known of it, and its parameters."""
    lacking = getattr(descriptor, "lacking", None)
    facts = {fact: value for fact in _FACTS if (value := getattr(descriptor, fact, None))}
    of = getattr(descriptor, "alias_of", None)
    parameters = [
        {"name": spec.name, "default": spec.default, "accepts": describe(spec), "help": spec.rule.help}
        for spec in (specs(descriptor.parameters) if hasattr(descriptor, "parameters") else ())
    ]
    about = {"name": name, "title": descriptor.title} | ({"alias_of": of} if of else {}) | facts
    return about | {"missing": lacking() if lacking else None, "parameters": parameters}


def _parameters(described: Mapping[str, Any]) -> str:
    return " ".join(f"{parameter['name']}={shown(parameter['default'])}" for parameter in described["parameters"])


def _lines(described: Mapping[str, Any]) -> Iterator[str]:
    source = " ".join(str(described[fact]) for fact in ("paper", "year") if fact in described)
    yield f"{described['name']}: {described['title']}." + (f" {source}." if source else "")
    for fact in ("sentence", "unlike", "slow", "differs", "missing"):
        if described.get(fact):
            yield f"  {described[fact]}"
    if described["parameters"]:
        rows = [(of["name"], shown(of["default"]), of["accepts"], of["help"]) for of in described["parameters"]]
        yield Table(columns=("parameter", "default", "accepts", "what it is"), rows=rows).text()
