"""Parameters: what is accepted, and what is said about the rest."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.image_text.models import MODELS
from trainers.parameters import make, parameter, parse_choice


@dataclass(frozen=True, kw_only=True)
class Example:
    tau: float = parameter(0.1, low=0.01, high=1, log=True, help="Temperature.")
    offset: float | None = parameter(None, help="Offset.")
    at_k: tuple[int, ...] = parameter((1, 2), low=1, high=100, help="Ranks.")
    kind: str = parameter("paper", choices=("paper", "sop"), help="Preset.")
    deep: bool = parameter(False, help="Deep.")


def test_good_values_are_kept_in_the_fields_type() -> None:
    made = make(Example, {"tau": 1, "offset": 2, "at_k": [1, 4, 8]}, "Example")
    assert made == Example(tau=1.0, offset=2.0, at_k=(1, 4, 8))
    assert isinstance(made.tau, float)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tau": 2.0}, "tau needs a number from 0.01 to 1; got 2.0"),
        ({"tau": float("nan")}, "tau needs"),
        ({"tau": "0.1"}, "tau needs"),
        ({"tau": True}, "tau needs"),
        ({"tau": None}, "got nothing"),
        ({"at_k": [1, 2.5]}, "at_k needs whole numbers"),
        ({"at_k": [1, 200.0]}, "at_k needs whole numbers from 1 to 100; got 200.0"),
        ({"at_k": [1, None]}, "at_k needs whole numbers from 1 to 100; got None"),
        ({"kind": "best"}, "one of paper, sop"),
        ({"deep": 1}, "true or false"),
        ({"taus": 1}, "no parameter 'taus'"),
    ],
)
def test_bad_values_are_named(values: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words.replace(".", r"\.")):
        make(Example, values, "Example")


def test_choices_are_parsed() -> None:
    assert parse_choice("happier") == ("happier", {})
    assert parse_choice("sup_recall:at_k=1;2;4,temp=0.5,preset=sop,offset=none") == (
        "sup_recall",
        {"at_k": [1, 2, 4], "temp": 0.5, "preset": "sop", "offset": None},
    )
    with pytest.raises(ParameterError, match="'alpha' has no '='"):
        parse_choice("happier:alpha")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("open_clip", {}),
        ("open_clip:ViT-B-16", {"model": "ViT-B-16"}),
        ("open_clip:model=ViT-B-16", {"model": "ViT-B-16"}),
        ("open_clip:ViT-B-16,pretrained=openai", {"model": "ViT-B-16", "pretrained": "openai"}),
        ("open_clip:pretrained=1,model=2", {"model": "2", "pretrained": "1"}),
        ("open_clip:local-dir:/models/a,b c", {"model": "local-dir:/models/a,b c"}),
        ("open_clip:model=local-dir:/models/a,b", {"model": "local-dir:/models/a,b"}),
        ("tiny_clip:/weights,fresh=true", {"weights": "/weights", "fresh": True}),
    ],
)
def test_the_main_parameter_needs_no_name(text: str, values: dict[str, object]) -> None:
    name = text.partition(":")[0]
    assert parse_choice(text, MODELS) == (name, values)
    make(MODELS[name].parameters, values, name)


def test_a_family_may_have_entries_without_a_main_parameter() -> None:
    assert parse_choice("timm:resnet50,pretrained=false", ENCODERS) == (
        "timm",
        {"model": "resnet50", "pretrained": False},
    )
    with pytest.raises(ParameterError, match="'64' has no '='"):
        parse_choice("conv4:64", ENCODERS)
