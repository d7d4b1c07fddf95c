"""Neighbours of a painted image in runs that were really trained, for a few steps; detecting and naming; mending."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from explorer.object_removal.bodies import Finetune
from explorer.object_removal.finetune import Finetuning
from explorer.object_removal.service import Objects
from explorer.server.library import Library
from explorer.server.routes import PREFIX
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.explorer.small_world import DOG, Tab, descriptor, load, paint_png
from tests.synthetic import make_run
from tests.tiny import tiny_config, write_images
from trainers.config import MAX_ARMS, read_config
from trainers.data import access, load_data
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.kind import training_of
from trainers.kinds.finetuning.recipes import PRESETS
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.object_removal.detectors import DETECTORS, Detections
from trainers.object_removal.fills import FILLS, paint
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.records import RunState
from trainers.training.embedding import embed

BOX = {"boxes": [[0.3, 0.3, 0.8, 0.9]]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with one that was trained for some steps on coloured discs, two losses."""
    root = tmp_path_factory.mktemp("nearby")
    config = tiny_config(write_images(root / "images"))
    folder = RunFolder.create(root / "runs", config)
    trainer = MetricLearningLoop(folder)
    while trainer.advance(5.0):
        pass
    trainer.finish()
    folder.db.set_state(RunState(phase="finished", step=trainer.step))
    folder.db.close()
    return root


@pytest.fixture
def near(trained: Path) -> Iterator[Tab]:
    made = Tab(trained)
    yield made
    made.close()


def test_neighbours_are_those_of_the_trained_encoders(near: Tab) -> None:
    (run,) = near.json("runs")["runs"]
    assert run["usable"] and run["why"] is None and len(run["arms"]) == 2 and run["points"] > 8
    reply = near.json("neighbours", {"run": run["id"], "index": 5, "remove": BOX, "fill": "mean", "k": 6})
    folder = RunFolder.open(near.library.root, run["id"])
    probe, data = folder.probe(), load_data(folder.config.data)
    image = data.test.images[int(probe.rows[5])]
    pixels = image.permute(1, 2, 0).numpy()
    side = pixels.shape[0]
    mask = np.zeros((side, side), dtype=bool)
    mask[int(0.3 * side) : int(np.ceil(0.9 * side)), int(0.3 * side) : int(np.ceil(0.8 * side))] = True
    filled = paint(FILLS["mean"], np.ascontiguousarray(pixels), mask)
    shown = np.array(Image.open(io.BytesIO(near.get(f"filled/{reply['filled']}").content)))
    assert np.array_equal(shown, filled) and reply["share"] == pytest.approx(mask.mean(), abs=1e-4)
    trainer = MetricLearningLoop(folder)  # restores the checkpoint
    k = folder.snapshots()[-1][0]
    for arm, points, told in zip(trainer.arms, folder.embeddings(k), reply["arms"], strict=True):
        views = torch.from_numpy(np.stack([pixels, filled]).transpose(0, 3, 1, 2).copy())
        vectors = embed(arm.encoder, views, torch.device("cpu")).numpy()
        for name, vector in zip(("before", "after"), vectors, strict=True):
            similarity = points.astype(np.float32) @ vector
            similarity[5] = -9
            best = np.sort(similarity)[::-1][:6]
            assert [one["similarity"] for one in told[name]] == pytest.approx(best.tolist(), abs=2e-3)
            assert 5 not in [one["index"] for one in told[name]]
            for one in told[name]:
                assert one["shared"] == int((probe.labels[one["index"]] == probe.labels[5]).sum())
        first = [one["index"] for one in told["before"]]
        for rank, one in enumerate(told["after"]):
            assert one["move"] == (first.index(one["index"]) - rank if one["index"] in first else "new")
    folder.db.close()


