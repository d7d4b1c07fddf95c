"""Scores over a whole dataset: the same numbers as the metric gives, progress, stop, the table to take home."""

from __future__ import annotations

import csv
import io
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.tabs.object_removal.models import Loaded
from tests.explorer.conftest import OpenTab
from tests.explorer.small_world import GALLERY, Tab, Words, finished, load, sentences, small_set
from tests.finetuning.world import write_coco
from tests.waiting import wait
from trainers.cli.main import main
from trainers.data.captioned.loader import load_captioned
from trainers.data.captioned_images import CaptionedDataset
from trainers.data.picture import read_picture
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.image_text.models import MODELS
from trainers.metrics.bitmasks import CORRECT
from trainers.metrics.counterfactual import counterfactual
from trainers.metrics.image_text import recall_both_ways
from trainers.object_removal.captions import mention_table
from trainers.object_removal.fills import FILLS
from trainers.object_removal.gallery import CaptionGallery
from trainers.object_removal.pairs import class_tables, removals
from trainers.object_removal.ranked_captions import parts, ranked, verdict
from trainers.object_removal.regions import Regions, judge
from trainers.object_removal.vocabulary import load_words

ORDER = {"dataset": "drawn_scenes", "models": ["tiny_clip"], "fill": "telea", "queries": 500, "every": True, "seed": 3}


def scored(tab: Tab, **changes: object) -> tuple[str, dict]:
    job = tab.json("score", ORDER | changes)["job"]
    return job, finished(tab, f"score/{job}")["result"]


def by_hand(seed: int) -> tuple[dict[str, np.ndarray], int]:
    """Every removal of the test images, asked and scored without the page."""
    dataset, net, words = small_set(), Words(seed), load_words()
    texts = sentences(dataset)
    done = list(removals(dataset.splits["test"], FILLS["telea"], every=True))
    present, removed = class_tables([one.judgement for one in done], words.classes)
    queries = encode_images(net, torch.stack([squash(one.pixels, net.side) for one in done]))
    tables = [torch.from_numpy(one) for one in (mention_table(texts, words), present, removed)]
    values = counterfactual(queries, encode_texts(net, texts), *tables).values
    scenes = dataset.splits["test"]
    photos = encode_images(net, torch.stack([squash(read_picture(s.load() or b"").pixels, net.side) for s in scenes]))
    own = [(text, index) for index, scene in enumerate(scenes) for text in scene.captions]
    numbers: dict[str, int] = {}
    said = torch.tensor([numbers.setdefault(text, len(numbers)) for text, _ in own])
    owner = torch.tensor([place for _, place in own])
    return values | recall_both_ways(photos, encode_texts(net, [t for t, _ in own]), owner, texts=said), len(done)


def test_the_numbers_are_the_metrics_own(tab: Tab) -> None:
    _, result = scored(tab, models=["tiny_clip", "large"])
    for model, seed in zip(result["models"], (1, 3), strict=True):
        values, count = by_hand(seed)
        assert result["queries"] == count
        for name, each in values.items():
            shown = model["values"][name]
            assert shown["mean"] == pytest.approx(np.nanmean(each), abs=1e-6), name
            assert shown["low"] <= shown["mean"] <= shown["high"] and shown["queries"] == int((~np.isnan(each)).sum())
    assert result["gallery"] == GALLERY and result["images"] == 28
    assert {one["reason"] for one in result["skipped"]} >= {"fewer than two classes"}


