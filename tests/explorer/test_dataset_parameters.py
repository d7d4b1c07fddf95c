"""Parameters of a dataset of the catalogue on the page: the share of drawn backgrounds that are tied to classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.page.dataset_picker import DatasetPicker
from explorer.page.kinds import metric_learning as page
from explorer.server.view import _points
from tests.synthetic import make_run
from trainers.config import DataChoice, read_config
from trainers.errors import ParameterError
from trainers.hierarchy import Hierarchy
from trainers.kinds import KINDS, check
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.runs.records import Attribute, Probe


def test_the_slider_and_the_source_are_one_setting() -> None:
    picker = DatasetPicker()
    tied = DataChoice(source="drawn:bias=0.9")
    held = picker.held(tied)
    assert held["source"] == "drawn" and held["drawn_bias"] == 0.9
    assert picker.chosen(held) == tied
    assert picker.chosen(picker.defaults()) == DataChoice()
    assert picker.chosen(picker.defaults() | {"source": "a/b", "drawn_bias": 0.9}).source == "a/b"
    assert picker.chosen(picker.defaults() | {"source": "drawn:bias=0.5"}).source == "drawn:bias=0.5"
    for wrong in ({"drawn_bias": 2.0}, {"source": "drawn:bias=2"}, {"source": "drawn:shade=1"}):
        with pytest.raises(ParameterError):
            picker.chosen(picker.defaults() | wrong)


def test_what_a_browser_kept_is_checked() -> None:
    picker = DatasetPicker()
    assert picker.restored({"drawn_bias": 0.5})["drawn_bias"] == 0.5
    assert "drawn_bias" not in picker.restored({"drawn_bias": "much"}) | picker.restored({"drawn_bias": 7})
    assert "source" not in picker.restored({"source": "drawn:bias=7"})


def test_a_preset_sets_its_bias_again_after_another_one() -> None:
    from explorer.page.forms import filled

    kind = KINDS["metric_learning"]

    class Form:
        held = staticmethod(page.held)
        looks_at = DatasetPicker().fields

    values = {preset.name: filled(kind, Form(), preset.name) for preset in kind.presets()}  # type: ignore[arg-type]
    assert {name: one["drawn_bias"] for name, one in values.items()} == {
        "background_0": 0.0,
        "background_05": 0.5,
        "background_09": 0.9,
    }
    for preset in kind.presets():
        check(kind.configured({}, {"preset": preset.name}))


def test_a_configuration_with_a_bias_is_written_and_read() -> None:
    config = MetricLearningConfig(data=DataChoice(source="drawn:bias=0.9"))
    assert read_config(config.to_json()) == config
    assert KINDS["metric_learning"].data_title(config) == "Drawn world, backgrounds tied to classes 0.9"


def test_the_page_gets_the_background_of_each_point(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=30, frames=1)
    old = folder.probe()
    assert old is not None and old.attributes == () and _points(old)["attributes"] == []
    values = old.labels[:, -1] % 2
    tree = Hierarchy(levels=old.hierarchy.levels, names=old.hierarchy.names)
    about = {"labels": old.labels, "rows": old.rows, "hierarchy": tree, "data_title": "made"}
    colour = Attribute(name="background", names=("dark", "light"), values=values)
    folder.write_probe(Probe(**about, attributes=(colour,)), ())
    kept = folder.probe()
    assert kept is not None
    assert _points(kept)["attributes"] == [
        {"name": "background", "names": ["dark", "light"], "values": values.tolist()}
    ]
