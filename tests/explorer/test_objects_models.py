"""Detecting and naming objects; fine-tuning from the page; models that were fine-tuned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from explorer.server.library import Library
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from explorer.tabs.object_removal.finetune import Finetuning
from explorer.tabs.object_removal.service import Objects
from tests.explorer.conftest import OpenTab
from tests.explorer.small_world import DOG, Tab, descriptor, load, paint_png
from tests.made_up_plan import AtOnce
from trainers.config import MAX_ARMS, SceneChoice
from trainers.data import access
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.object_removal.detectors import DETECTORS, Detections
from trainers.parameters import Choice
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder
from trainers.runs.identity import read_config

# ------------------------------------------------------------------------------------------- detect and name


def test_what_a_detector_finds_is_judged(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    ref = tab.post("upload", paint_png([DOG], size=(1200, 800))).json()["ref"]
    detections = Detections(boxes=((0, 0, 512, 300), (600, 300, 700, 400)), names=("dog", "cup"), scores=(0.9, 0.8))
    detector = next(iter(DETECTORS.values()))
    monkeypatch.setattr(type(detector), "build", lambda self, parameters: lambda picture: detections)
    reply = tab.json("detect", {"image": ref, "detector": detector.name})
    dog, cup = reply["objects"]
    scale = 1024 / 1200  # the detector saw it shrunk
    assert dog["boxes"][0] == pytest.approx([0, 0, 512 / scale / 1200, 300 / scale / 800], abs=1e-4)
    assert dog["allowed"] and cup["removes"] == ["cup"] and dog["scores"] == [0.9]
    nothing = Detections(boxes=(), names=(), scores=())
    monkeypatch.setattr(type(detector), "build", lambda self, p: lambda picture: nothing)
    fresh = Tab(tab.library.root.parent / "fresh")
    ref = fresh.post("upload", paint_png([DOG])).json()["ref"]
    empty = fresh.json("detect", {"image": ref, "detector": detector.name})
    assert empty["objects"] == [] and "Draw a box" in empty["notes"][0]
    assert fresh.post("detect", {"image": ref, "detector": "x"}).status_code == 400
    fresh.close()


def test_a_box_is_named(tab: Tab) -> None:
    asked = {"image": "drawn_scenes.0", "box": [0.08, 0.5, 0.33, 0.87], "model": "tiny_clip"}
    names = tab.json("name", asked)["names"]
    assert len(names) == 5 and names[0]["score"] >= names[-1]["score"] > 0
    assert {name["class"] for name in names} <= set(tab.objects.datasets.drawn().matcher.classes)
    for wrong in ([0, 0, 1], [0.1, 0.1, 0.1, 0.1], [None] * 4, [0.1, 0.1, 0.101, 0.101]):
        reply = tab.post("name", asked | {"box": wrong})
        assert reply.status_code == 400 and reply.json()["error"]


# --------------------------------------------------------------------------------------------------- mending


@pytest.fixture
def mending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Finetuning, Path]]:
    monkeypatch.setenv(access.PUBLIC, "1")
    settings = Settings(runs=tmp_path / "runs", recorded=tmp_path / "recorded", public=True)
    scheduler = Scheduler(settings, AtOnce())  # type: ignore[arg-type]  # nothing is launched
    library = Library(settings.runs, settings.recorded)
    objects = Objects(settings, library, load=load)
    objects.models.menu = {**objects.models.menu, "large": descriptor("large", 3)}
    yield Finetuning(Runs(settings, scheduler), objects.datasets, objects.models), settings.runs
    objects.close()
    library.close()
    scheduler.close()


ASKED = {
    "action": "finetune",
    "token": "mine",
    "model": "vsepp",
    "dataset": "drawn_scenes",
    "recipes": [{"removed": False}, {"fill": "mean", "ratio": None, "captions_each": 2}],
    "steps": 40,
    "minutes": 2,
    "seed": 5,
    "learning_rate": 0.001,
}


def test_a_mending_run_is_what_the_page_asked_for(mending: tuple[Finetuning, Path]) -> None:
    acts, root = mending
    reply = acts.perform(ASKED)
    assert set(reply) == {"id", "said"}, reply
    config = RunFolder.open(root, reply["id"]).config
    assert isinstance(config, FinetuningConfig) and config.model.name == "vsepp"
    assert [dict(recipe) for recipe in config.recipes] == ASKED["recipes"], "no ratio means all there are"
    assert (config.steps, config.minutes, config.seed, config.learning_rate) == (40, 2.0, 5, 0.001)
    assert read_config(config.to_json()) == config
    assert "Only the visitor" in acts.perform({"action": "stop", "id": reply["id"], "token": "other"})["error"]
    assert acts.perform({"action": "stop", "id": reply["id"], "token": "mine"}) == {"said": "It left the queue."}


def test_recipes_are_trained_over_seeds_where_the_page_asks_for_several(mending: tuple[Finetuning, Path]) -> None:
    acts, root = mending
    reply = acts.perform(ASKED | {"seeds": [3, 4]})
    assert set(reply) == {"id", "said", "plan"}, reply
    config = RunFolder.open(root, reply["id"]).config
    assert isinstance(config, SweepConfig) and config.seeds == (3, 4)
    assert [dict(recipe) for recipe in config.run.recipes] == ASKED["recipes"]
    assert "each once" in acts.perform(ASKED | {"seeds": [3, 3]})["error"]
    assert "seeds needs whole numbers" in acts.perform(ASKED | {"seeds": [None]})["error"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"action": "delete"}, "fine-tuned"),
        ({"optimiser": "magic"}, "optimiser needs one of adamw, adam"),
        ({"halve_every": -2}, "above 0"),
        ({"model": "nobody"}, "no model"),
        ({"model": "run:0123456789ABCDEFGHJKMNPQRS:0"}, "cannot be fine-tuned again"),
        ({"dataset": "elsewhere"}, "not open"),
        ({"recipes": [{}] * (MAX_ARMS + 1)}, f"1 to {MAX_ARMS}"),
        ({"recipes": [{"wings": 2}]}, "wings"),
        ({"recipes": [{"fill": "magic"}]}, "no fill"),
        ({"recipes": [{"originals": "none", "removed": False}]}, "needs images"),
        ({"recipes": [{"text": "captioner", "captioner": "/etc"}]}, "folders of this machine"),
        ({"minutes": float("nan")}, "number"),
        ({"minutes": 999}, "10 minutes"),
        ({"learning_rate": 700}, "learning_rate needs"),
        ({"token": ""}, "needs an owner"),
    ],
)
def test_odd_wishes_get_a_sentence(mending: tuple[Finetuning, Path], changes: dict, words: str) -> None:
    acts, root = mending
    reply = acts.perform(ASKED | changes)
    assert set(reply) == {"error"} and words in reply["error"], reply
    assert not list(root.glob("*"))


@pytest.mark.parametrize("data", [None, [], "finetune", 7, {"action": ["finetune"]}])
def test_anything_may_come_from_a_browser(mending: tuple[Finetuning, Path], data: object) -> None:
    assert set(mending[0].perform(data)) == {"error"}


@pytest.mark.long
def test_a_mended_arm_answers_by_name(tmp_path: Path, open_tab: OpenTab) -> None:
    """Its checkpoint stands in for a run that was trained: the weights decide, whoever made them."""

    parameters = {"dim": 16, "width": 4, "words": 16, "side": 32}
    choice = Choice(name="vsepp", parameters=parameters)
    mended = FinetuningConfig(model=choice, recipes=({"removed": False}, {}))
    folder = RunFolder.create(tmp_path / "runs", mended)
    models = [MODELS["vsepp"].build(parameters) for _ in range(2)]
    weights = {f"arm{arm}/model/{name}": v for arm, m in enumerate(models) for name, v in m.state_dict().items()}
    tab = open_tab()
    tab.objects.models.menu = MODELS
    assert not [model for model in tab.json("start")["models"] if model["name"].startswith("run:")], "no weights yet"
    folder.write_checkpoint(weights, {"step": 1})
    names = [model for model in tab.json("start")["models"] if model["name"].startswith("run:")]
    assert [one["name"] for one in names] == [f"run:{folder.id}:0", f"run:{folder.id}:1"]
    assert not any(one["trainable"] for one in names)
    reply = tab.ask(models=[one["name"] for one in names])
    digests = {tab.objects.models.get(one["name"]).digest for one in names}
    assert len(digests) == 2 and len(reply["models"]) == 2
    assert tab.post("query", tab.asked(models=[f"run:{folder.id}:2"])).status_code == 404
    folder.db.close()


def test_a_run_brings_its_images_along_and_names_no_folder(tmp_path: Path, open_tab: OpenTab) -> None:
    scenes = SceneChoice(source="somebody/photos", limit=50)
    folder = RunFolder.create(tmp_path / "runs", FinetuningConfig(scenes=scenes))
    folder.write_checkpoint({"arm0/model/weight": torch.ones(1)}, {"step": 1})
    tab = open_tab()
    models = tab.json("start")["models"]
    (model,) = (one for one in models if one["name"].startswith("run:"))
    assert [tab.objects.dataset_of(one["name"]) for one in models if one is not model] == [None] * (len(models) - 1)
    opened, dataset = tab.opened(model["name"]), tab.objects.dataset_of(model["name"])
    assert opened["name"] == dataset and opened["name"].startswith("photos-")
    assert "somebody" not in str(models)
    reply = tab.post("open", {"source": f"run:{folder.id}:7"})
    assert reply.status_code == 404 and "no such recipe" in reply.json()["error"]
    folder.db.close()
