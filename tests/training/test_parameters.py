"""Parameters: what is accepted, and what is said about the rest."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trainers.errors import ParameterError
from trainers.parameters import describe, make, parameter, specs


@dataclass(frozen=True, kw_only=True)
class Example:
    tau: float = parameter(0.1, low=0.01, high=1, log=True, help="Temperature.")
    offset: float | None = parameter(None, help="Offset.")
    at_k: tuple[int, ...] = parameter((1, 2), low=1, high=100, help="Ranks.")
    kind: str = parameter("paper", choices=("paper", "sop"), help="Preset.")
    deep: bool = parameter(False, help="Deep.")


def test_specs_resolve_types_and_defaults() -> None:
    found = {spec.name: spec for spec in specs(Example)}
    assert found["tau"].type is float and found["tau"].default == 0.1
    assert found["offset"].optional and found["offset"].type is float
    assert found["at_k"].type is tuple and found["at_k"].item is int
    assert describe(found["tau"]) == "a number from 0.01 to 1"
    assert describe(found["kind"]) == "one of paper, sop"


def test_good_values_are_kept_in_the_fields_type() -> None:
    made = make(Example, {"tau": 1, "offset": 2, "at_k": [1, 4, 8]}, "Example")
    assert made == Example(tau=1.0, offset=2.0, at_k=(1, 4, 8))
    assert isinstance(made.tau, float)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tau": 2.0}, "tau needs a number from 0.01 to 1; 2.0 came"),
        ({"tau": float("nan")}, "tau needs"),
        ({"tau": "0.1"}, "tau needs"),
        ({"tau": True}, "tau needs"),
        ({"tau": None}, "nothing came"),
        ({"at_k": [1, 2.5]}, "at_k needs whole numbers"),
        ({"kind": "best"}, "one of paper, sop"),
        ({"deep": 1}, "true or false"),
        ({"taus": 1}, "no parameter 'taus'"),
    ],
)
def test_bad_values_are_named(values: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words.replace(".", r"\.")):
        make(Example, values, "Example")
