"""The addresses of the form: what it shows, looks at, counts, starts, and takes over from runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.server.routes import TOKEN_HEADER
from tests.data.world import picture
from tests.explorer.page import FormPage
from tests.tiny import tiny_config, write_images
from trainers.errors import ParameterError
from trainers.kinds import KINDS, kind_of
from trainers.parameters import Choice, specs
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder


class Site(FormPage):
    """The form's addresses, asked by one visitor."""

    def told(self, path: str) -> Any:
        return self.get(path).json()

    def ask(self, path: str, kind: str = "metric_learning", token: str = "mine", **values: Any) -> Any:
        return self.post(path, {"kind": kind, **values}, **{TOKEN_HEADER: token}).json()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.scheduler.close()


def test_a_public_page_accepts_what_its_form_offers(tmp_path: Path) -> None:
    public = Site(tmp_path, public=True)
    for kind in public.told("start")["kinds"]:
        choices = {"": {}} | {preset["name"]: preset["values"] for preset in kind["presets"]}
        answers = {name: public.ask("count", kind["name"], settings=values) for name, values in choices.items()}
        refused = {name for name, answer in answers.items() if "problem" in answer}
        assert refused == {"paper_moco_v1"} & set(choices), answers  # it says so before it is started
        assert all("make that smaller" in answers[name]["problem"] for name in refused)
    large = {"classes_per_batch": 512, "images_per_class": 16}
    assert "1,024 images per batch" in public.ask("count", settings=large)["problem"]
    assert "problem" not in public.ask("count", settings={"data.source": "someone/unknown"})  # said where it is chosen
    public.scheduler.close()


def test_every_kind_is_described_with_what_its_fields_choose_from(site: Site) -> None:
    start = site.told("start")
    assert [kind["name"] for kind in start["kinds"]] == ["metric_learning", "contrastive"]
    for kind in start["kinds"]:
        for section in kind["sections"]:
            assert [field["name"] for field in section["fields"]] == section["names"]
            for field in section["fields"]:
                names = {entry["name"] for entry in start["registries"].get(field.get("registry"), [])}
                chosen = field["default"] if field["control"] == "entries" else [field["default"]]
                assert "registry" not in field or {one["name"] for one in chosen} <= names
                assert set(field.get("offered", [])) <= names


def test_images_are_looked_at(site: Site, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "images", train=4, test=3, each=6)
    seen = site.ask("look", settings={"data.source": str(folder)})
    assert seen["problems"] == [] and any(line.startswith("Classes: ") for line in seen["said"])
    assert seen["detected"]["train_split"] == "train" and ["train", "train"] in seen["columns"]["train_split"]
    drawn = site.ask("look", settings={"data.source": "drawn"})
    assert "needs no network" in drawn["said"][0] and not drawn["readable"]
    (problem,) = site.ask("look", settings={"data.source": "/nowhere/at/all"})["problems"]
    assert "/nowhere/at/all" in problem
    loose = tmp_path / "loose"
    loose.mkdir()
    for number in range(12):
        (loose / f"{number}.png").write_bytes(picture(number))
    assert site.ask("look", kind="contrastive", settings={"data.source": str(loose)})["unlabelled"]
    assert "There is no kind of run 'x'" in site.ask("look", kind="x")["error"]


def test_runs_are_counted_with_what_can_be_varied(site: Site) -> None:
    counted = site.ask("count", plan="sweep", own={"seeds": [0, 1]}, settings={"losses": [{"name": "supcon"}]})
    assert counted["said"] == "2 runs, about 6 min in all. Trained with seeds 0 and 1."
    assert "supcon.temperature" in dict(counted["axes"])
    wrong = site.ask("count", plan="sweep", own={"seeds": []}, settings={"minutes": -1})
    assert "minutes needs a number" in wrong["problem"] and wrong["axes"]


def test_train_queues_what_the_form_holds(site: Site) -> None:
    settings = {"losses": [{"name": "supcon", "parameters": {"temperature": 0.2}}], "seed": 7}
    run = site.runs.find(site.ask("train", settings=settings)["id"]).config
    assert run.losses == (Choice(name="supcon", parameters={"temperature": 0.2}),)  # type: ignore[attr-defined]
    assert run.single.seed == 7
    second = site.ask("train", plan="sweep", own={"seeds": [3]}, settings=settings)
    assert isinstance(site.runs.find(second["id"]).config, SweepConfig) and "number 2" in second["waits"]
    assert "has no setting 'device' here" in site.ask("train", settings={"device": "cpu"})["problem"]


