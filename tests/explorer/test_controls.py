"""Every parameter of every loss and encoder has a control, and what the control holds is what the loss gets."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr
import pytest

from explorer.page.controls import control, raw, read
from explorer.page.kinds.metric_learning import SETTINGS
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses import LOSSES
from trainers.parameters import parameter, specs

OWNERS = [*LOSSES.values(), *ENCODERS.values()]


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
    weights: tuple[float, ...] | None = parameter(None, low=0.0, high=1.0, help="Weights.")
    name: str | None = parameter(None, help="Name.")


SPECS = {spec.name: spec for spec in specs(Everything)}


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.name)
def test_every_parameter_has_a_control_with_its_default_and_help(owner):
    held = {}
    for spec in specs(owner.parameters):
        assert spec.rule.help.endswith("."), f"{spec.name} needs one sentence of help"
        made = control(spec, raw(spec, spec.default))
        assert made.label == spec.label
        held[spec.name] = made.value
    assert read(owner.parameters, held, owner.title) == {}


def test_the_training_settings_have_controls():
    held = {spec.name: control(spec, raw(spec, spec.default)).value for spec in SETTINGS.specs.values()}
    assert read(MetricLearningConfig, held, "Training") == {}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("margin", gr.Slider),
        ("temperature", gr.HTML),
        ("proxies", gr.Slider),
        ("size", gr.Number),
        ("cap", gr.Textbox),
        ("squared", gr.Checkbox),
        ("distance", gr.Dropdown),
        ("power", gr.Dropdown),
        ("ks", gr.Textbox),
        ("weights", gr.Textbox),
        ("name", gr.Textbox),
    ],
)
def test_each_kind_has_its_control(name: str, kind: type):
    assert isinstance(control(SPECS[name], raw(SPECS[name], SPECS[name].default)), kind)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({"margin": 0.2, "temperature": 0.1}, {}),
        ({"margin": 0.5}, {"margin": 0.5}),
        ({"proxies": 4.0}, {"proxies": 4}),
        ({"cap": None}, {}),
        ({"cap": ""}, {}),
        ({"cap": "none"}, {}),
        ({"cap": "7"}, {"cap": 7}),
        ({"cap": 7}, {"cap": 7}),
        ({"power": "1"}, {"power": 1}),
        ({"distance": '"euclid"'}, {"distance": "euclid"}),
        ({"ks": "1, 8;16"}, {"ks": [1, 8, 16]}),
        ({"weights": ""}, {}),
        ({"weights": "0.5, 1"}, {"weights": [0.5, 1.0]}),
        ({"name": ""}, {}),
        ({"squared": True}, {"squared": True}),
    ],
)
def test_what_the_controls_hold_becomes_parameters(held: dict, expected: dict):
    assert read(Everything, held, "It") == expected


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        ({"margin": 3}, "margin needs a number from 0 to 1; got 3"),
        ({"margin": None}, "margin needs a number from 0 to 1; got nothing"),
        ({"temperature": "hot"}, "temperature needs a number from 0.01 to 1; got 'hot'"),
        ({"cap": "0"}, "cap needs a whole number from 1 to 50; got 0"),
        ({"cap": "many"}, "cap needs a whole number from 1 to 50; got 'many'"),
        ({"proxies": 2.5}, "proxies needs a whole number from 1 to 10; got 2.5"),
        ({"ks": "1, two"}, "ks needs whole numbers from 1 to 64 with commas between them; got '1, two'"),
        ({"power": "3"}, "power needs one of 1, 2; got 3"),
        ({"distance": "far"}, "distance needs one of cosine, euclid; got 'far'"),
        ({"colour": 1}, "has no parameter 'colour'"),
    ],
)
def test_what_cannot_be_is_named(held: dict, sentence: str):
    with pytest.raises(ParameterError, match=sentence.replace(".", r"\.")):
        read(Everything, held, "It")


@pytest.mark.parametrize(
    "low,high,default", [(0.0, 1.0, 0.2), (0.0, 1000.0, 100.0), (0.0, 1.0, 0.05), (-1.0, 1.0, 0.123)]
)
def test_a_slider_can_show_its_default(low: float, high: float, default: float):
    @dataclass(frozen=True, kw_only=True)
    class One:
        value: float = parameter(default, low=low, high=high, help="It.")

    (spec,) = specs(One)
    slider = control(spec, default)
    steps = (default - low) / slider.step
    assert abs(steps - round(steps)) < 1e-6
    assert (high - low) / slider.step >= 50
