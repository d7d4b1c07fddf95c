"""A report on a plan as plain values, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainers.cells import finite_number
from trainers.comparison import condition_key
from trainers.plans.planned import Child, Outcome, Part, Variant
from trainers.runs.records import ACTIVE


def part_json(part: Part) -> dict[str, Any]:
    """Describe a part with its table; in every cell of the table the values of the runs that it is the mean of."""
    variants = part.variants
    about = {
        "name": part.name,
        "title": part.title,
        "variants": [_variant_json(variant) for variant in variants.values()],
        "axes": _axes(part),
        "table": None,
    }
    if part.table is None:
        return about
    values = part.table.json()
    runs = _values(part.children)
    for row in values["rows"]:
        for key, cell in row["cells"].items():
            cell_key = (row["variant"], condition_key(row["condition"]))
            cell["values"] = [
                {"seed": seed, "value": finite_number(outcome.numbers[arm].get(key)), "run": run, "arm": arm}
                for seed, outcome, run, arm in runs.get(cell_key, ())
            ]
    return about | {"table": values}


def child_json(child: Child) -> dict[str, Any]:
    """Describe a planned run and where it stands."""
    planned = child.planned
    return {
        "id": child.id,
        "title": planned.title,
        "phase": child.phase,
        "trains": child.outcome is None and child.phase in ACTIVE,
        "ended": child.outcome is not None,
        "lost": child.outcome is not None and not child.outcome.finished,
        "error": "" if child.outcome is None else child.outcome.error,
        "part": planned.part,
        "parts": list(planned.parts),
        "seed": planned.seed,
        "condition": dict(planned.condition),
        "variants": [variant.title for variant in planned.variants],
        "seconds": None if child.outcome is None else child.outcome.seconds,
    }


def _variant_json(variant: Variant) -> dict[str, Any]:
    return {
        "title": variant.title,
        "family": variant.family,
        "color": variant.color,
        "parameters": dict(variant.parameters),
    }


def _values(children: Sequence[Child]) -> dict[object, list[tuple[int, Outcome, str, int]]]:
    """Return seed, outcome, run and arm of every finished run, by variant and condition."""
    values: dict[object, list[tuple[int, Outcome, str, int]]] = {}
    for child in children:
        if child.outcome is None or not child.outcome.finished:
            continue
        for arm, variant in enumerate(child.planned.variants):
            key = (variant.title, condition_key(child.planned.condition))
            values.setdefault(key, []).append((child.planned.seed, child.outcome, child.id, arm))
    return values


def _axes(part: Part) -> list[dict[str, Any]]:
    """List what differs between the runs of a part: settings of the condition, and parameters of the losses."""
    planned = [child.planned for child in part.children]
    conditions = _differing([run.condition for run in planned])
    parameters = _differing([variant.parameters for run in planned for variant in run.variants])
    return [{"title": name, "of": "condition", "values": values} for name, values in conditions.items()] + [
        {"title": name, "of": "parameters", "values": values} for name, values in parameters.items()
    ]


def _differing(given: Sequence[Any]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {}
    for mapping in given:
        for name, value in mapping.items():
            known = values.setdefault(name, [])
            if value not in known:
                known.append(value)
    return {name: known for name, known in values.items() if len(known) > 1}
