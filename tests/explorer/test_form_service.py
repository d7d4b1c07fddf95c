"""The addresses of the form: what it shows, looks at, counts, starts, and takes over from runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.page.form_routes import form_routes
from explorer.page.form_service import FormService
from explorer.page.kinds.contrastive import PREVIEWED
from explorer.server.drops import Drops, drop_limits
from explorer.server.routes import PREFIX, TOKEN_HEADER, mounted
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.tiny import tiny_config, write_images
from trainers.errors import ParameterError
from trainers.kinds import KINDS, kind_of
from trainers.parameters import Choice, specs
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder
from trainers.training.executor import ProcessExecutor


class Site:
    """The form's addresses over a folder of runs."""

    def __init__(self, root: Path, *, public: bool = False) -> None:
        self.settings = Settings(runs=root / "runs", recorded=root / "none", public=public)
        self.scheduler = Scheduler(self.settings, ProcessExecutor())
        self.runs = Runs(self.settings, self.scheduler)
        self.client = TestClient(
            Starlette(routes=mounted(form_routes(FormService(self.runs, Drops(drop_limits(self.settings))))))
        )

    def get(self, path: str) -> Any:
        return self.client.get(f"{PREFIX}/form/{path}").json()

    def post(self, path: str, kind: str = "metric_learning", **values: Any) -> Any:
        body = {"kind": kind, **values}
        return self.client.post(f"{PREFIX}/form/{path}", json=body, headers={TOKEN_HEADER: "mine"}).json()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.scheduler.close()