def test_a_photo_of_a_run(near: Tab) -> None:
    (run,) = near.json("runs")["runs"]
    shown = Image.open(io.BytesIO(near.get(f"runimage/{run['id']}/3?side=96").content))
    assert shown.size == (96, 96)
    assert near.get(f"runimage/{run['id']}/99999").status_code == 404


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"run": "0123456789ABCDEFGHJKMNPQRS"}, 404, "no run"),
        ({"run": "../x"}, 404, "26 letters"),
        ({"index": 99999}, 404, "no point 99999"),
        ({"index": -1}, 400, "whole number"),
        ({"remove": {}}, 400, "classes, boxes or strokes"),
        ({"remove": {"boxes": [[0, 0, 1, 1]]}}, 400, "whole image"),
        ({"remove": {"boxes": [[None, None, None, None]]}}, 400, "no area"),
        ({"fill": "rerender"}, 400, "Only the drawn scenes"),
        ({"k": 0}, 400, "whole number"),
    ],
)
def test_odd_questions_about_runs(near: Tab, changes: dict, status: int, words: str) -> None:
    (run,) = near.json("runs")["runs"]
    reply = near.post("neighbours", {"run": run["id"], "index": 0, "remove": BOX, "fill": "telea", "k": 4} | changes)
    assert reply.status_code == status and words in reply.json()["error"]


def test_runs_that_cannot_embed_say_why(tab: Tab, tmp_path: Path) -> None:
    made = {
        "recording": make_run(tmp_path / "recorded", points=48, frames=1),
        "no checkpoint": make_run(tmp_path / "runs", points=48, frames=1),
        "not read": make_run(tmp_path / "runs", phase="queued"),
    }
    told = {one["id"]: one for one in tab.json("runs")["runs"]}
    for words, folder in made.items():
        assert told[folder.id]["usable"] is False and words in told[folder.id]["why"]
        asked = tab.post("neighbours", {"run": folder.id, "index": 0, "remove": BOX})
        assert asked.status_code == 400 and asked.json()["error"] == told[folder.id]["why"]
        folder.db.close()


# ------------------------------------------------------------------------------------------- detect and name


def test_what_a_detector_finds_is_judged(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    ref = tab.post("upload", paint_png([DOG], size=(1200, 800))).json()["ref"]
    found = Detections(boxes=((0, 0, 512, 300), (600, 300, 700, 400)), names=("dog", "cup"), scores=(0.9, 0.8))
    detector = next(iter(DETECTORS.values()))
    monkeypatch.setattr(type(detector), "build", lambda self, parameters: lambda picture: found)
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
    assert {one["class"] for one in names} <= set(tab.objects.datasets.drawn().matcher.classes)
    for wrong in ([0, 0, 1], [0.1, 0.1, 0.1, 0.1], [None] * 4, [0.1, 0.1, 0.101, 0.101]):
        reply = tab.post("name", asked | {"box": wrong})
        assert reply.status_code == 400 and reply.json()["error"]


# --------------------------------------------------------------------------------------------------- mending


class Nothing:
    """An executor whose trainers never start."""

    def launch(self, folder: Path, environment: dict[str, str]) -> None: ...
    def reap(self) -> list:
        return []

    def kill(self, run_id: str) -> None: ...
    def close(self) -> None: ...


@pytest.fixture
def mending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Finetuning, Path]]:
    monkeypatch.setenv(access.PUBLIC, "1")
    settings = Settings(runs=tmp_path / "runs", recorded=tmp_path / "recorded", public=True)
    scheduler = Scheduler(settings, Nothing())
    library = Library(settings.runs, settings.recorded)
    objects = Objects(settings, library, load=load)
    objects.models._menu = {**objects.models._menu, "large": descriptor("large", 3)}
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
    assert [dict(one) for one in config.recipes] == ASKED["recipes"], "no ratio means all there are"
    assert (config.steps, config.minutes, config.seed, config.learning_rate) == (40, 2.0, 5, 0.001)
    assert read_config(config.to_json()) == config
    assert (config.epochs, config.optimiser, config.halve_every, config.batch) == (None, "adamw", None, 128)
    assert "Only the visitor" in acts.perform({"action": "stop", "id": reply["id"], "token": "other"})["error"]
    assert acts.perform({"action": "stop", "id": reply["id"], "token": "mine"}) == {"said": "It left the queue."}


