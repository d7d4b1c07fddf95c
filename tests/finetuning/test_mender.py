"""A mending run from its folder to its numbers: trained, resumed to the bit, stopped at what is no number."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from tests.entities import SAID, write_entities
from tests.finetuning.world import mend_config, write_coco
from tests.image_text.blip import write_blip
from tests.make.tiny_clip import save_folder
from trainers.cli.main import main
from trainers.data.captioned.loader import load_captioned
from trainers.errors import DataError
from trainers.image_text.models.tiny_clip import WEIGHTS, TinyClip, load_weights
from trainers.kinds.finetuning.loop import FinetuningLoop
from trainers.kinds.finetuning.recipes import recipe
from trainers.kinds.finetuning.training_pairs import removed_pairs
from trainers.object_removal.vocabulary import load_words
from trainers.parameters import Choice
from trainers.retrieval.encoders import encoders_of_run
from trainers.runs import RunFolder
from trainers.training.arm import NonFiniteLossError
from trainers.worker import Worker


def test_a_run_of_two_recipes_from_start_to_end(photos, tmp_path):
    folder = RunFolder.create(tmp_path, mend_config(photos, {"removed": False}, {}))
    state = Worker(folder).run()
    assert (state.phase, state.step, state.error) == ("finished", 3, None)
    scalars = folder.scalars()
    last = {(s.arm, s.key): s.value for s in scalars}
    for arm in (0, 1):
        for key in ("ODmAP_at_1", "ODmAP_at_10", "hallucination_at_1", "i2t_R_at_1", "t2i_R_at_5", "distinct_top1"):
            assert (arm, key) in last and (arm, f"test/{key}") in last, key
        assert 0 <= last[arm, "test/ODmAP_at_1"] <= 1
    first = {(s.arm, s.key): s.value for s in scalars if s.step == 0}
    assert first[0, "ODmAP_at_1"] == first[1, "ODmAP_at_1"]  # equal weights
    probe = folder.probe()
    removals = len(probe.labels) // 2
    assert probe.hierarchy.levels == ("objects", "main object") and folder.embeddings(0)[0].shape[0] == 2 * removals
    names = [probe.hierarchy.names[0][row] for row in probe.labels[:, 0]]
    assert all(" + " in name for name in names[:removals]) and not any(" + " in name for name in names[removals:])
    network, other = encoders_of_run(folder).read(0).network, encoders_of_run(folder).read(1).network
    assert any(not torch.equal(a, b) for a, b in zip(network.parameters(), other.parameters(), strict=True))
    log = (folder.path / "log.txt").read_text()
    assert "72 original pairs of an image and a caption, no object-removed ones" in log
    assert "72 original and 6 object-removed pairs" in log and "a phrase was deleted from 100%" in log
    assert any("|D′| / |D| is 0.0833" in note for note in probe.notes)


def test_a_loss_that_is_no_number_stops_before_the_step(photos, tmp_path):
    folder = RunFolder.create(tmp_path, mend_config(photos, {}))
    mender = FinetuningLoop(folder)
    mender.advance(0.0)
    with torch.no_grad():
        mender.arms[0].model.net.token_embedding.weight.fill_(float("nan"))
    mender.checkpoint()
    before = {name: value.clone() for name, value in mender.arms[0].model.named_parameters()}
    with pytest.raises(NonFiniteLossError, match=r"stopped being a number.*held 8 pairs"):
        mender.advance(5.0)
    after = dict(mender.arms[0].model.named_parameters())
    assert all(torch.equal(before[name], after[name]) or torch.isnan(before[name]).any() for name in before)


def test_photos_without_objects_are_refused_with_the_reason(tmp_path):
    root = write_coco(tmp_path / "coco", train=12, test=4)
    for path in root.glob("annotations/instances_*.json"):
        path.unlink()
    with pytest.raises(DataError, match=r"No object-removed pair.*two classes"):
        FinetuningLoop(RunFolder.create(tmp_path / "runs", mend_config(root)))


def test_photos_that_do_not_fit_into_memory_are_refused_first(photos, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKSCOPE_MEMORY_GB", "0.0002")
    with pytest.raises(DataError, match=r"24 images of 64 x 64 pixels take.*at most 16 of each split"):
        FinetuningLoop(RunFolder.create(tmp_path, mend_config(photos)))


def test_a_damaged_cache_of_pairs_is_made_again(photos, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    first = FinetuningLoop(RunFolder.create(tmp_path, mend_config(photos)))
    (kept,) = (tmp_path / "cache" / "pairs").glob("*/images.npy")
    kept.write_bytes(b"torn")
    second = FinetuningLoop(RunFolder.create(tmp_path, mend_config(photos)))
    examples = [mender.arms[0].examples for mender in (first, second)]
    assert examples[0].summary() == examples[1].summary() and examples[0].removed and examples[0].edited
    for step in range(2 * examples[0].epoch):
        for one, other in zip(*(each.at(step) for each in examples), strict=True):
            assert np.array_equal(one, other)
    assert kept.stat().st_size > 100


def test_the_command_line_mends_and_scores(photos, tmp_path, capsys):
    flags = ["--data", str(photos), "--model", "tiny_clip:fresh=true"]
    recipes = ["--recipes", "removed=false", "-", "--batch", "8", "--steps", "2", "--threads", "1"]
    assert main(["finetune", *flags, *recipes, "--runs", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "D + D′ (phrases, telea, 0.08)" in said and "ODmAP_at_1" in said
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "fine-tuning tiny_clip" in capsys.readouterr().out
    assert main(["score", *flags]) == 0
    said, beside = capsys.readouterr()
    assert "does not know photographs" in beside and "hallucination_at_1" in said and "LOW" in said
    assert main(["finetune", *flags, "--preset", "table9", "--runs", str(tmp_path)]) == 1
    assert "no preset 'table9'" in capsys.readouterr().err


@pytest.mark.long
def test_a_captioner_writes_the_sentences(photos, tmp_path):
    words = write_blip(tmp_path / "blip", "BlipForConditionalGeneration")
    recipes = {"removed": False}, {"text": "captioner", "ratio": None, "captioner": str(words)}
    folder = RunFolder.create(tmp_path, mend_config(photos, *recipes, steps=2))
    assert Worker(folder).run().phase == "finished"
    made = "D + D′ (captioner, telea, all): 72 original and 24 object-removed pairs"
    assert made in (folder.path / "log.txt").read_text()


def test_a_base_model_is_left_as_it_is(photos, tmp_path):
    torch.manual_seed(0)
    base = tmp_path / "base"
    save_folder(TinyClip("clip"), base, "a card")
    before = (base / WEIGHTS).read_bytes()
    config = mend_config(photos)
    model = Choice(name="tiny_clip", parameters={"weights": str(base)})
    config = dataclasses.replace(config, model=model)
    folder = RunFolder.create(tmp_path / "runs", config)
    assert Worker(folder).run().phase == "finished"
    assert (base / WEIGHTS).read_bytes() == before
    mended, first = encoders_of_run(folder).read(0).network, TinyClip("clip")
    load_weights(first, base)
    pairs = zip(mended.parameters(), first.parameters(), strict=True)
    assert any(not torch.equal(one, other) for one, other in pairs)


# --------------------------------------------------------- Flickr30k Entities


@pytest.fixture(scope="module")
def entities(tmp_path_factory):
    return write_entities(tmp_path_factory.mktemp("entities"))


def test_entities_are_scored_on_the_command_line(entities, capsys):
    assert main(["score", "--data", str(entities), "--model", "tiny_clip:fresh=true"]) == 0
    said = capsys.readouterr().out
    assert "4 queries against all 53 captions, of 9 images" in said and "left out, fewer than two classes: 5" in said
    assert "skipped no correct sentence: 0" in said and "ODmAP_at_1" in said


def test_a_model_is_mended_on_entities(entities, tmp_path):
    run = RunFolder.create(tmp_path, mend_config(entities, {"ratio": None}, steps=2))
    assert Worker(run).run().phase == "finished"
    log = (run.path / "log.txt").read_text()
    assert "36 original and 12 object-removed pairs" in log and "phrases that are annotated" in log
    tree = run.probe().hierarchy
    assert {name for one in tree.names[0] for name in one.split(" + ")} <= {*SAID}


def test_kept_pairs_are_not_those_of_another_annotation(entities):
    def shorter(phrases):
        return tuple(dataclasses.replace(phrase, end=phrase.end - 1) for phrase in phrases)

    scenes = load_captioned(str(entities)).splits["train"]
    other = [dataclasses.replace(scene, phrases=tuple(map(shorter, scene.phrases))) for scene in scenes]
    one, two = (removed_pairs(found, load_words(), recipe({}), 32, 0, lambda *_: None) for found in (scenes, other))
    assert [len(text) for (text,) in one.texts] != [len(text) for (text,) in two.texts]