def test_what_is_no_form_is_refused_in_a_sentence(site: Site) -> None:
    for wrong in ({"settings": 3}, {"vary": [["a"]], "plan": "sweep"}):
        assert site.ask("train", **wrong)["error"].endswith("."), wrong
    for path in ("search", "dropping"):
        assert "needs a text; got nothing." in site.ask(path)["error"]


def test_the_settings_of_a_run_fill_the_form(site: Site, tmp_path: Path) -> None:
    config = tiny_config(write_images(tmp_path / "images", train=4, test=3, each=6), "smooth_ap", "supcon_out", steps=2)
    sweep = SweepConfig(run=config, seeds=(4, 5), vary={"dim": [8, 16]})
    for made in (config, sweep):
        reply = site.told(f"run/{RunFolder.create(site.settings.runs, made).id}")
        assert reply["kind"] == config.kind and reply["said"] == ""
        again = site.ask("train", **{name: reply[name] for name in ("kind", "settings", "plan", "own", "vary")})
        started = site.runs.find(again["id"]).config
        assert type(started) is type(made) and started.single.losses == config.losses  # type: ignore[attr-defined]
    finetuning = RunFolder.create(site.settings.runs, KINDS["finetuning"].config())
    assert "are not started here" in site.told(f"run/{finetuning.id}")["error"]
    assert "There is no run" in site.told(f"run/{'0' * 26}")["error"]


@pytest.mark.parametrize("name", ["conv4", "small_conv"])  # the second is in no menu
def test_a_run_starts_from_an_arm_of_a_finished_one(name: str, site: Site, tmp_path: Path) -> None:
    config = tiny_config(write_images(tmp_path / "images", train=4, test=3, each=6), "smooth_ap", "supcon_out", steps=2)
    encoder = Choice(name=name, parameters={"width": 8})
    folder = RunFolder.create(site.settings.runs, dataclasses.replace(config, encoder=encoder))
    assert site.told("starters/metric_learning")["runs"] == []  # it has no checkpoint yet
    loop = kind_of(config).loop()(folder)
    while loop.advance(60):
        pass
    loop.checkpoint()
    (tmp_path / "runs" / ("1" * 26)).mkdir()  # a damaged one stops no other
    first, second = site.told("starters/metric_learning")["runs"]
    assert (first["value"], second["value"]) == (folder.id, f"{folder.id}:1") and " on " in first["title"]
    assert first["sets"]["encoder"] == {"name": name, "parameters": {"width": 8}}
    assert first["sets"]["data.source"] == config.data.source
    started = site.ask("train", settings={**second["sets"], "start": second["value"]})
    assert site.runs.find(started["id"]).config.single.start == second["value"]  # type: ignore[attr-defined]


# ------------------------------------------------------------------- public pages


def test_strangers_start_runs_with_an_owner_within_limits(tmp_path: Path) -> None:
    site = Site(tmp_path, public=True)
    try:
        assert "data.source" in str(site.told("start")) and '"start"' not in str(site.told("start"))
        started = site.ask("train")
        assert site.runs.find(started["id"]).owner
        assert "may train for" in site.ask("train", settings={"minutes": 10_000})["problem"]
        assert "has no setting 'start' here" in site.ask("train", settings={"start": started["id"]})["problem"]
    finally:
        site.scheduler.close()


@pytest.mark.parametrize(
    "name", [name for name, kind in KINDS.items() if any(s.rule.private for s in specs(kind.config))]
)
def test_a_public_page_refuses_a_start_and_another_queues_it(site: Site, tmp_path: Path, name: str) -> None:
    config = KINDS[name].config(start="0" * 26, minutes=1.0)  # type: ignore[call-arg]
    assert site.runs.find(site.runs.start(config, "mine")).config.start == "0" * 26  # type: ignore[attr-defined]
    public = Site(tmp_path / "public", public=True)
    with pytest.raises(ParameterError, match="Start from cannot be set on a public page"):
        public.runs.start(config, "mine")
    assert public.runs.listing() == []
    public.scheduler.close()


NAMES = ["old church", "new church", "old lake", "new lake"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"classes": ["a" * 401, "b"]}, "classes needs a text"),
        ({"classes": ["a"] * 2001}, "classes needs a list of 1 to 2000"),
        ({"classes": NAMES, "count": 10**6}, "count needs a whole number"),
        ({"classes": NAMES, "groups": ["x"]}, "groups needs"),
        ({"classes": ["x" * 390] * 1000}, "At most 256 KB can be sent here"),
    ],
)
def test_what_is_asked_of_groups_is_bounded(site: Site, values: dict[str, Any], why: str) -> None:
    assert why in site.ask("groups", **values)["error"]
