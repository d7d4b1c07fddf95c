"""The recipes of a fine-tuning as the page edits them: a list of values, and the titles that tell them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from explorer.server.body import Body
from explorer.tabs.object_removal.bodies import REQUIRED
from explorer.tabs.object_removal.service import TEXTS
from trainers.kinds.finetuning.recipes import PRESETS, PairRecipe
from trainers.object_removal.fills import FILLS

MOST = 4
Values = dict[str, Any]
ORIGINALS = (("all of them", "all"), ("as many pairs as removed ones", "matched"), ("none", "none"))
FIELDS = ("originals", "removed", "text", "fill", "captions_each", "captioner", "only_edited", "ratio")
"""Of a recipe, in the order of the fields on the page."""


class _Listed(Body):
    recipes: list[dict[str, Any]] = REQUIRED


def read(text: str) -> list[Values]:
    """Read the recipes that the page holds.

    Raises:
        RequestError: it is something else.
    """
    listed = _Listed.parse(f'{{"recipes": {text or "[]"}}}'.encode()).recipes[:MOST]
    return [{**asdict(PairRecipe()), **values} for values in listed] or [asdict(PairRecipe())]


def of_preset(name: str) -> list[Values]:
    """Return the recipes of a preset."""
    preset = next((preset for preset in PRESETS if preset.name == name), PRESETS[0])
    return [{**asdict(PairRecipe()), **values} for values in preset.settings["recipes"]][:MOST]


def shown(values: Mapping[str, Any]) -> list[Any]:
    """Return what the fields show of a recipe."""
    return [values[name] for name in FIELDS]


def edited(fields: Sequence[Any]) -> Values:
    """Return the recipe that the fields describe."""
    values = dict(zip(FIELDS, fields, strict=True))
    values["ratio"] = None if values["ratio"] is None else float(values["ratio"])
    values["captions_each"] = int(values["captions_each"] or 1)
    values["captioner"] = (values["captioner"] or "").strip() if values["text"] == "captioner" else ""
    return values


def title(values: Mapping[str, Any]) -> str:
    """Name a recipe by what it is trained on."""
    chosen = {"all": "Originals", "matched": "Some originals"}.get(values["originals"], "")
    if not values["removed"]:
        return chosen or "Nothing"
    text = _text(values).get("title", values["text"]).lower()
    return f"{chosen} and removed: {text}" if chosen else f"Only removed: {text}"


def sentence(values: Mapping[str, Any]) -> str:
    """Say what a recipe does, or that there is nothing to train on."""
    if not values["removed"]:
        if values["originals"] == "none":
            return "Nothing is left to train on: choose originals, removed images or both."
        return "Nothing is removed: the comparison that shows what removal changes."
    return _text(values).get("sentence", "")


def titles(recipes: Sequence[Values]) -> list[str]:
    """Title every recipe; those that would share a title say what sets them apart."""
    named = []
    for number, values in enumerate(recipes):
        alike = [other for other in recipes if title(other) == title(values)]
        facts = _facts(values)
        apart = [fact for at, fact in enumerate(facts) if any(_facts(other)[at : at + 1] != [fact] for other in alike)]
        twins = [other for other in alike if _facts(other) == facts]
        more = [f"number {number + 1}"] if len(twins) > 1 else []
        named.append(", ".join([title(values), *apart, *more]))
    return named


def _facts(values: Mapping[str, Any]) -> list[str]:
    if not values["removed"]:
        return []
    ratio, each, fill = values["ratio"], values["captions_each"], values["fill"]
    return [
        f"filled with {FILLS[fill].title if fill in FILLS else fill}",
        "all pairs" if ratio is None else f"{ratio:.2f} pairs for each original",
        "one caption each" if each == 1 else f"{each} captions each",
        "edited captions only" if values["only_edited"] else "edited captions first",
    ]


def _text(values: Mapping[str, Any]) -> Mapping[str, str]:
    return next((text for text in TEXTS if text["name"] == values["text"]), {})