@pytest.mark.parametrize("changes", [{"every": True}, {"queries": 7, "fill": "zero"}], ids=["every", "seven"])
def test_page_and_command_line_give_the_same_numbers(
    tmp_path: Path, open_tab: OpenTab, capsys: pytest.CaptureFixture[str], changes: dict
) -> None:
    folder = str(write_coco(tmp_path / "coco"))
    order = {"queries": 500, "every": False, "seed": 4, "fill": "telea"} | changes
    tab = open_tab(loading=lambda source, **_: small_set() if source == "drawn_scenes" else load_captioned(source))
    tab.objects.models.menu = MODELS
    name = tab.opened(folder)["name"]
    result = scored(tab, dataset=name, **order)[1]
    flags = ["--every"] if order["every"] else []
    flags += ["--queries", str(order["queries"]), "--seed", str(order["seed"]), "--fill", str(order["fill"])]
    capsys.readouterr()
    assert main(["score", "--data", folder, "--model", "tiny_clip", *flags]) == 0
    said = capsys.readouterr().out
    assert f"{result['queries']} queries against all {result['gallery']} captions, of " in said
    assert "95 % over the queries of the model as it is" in said and result["measures"]["intervals"] in said
    shown = result["models"][0]["values"]
    for key, value in shown.items():
        line = next(line for line in said.splitlines() if line.startswith(f"{key} "))
        assert float(line.split()[1]) == pytest.approx(value["mean"], abs=1e-4), key
    assert len(shown) == sum("_at_" in line for line in said.splitlines())


def test_failing_queries_name_what_is_gone(tab: Tab) -> None:
    _, result = scored(tab, models=["tiny_clip", "large", "tiny_clip_mended"])
    failing = [one for model in result["models"] for one in model["failing"]]
    assert failing
    for one in failing:
        assert one["image"].startswith("drawn_scenes.") and one["verdict"] == "names removed"
        assert "".join(part["text"] for part in one["parts"]) == one["text"]
        red = {name for part in one["parts"] if part["kind"] == "removed" for name in part["classes"]}
        assert red & set(one["removed"])
    for model in result["models"]:
        share = model["values"]["hallucination_at_1"]["mean"]
        assert len(model["failing"]) == min(48, round(share * result["queries"]))


def test_the_table_has_one_line_per_query_and_model(tab: Tab) -> None:
    job, result = scored(tab, models=["tiny_clip", "large"])
    reply = tab.get(f"score/{job}/csv")
    assert reply.headers["content-type"].startswith("text/csv")
    lines = list(csv.DictReader(io.StringIO(reply.text)))
    assert len(lines) == 2 * result["queries"]
    for model in result["models"]:
        own = [float(line["ODmAP_at_5"]) for line in lines if line["model"] == model["name"] and line["ODmAP_at_5"]]
        assert np.mean(own) == pytest.approx(model["values"]["ODmAP_at_5"]["mean"], abs=1e-5)


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"dataset": "nothing"}, 404, "not open"),
        ({"models": ["tiny_clip"] * 5}, 400, "1 to 3"),
        ({"fill": "magic"}, 400, "no fill"),
        ({"queries": 0}, 400, "whole number"),
        ({"every": "yes"}, 400, "true or false"),
        ({"seed": -1}, 400, "whole number"),
    ],
)
def test_odd_orders(tab: Tab, changes: dict, status: int, words: str) -> None:
    reply = tab.post("score", ORDER | changes)
    assert reply.status_code == status and words in reply.json()["error"]


def test_a_set_that_asks_nothing_says_why(open_tab: OpenTab) -> None:
    def lonely(source: str, **_: object) -> CaptionedDataset:
        dataset = small_set(source)
        return small_set(source, splits={"test": tuple(s for s in dataset.splits["test"] if len(set(s.classes)) < 2)})

    tab = open_tab(loading=lonely)
    job = tab.json("score", ORDER)["job"]
    state = finished(tab, f"score/{job}", "failed")
    assert "fewer than two classes" in state["error"] and state["result"] is None
    assert tab.get(f"score/{job}/csv").status_code == 404