@pytest.fixture
def loose(tmp_path: Path) -> Path:
    """A folder of images without classes."""
    folder = tmp_path / "loose"
    folder.mkdir()
    draws = np.random.default_rng(0)
    for number in range(12):
        Image.fromarray(draws.integers(0, 255, (40, 50, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    return folder


PAPER_SCALE = {"paper_moco_v1"}
"""Presets that need more than a public page gives; they say so before they are started."""


def test_a_public_page_accepts_what_its_form_offers(tmp_path: Path) -> None:
    public = Site(tmp_path, public=True)
    for kind in public.get("start")["kinds"]:
        choices = {"": {}} | {preset["name"]: preset["values"] for preset in kind["presets"]}
        answers = {name: public.post("count", kind["name"], settings=values) for name, values in choices.items()}
        refused = {name for name, answer in answers.items() if "problem" in answer}
        assert refused == PAPER_SCALE & set(choices), answers
        assert all("make that smaller" in answers[name]["problem"] for name in refused)
    large = {"classes_per_batch": 512, "images_per_class": 16}
    assert "1,024 images per batch" in public.post("count", settings=large)["problem"]
    assert "problem" not in public.post("count", settings={"data.source": "someone/unknown"})  # said where it is chosen
    public.scheduler.close()


def test_every_kind_is_described_with_what_its_fields_choose_from(site: Site) -> None:
    start = site.get("start")
    assert [kind["name"] for kind in start["kinds"]] == ["metric_learning", "contrastive"]
    for kind in start["kinds"]:
        for section in kind["sections"]:
            assert [field["name"] for field in section["fields"]] == section["names"]
            for field in section["fields"]:
                names = {entry["name"] for entry in start["registries"].get(field.get("registry"), [])}
                chosen = field["default"] if field["control"] == "entries" else [field["default"]]
                assert "registry" not in field or {one["name"] for one in chosen} <= names
                assert set(field.get("offered", [])) <= names


def test_images_are_looked_at(site: Site, tmp_path: Path, loose: Path) -> None:
    folder = write_images(tmp_path / "images", train=4, test=3, each=6)
    seen = site.post("look", settings={"data.source": str(folder)})
    assert seen["problems"] == [] and any(line.startswith("Classes: ") for line in seen["said"])
    assert seen["detected"]["train_split"] == "train" and ["train", "train"] in seen["columns"]["train_split"]
    drawn = site.post("look", settings={"data.source": "drawn"})
    assert "needs no network" in drawn["said"][0] and not drawn["readable"]
    (problem,) = site.post("look", settings={"data.source": "/nowhere/at/all"})["problems"]
    assert "/nowhere/at/all" in problem
    assert site.post("look", kind="contrastive", settings={"data.source": str(loose)})["unlabelled"]
    assert "There is no kind of run 'x'" in site.post("look", kind="x")["error"]


def test_views_follow_the_form_and_nothing_else_in_it(site: Site) -> None:
    settings = {"augmentation": {"name": "moco_v1", "parameters": {}}, "data.image_size": 32, "minutes": -3}
    made = site.post("views", kind="contrastive", settings=settings)
    assert made["said"] == "MoCo v1 on Drawn world, 32 pixels: two views of each image."
    assert [len(image) for image in made["views"]] == [2] * PREVIEWED
    assert all(view.startswith("data:image/webp;base64,") for image in made["views"] for view in image)
    wrong = {"augmentation": {"name": "moco_v2", "parameters": {"blur": 7}}}
    assert "blur needs a number from 0 to 1" in site.post("views", kind="contrastive", settings=wrong)["problem"]
    assert (
        "image size from 16 to 256; got 8"
        in (site.post("views", kind="contrastive", settings={"data.image_size": 8})["problem"])
    )


def test_runs_are_counted_with_what_can_be_varied(site: Site) -> None:
    counted = site.post("count", plan="sweep", own={"seeds": [0, 1]}, settings={"losses": [{"name": "supcon"}]})
    assert counted["said"] == "2 runs, about 6 min in all. Trained with seeds 0 and 1."
    assert "supcon.temperature" in dict(counted["axes"])
    wrong = site.post("count", plan="sweep", own={"seeds": []}, settings={"minutes": -1})
    assert "minutes needs a number" in wrong["problem"] and wrong["axes"]


def test_train_queues_what_the_form_holds(site: Site) -> None:
    settings = {"losses": [{"name": "supcon", "parameters": {"temperature": 0.2}}], "seed": 7}
    run = site.runs.find(site.post("train", settings=settings)["id"]).config
    assert run.losses == (Choice(name="supcon", parameters={"temperature": 0.2}),)  # type: ignore[attr-defined]
    assert run.single.seed == 7
    second = site.post("train", plan="sweep", own={"seeds": [3]}, settings=settings)
    assert isinstance(site.runs.find(second["id"]).config, SweepConfig) and "number 2" in second["waits"]
    assert "has no setting 'device' here" in site.post("train", settings={"device": "cpu"})["problem"]
    assert site.post("act", id=second["id"], action="stop")["said"] == "It left the queue."
    assert "paused, resumed or stopped here" in site.post("act", id=second["id"], action="delete")["error"]
    assert "A run id is 26" in site.post("act", id="../x", action="stop")["problem"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"settings": 3}', b'{"kind": "metric_learning", "vary": [["a"]], "plan": "sweep"}']
)
def test_what_is_no_form_is_refused_in_a_sentence(site: Site, body: bytes) -> None:
    for path in ("look", "views", "train"):
        reply = site.client.post(f"{PREFIX}/form/{path}", content=body, headers={TOKEN_HEADER: "mine"})
        if path == "train" or b"kind" not in body:
            assert reply.status_code == 400 and reply.json()["error"].endswith("."), (path, reply.text)


@pytest.mark.parametrize("path", ["search", "act", "dropping"])
def test_what_is_left_out_is_said_to_be_needed(site: Site, path: str) -> None:
    assert "needs a text; got nothing." in site.post(path)["error"]


def test_the_settings_of_a_run_fill_the_form(site: Site, tmp_path: Path) -> None:
    config = tiny_config(write_images(tmp_path / "images", train=4, test=3, each=6), "smooth_ap", "supcon_out", steps=2)
    sweep = SweepConfig(run=config, seeds=(4, 5), vary={"dim": [8, 16]})
    for made in (config, sweep):
        reply = site.get(f"run/{RunFolder.create(site.settings.runs, made).id}")
        assert reply["kind"] == config.kind and reply["said"] == ""
        again = site.post("train", **{name: reply[name] for name in ("kind", "settings", "plan", "own", "vary")})
        started = site.runs.find(again["id"]).config
        assert type(started) is type(made) and started.single.losses == config.losses  # type: ignore[attr-defined]
    finetuning = RunFolder.create(site.settings.runs, KINDS["finetuning"].config())
    assert "are not started here" in site.get(f"run/{finetuning.id}")["error"]
    assert "There is no run" in site.get(f"run/{'0' * 26}")["error"]


@pytest.mark.parametrize("name", ["conv4", "small_conv"])  # the second is in no menu
def test_a_run_starts_from_an_arm_of_a_finished_one(name: str, site: Site, tmp_path: Path) -> None:
    config = tiny_config(write_images(tmp_path / "images", train=4, test=3, each=6), "smooth_ap", "supcon_out", steps=2)
    encoder = Choice(name=name, parameters={"width": 8})
    folder = RunFolder.create(site.settings.runs, dataclasses.replace(config, encoder=encoder))
    assert site.get("starters/metric_learning")["runs"] == []  # it has no checkpoint yet
    loop = kind_of(config).loop()(folder)
    while loop.advance(60):
        pass
    loop.checkpoint()
    (tmp_path / "runs" / ("1" * 26)).mkdir()  # a damaged one stops no other
    first, second = site.get("starters/metric_learning")["runs"]
    assert (first["value"], second["value"]) == (folder.id, f"{folder.id}:1") and " on " in first["title"]
    assert first["sets"]["encoder"] == {"name": name, "parameters": {"width": 8}}
    assert first["sets"]["data.source"] == config.data.source
    started = site.post("train", settings={**second["sets"], "start": second["value"]})
    assert site.runs.find(started["id"]).config.single.start == second["value"]  # type: ignore[attr-defined]


# ------------------------------------------------------------------- public pages


def test_strangers_start_runs_with_an_owner_within_limits(tmp_path: Path) -> None:
    site = Site(tmp_path, public=True)
    try:
        assert "data.source" in str(site.get("start")) and '"start"' not in str(site.get("start"))
        started = site.post("train")
        assert site.runs.find(started["id"]).owner
        assert "may train for" in site.post("train", settings={"minutes": 10_000})["problem"]
        assert "has no setting 'start' here" in site.post("train", settings={"start": started["id"]})["problem"]
        stranger = site.client.post(
            f"{PREFIX}/form/act", json={"id": started["id"], "action": "stop"}, headers={TOKEN_HEADER: "theirs"}
        )
        assert "Only the visitor who started this run" in stranger.json()["problem"]
    finally:
        site.scheduler.close()


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize(
    "name", [name for name, kind in KINDS.items() if any(s.rule.private for s in specs(kind.config))]
)
def test_a_public_page_refuses_a_start_and_another_queues_it(tmp_path: Path, name: str, public: bool) -> None:
    site = Site(tmp_path, public=public)
    try:
        config = KINDS[name].config(start="0" * 26, minutes=1.0)  # type: ignore[call-arg]
        if public:
            with pytest.raises(ParameterError, match="Start from cannot be set on a public page"):
                site.runs.start(config, "mine")
            assert site.runs.listing() == []
        else:
            assert site.runs.find(site.runs.start(config, "mine")).config.start == "0" * 26  # type: ignore[attr-defined]
    finally:
        site.scheduler.close()


NAMES = ["old church", "new church", "old lake", "new lake"]


def test_names_are_grouped_and_groups_of_them(site: Site) -> None:
    made = site.post("groups", classes=NAMES, count=2, by="words")
    assert made["of"] == [0, 0, 1, 1] and made["named_after"][1] in (2, 3)
    assert site.post("groups", classes=NAMES, groups=made["of"], into=["a lake", "a church"], by="words") == {
        "of": [1, 0]
    }
    wrong = site.post("groups", classes=NAMES, groups=[0, 10**9, 1, 1], count=2, by="words")
    assert "A group from 0 on" in wrong["problem"]
    assert "From 2 to 3 groups" in site.post("groups", classes=NAMES, count=4, by="words")["problem"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"classes": []}, "classes needs a list of 1 to 2000 names of classes"),
        ({"classes": ["a" * 401, "b"]}, "classes needs a text"),
        ({"classes": ["a"] * 2001}, "classes needs a list of 1 to 2000"),
        ({"classes": NAMES, "count": 10**6}, "count needs a whole number"),
        ({"classes": NAMES, "groups": ["x"]}, "groups needs"),
        ({"classes": NAMES, "into": [{}]}, "into needs"),
        ({"classes": NAMES, "seed": -1}, "seed needs a whole number"),
        ({"classes": ["x" * 390] * 1000}, "At most 256 KB can be sent here"),
    ],
)
def test_what_is_asked_of_groups_is_bounded(site: Site, values: dict[str, Any], why: str) -> None:
    assert why in site.post("groups", **values)["error"]