def test_the_page_trains_as_published_or_at_the_models_own_rate(mending: tuple[Finetuning, Path]) -> None:
    acts, _root = mending
    preset = next(one for one in PRESETS if one.name == "paper")
    wishes = {key: value for key, value in ASKED.items() if key not in ("steps", "learning_rate")}
    config = acts.config(Finetune.of(wishes | training_of(preset) | {"minutes": 2}))
    assert (config.epochs, config.steps, config.optimiser, config.halve_every) == (10, None, "adam", 2)
    assert (config.weight_decay, config.learning_rate) == (0.0, MODELS["vsepp"].learning_rate)
    assert isinstance(config, FinetuningConfig) and config.batch == 256


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"action": "delete"}, "fine-tuned"),
        ({"optimiser": "magic"}, "optimiser needs one of adamw, adam"),
        ({"epochs": "ten"}, "epochs needs a number"),
        ({"halve_every": -2}, "above 0"),
        ({"batch": 2}, "batch needs"),
        ({"action": None}, "action needs"),
        ({"model": "nobody"}, "no model"),
        ({"model": "run:0123456789ABCDEFGHJKMNPQRS:0"}, "cannot be fine-tuned again"),
        ({"dataset": "elsewhere"}, "not open"),
        ({"recipes": []}, f"1 to {MAX_ARMS}"),
        ({"recipes": [{}] * (MAX_ARMS + 1)}, f"1 to {MAX_ARMS}"),
        ({"recipes": [{"wings": 2}]}, "wings"),
        ({"recipes": [{"fill": "magic"}]}, "no fill"),
        ({"recipes": [{"originals": "none", "removed": False}]}, "needs images"),
        ({"recipes": [{"text": "captioner", "captioner": "/etc"}]}, "folders of this machine"),
        ({"recipes": "all"}, "list"),
        ({"steps": -4}, "whole number"),
        ({"minutes": "x"}, "number"),
        ({"minutes": float("nan")}, "number"),
        ({"minutes": 999}, "10 minutes"),
        ({"learning_rate": 700}, "learning_rate needs"),
        ({"token": ""}, "needs an owner"),
        ({"seed": 1e30}, "whole number"),
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


def test_a_mended_arm_answers_by_name(tmp_path: Path) -> None:
    """Its checkpoint stands in for a run that was trained: the weights decide, whoever made them."""
    from trainers.image_text.models import MODELS

    parameters = {"dim": 16, "width": 4, "words": 16, "side": 32}
    choice = Choice(name="vsepp", parameters=parameters)
    mended = FinetuningConfig(model=choice, recipes=({"removed": False}, {}))
    folder = RunFolder.create(tmp_path / "runs", mended)
    models = [MODELS["vsepp"].build(parameters) for _ in range(2)]
    weights = {f"arm{arm}/model/{name}": v for arm, m in enumerate(models) for name, v in m.state_dict().items()}
    tab = Tab(tmp_path)
    tab.objects.models._menu = MODELS
    assert not [one for one in tab.json("start")["models"] if one["name"].startswith("run:")], "no weights yet"
    folder.write_checkpoint(weights, {"step": 1})
    names = [one for one in tab.json("start")["models"] if one["name"].startswith("run:")]
    assert [one["name"] for one in names] == [f"run:{folder.id}:0", f"run:{folder.id}:1"]
    assert not any(one["trainable"] for one in names)
    reply = tab.ask(models=[one["name"] for one in names])
    digests = {tab.objects.models.get(one["name"]).digest for one in names}
    assert len(digests) == 2 and len(reply["models"]) == 2
    assert tab.post("query", tab.asked(models=[f"run:{folder.id}:2"])).status_code == 404
    folder.db.close()
    tab.close()


def test_the_routes_stand_beside_the_others(tab: Tab) -> None:
    assert tab.client.get(f"{PREFIX}/runs").json() == {"runs": []}
    assert tab.client.get(f"{PREFIX}/objects/start").status_code == 200