def test_scores_wait_for_each_other_and_can_be_stopped(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    go, looked = threading.Event(), Loaded.images

    def slow(self: Loaded, images: torch.Tensor) -> torch.Tensor:
        go.wait(60)
        return looked(self, images)

    monkeypatch.setattr(Loaded, "images", slow)
    jobs = [tab.json("score", ORDER)["job"] for _ in range(3)]
    wait(lambda: "encodes images" in tab.json(f"score/{jobs[0]}")["message"])
    assert [tab.json(f"score/{job}")["phase"] for job in jobs] == ["running", "waiting", "waiting"]
    assert tab.get("image/drawn_scenes.0").status_code == 200, "the page goes on"
    assert tab.json(f"score/{jobs[1]}/stop", {}) == {}
    assert tab.json(f"score/{jobs[1]}")["phase"] == "stopped"
    tab.json(f"score/{jobs[0]}/stop", {})
    refused = [tab.post("score", ORDER).status_code for _ in range(12)]
    assert 400 in refused
    go.set()
    finished(tab, f"score/{jobs[0]}", "stopped")
    finished(tab, f"score/{jobs[2]}")


def test_verdicts_of_the_page_are_the_metrics(tab: Tab) -> None:
    """Every removal of the dataset: what the page says of a caption is what ODmAP counts, and the parts agree."""
    group = tab.objects.datasets.drawn()
    gallery, rng = group.gallery, np.random.default_rng(0)
    vectors = torch.from_numpy(rng.normal(size=(len(gallery.texts), 12)).astype(np.float32))
    vectors /= vectors.norm(dim=1, keepdim=True)
    checked = 0
    for scene in group.scenes[:14]:
        regions = Regions.of_boxes(scene.boxes, scene.classes, scene.width, scene.height)
        for name in regions.classes:
            judgement = judge(regions, name)
            queries = torch.from_numpy(rng.normal(size=(2, 12)).astype(np.float32))
            _, after = ranked(gallery, vectors, queries / queries.norm(dim=1, keepdim=True), judgement, 30)
            tables = class_tables([judgement], gallery.matcher.classes)
            mentions = torch.from_numpy(mention_table(gallery.texts, gallery.matcher))
            found = counterfactual(queries[1:], vectors, mentions, *map(torch.from_numpy, tables), ks=(30,))
            assert [one["row"] for one in after] == found.top[0].tolist()
            assert [one["verdict"] for one in after] == [verdict(int(code)) for code in found.verdicts[0]]
            for one, code in zip(after, found.verdicts[0], strict=True):
                kinds = {part["kind"] for part in one["parts"]}
                assert ("removed" in kinds) == (code < 2)
                assert code < 2 or ("present" in kinds) == (code == CORRECT)
                checked += 1
    assert checked > 300


def test_parts_are_cut_inside_noun_phrases_alone() -> None:
    words = load_words()
    found = parts("A man riding a hot dog, near two dogs!", words, {"person", "dog"}, {"hot dog"})
    assert "|".join(part["text"] for part in found) == "A |man| riding a |hot dog|, near two |dogs|!"
    assert [part["kind"] for part in found[1::2]] == ["present", "removed", "present"]
    assert {part["kind"] for part in found[::2]} == {None}
    assert [part["text"] for part in parts("", words, {"dog"}, set())] == [""]


def test_a_further_class_is_read_as_if_it_had_been_there(tab: Tab) -> None:
    gallery = tab.objects.datasets.drawn().gallery
    for name, further in (("brown dog", ()), ("grass", ()), ("dog", ("field",)), ("Blue", ("air", "red frisbee"))):
        quick = gallery.naming(name, further)
        assert np.array_equal(quick.mentions, mention_table(gallery.texts, quick.matcher)), name
        assert quick.mentions.shape[1] == len(quick.matcher.classes)


def test_a_gallery_is_read_piece_by_piece() -> None:
    texts = [text for scene in load("x").splits["test"] for text in scene.captions]
    gallery = CaptionGallery.of(texts, load_words())
    whole = mention_table(texts, load_words())
    for count in (3, 1, 20, len(texts)):
        assert np.array_equal(gallery.first(count).mentions, whole[:count])


def test_a_long_gallery_is_cut_and_told(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.tabs.object_removal.datasets.MOST_CAPTIONS", 30)
    gallery = tab.objects.datasets.drawn().gallery
    job, result = scored(tab)
    assert result["scope"] == f"{result['queries']} queries against 30 of {GALLERY} captions"
    assert (result["gallery"], result["gallery_total"]) == (30, GALLERY)
    line = next(csv.DictReader(io.StringIO(tab.get(f"score/{job}/csv").text)))
    assert (line["captions"], line["dataset_captions"]) == ("30", str(GALLERY))
    assert len(gallery.texts) == 30 and any(f"30 of its {GALLERY} captions" in note for note in gallery.notes)
    own = {text for scene in small_set().splits["test"] for text in scene.captions}
    assert set(gallery.texts) <= own, "those of the shown split come first"
