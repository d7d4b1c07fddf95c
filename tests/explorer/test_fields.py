"""Every parameter has a field of the form, whose control suits its values."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest

from explorer.page.form.fields import entries, field
from explorer.server.choice_titles import TITLES, titled_choices
from trainers.encoders import ENCODERS
from trainers.kinds import KINDS
from trainers.kinds.contrastive.methods import METHODS
from trainers.losses import LOSSES
from trainers.parameters import Spec, check, flat, parameter, specs
from trainers.plans import PLANS
from trainers.registry import NoParameters
from trainers.retrieval.galleries import GALLERIES
from trainers.training.augmentations import AUGMENTATIONS

OWNERS = [*LOSSES.values(), *METHODS.values(), *ENCODERS.values(), *AUGMENTATIONS.values()]


@dataclass(frozen=True, kw_only=True)
class Everything:
    """One parameter of every kind."""

    margin: float = parameter(0.2, low=0.0, high=1.0, help="Margin.")
    temperature: float = parameter(0.1, low=0.01, high=1.0, log=True, help="Temperature.")
    proxies: int = parameter(3, low=1, high=10, help="Proxies.")
    size: int = parameter(4096, low=1, high=100_000, help="Memory size.")
    cap: int | None = parameter(None, low=1, high=50, help="Cap.")
    squared: bool = parameter(False, help="Squared.")
    distance: str = parameter("cosine", choices=("cosine", "euclid"), help="Distance.")
    power: int = parameter(2, choices=(1, 2), help="Power.")
    ks: tuple[int, ...] = parameter((1, 2, 4), low=1, high=64, help="Cut-offs.")
    words: tuple[str, ...] | None = parameter(None, help="Words.")
    name: str | None = parameter(None, help="Name.")
    noise: str = parameter("symmetric", registry="trainers.data.conditions.noise:NOISE_KINDS", help="Noise.")


def test_each_kind_of_value_has_its_control() -> None:
    fields = {spec.name: field(spec) for spec in specs(Everything)}
    assert [made["control"] for made in fields.values()] == [
        *("slider", "slider", "slider", "number", "number", "check"),
        *("select", "select", "numbers", "words", "text", "select"),
    ]
    assert fields["power"]["choices"] == [[1, "1"], [2, "2"]]
    assert (fields["temperature"]["log"], fields["temperature"]["low"]) == (True, 0.01)
    assert [name for name, made in fields.items() if made["optional"]] == ["cap", "words", "name"]


def _values(spec: Spec, made: dict[str, Any]) -> list[Any]:
    """Values that the control can come to."""
    if made["control"] == "slider":
        ends = [made["low"], made["high"], *([0] if made.get("zero") else [])]
        return [int(end) if made["whole"] else end for end in ends]
    return [choice for choice, _ in made.get("choices", [])] if made["control"] == "select" else []


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.name)
def test_every_parameter_has_a_field_with_default_and_help_that_holds_what_is_accepted(owner: Any) -> None:
    for spec in specs(owner.parameters):
        made = field(spec)
        assert made["help"].endswith("."), f"{spec.name} needs one sentence of help"
        assert json.loads(json.dumps(made)) == made or spec.type is tuple
        for value in [made["default"], *_values(spec, made)]:
            check(spec, value, owner.title)


def _spread(schema: type, known: dict[type, None]) -> None:
    """Add a dataclass of parameters, and those of the entries that its parameters are chosen from."""
    if schema in known:
        return
    known[schema] = None
    for _, spec in flat(schema):
        for entry in spec.rule.entries().values() if spec.rule.registry else ():
            _spread(getattr(entry, "parameters", NoParameters), known)


def test_every_word_to_choose_has_a_title() -> None:
    known: dict[type, None] = {}
    for described in (*KINDS.values(), *PLANS.values()):
        _spread(described.config, known)
    for entry in (*GALLERIES.values(), *OWNERS):
        _spread(entry.parameters, known)
    words = {(spec.name, value) for schema in known for _, spec in flat(schema) for value, _ in titled_choices(spec)}
    titled = {(name, value) for name, titles in TITLES.items() for value in titles}
    assert {(name, value) for name, value in words if isinstance(value, str)} - titled == set()


@pytest.mark.parametrize(
    "low,high,default", [(0.0, 1.0, 0.2), (0.0, 1000.0, 100.0), (0.0, 1.0, 0.05), (-1.0, 1.0, 0.123)]
)
def test_a_slider_can_show_its_default(low: float, high: float, default: float) -> None:
    @dataclass(frozen=True, kw_only=True)
    class One:
        value: float = parameter(default, low=low, high=high, help="It.")

    step = field(*specs(One))["step"]
    assert math.isclose((default - low) / step, round((default - low) / step), abs_tol=1e-6)
    assert (high - low) / step >= 50


def test_entries_stand_by_family_and_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.encoders.timm_models.find_spec", lambda name: None)
    made = {entry["name"]: entry for entry in entries(ENCODERS)}
    assert made["timm"]["missing"] == "This encoder needs the timm library: pip install timm"
    assert made["small_conv"]["missing"] is None
    families = [entry["family"] for entry in entries(LOSSES)]
    assert len(dict.fromkeys(families)) == sum(a != b for a, b in zip(families, ["", *families], strict=False))
    aliases = {name for name, loss in LOSSES.items() if loss.alias_of is not None}
    assert {entry["name"] for entry in entries(LOSSES)} == set(LOSSES) - aliases
