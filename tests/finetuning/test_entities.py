"""Flickr30k Entities on the command line: scored, and mended on pairs without the annotated words."""

from __future__ import annotations

import dataclasses

import pytest

from tests.entities import write_entities
from tests.finetuning.world import mend_config
from trainers.cli.main import main
from trainers.data.captioned.loader import load_captioned
from trainers.kinds.finetuning.images import removed_pairs
from trainers.kinds.finetuning.recipes import recipe
from trainers.object_removal.vocabulary import load_words
from trainers.runs import RunFolder
from trainers.worker import Worker


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_entities(tmp_path_factory.mktemp("entities"))


def test_it_is_scored_on_the_command_line(folder, capsys):
    assert main(["score", "--data", str(folder), "--model", "tiny_clip:fresh=true"]) == 0
    said = capsys.readouterr().out
    assert "4 queries against all 53 captions, of 9 images" in said and "left out, fewer than two classes: 5" in said
    assert "skipped no correct sentence: 0" in said and "ODmAP_at_1" in said


def test_a_model_is_mended_on_it(folder, tmp_path):
    run = RunFolder.create(tmp_path, mend_config(folder, {"ratio": None}, steps=2))
    assert Worker(run).run().phase == "finished"
    log = (run.path / "log.txt").read_text()
    assert "36 original and 12 object-removed pairs" in log and "phrases that are annotated" in log
    tree = run.probe().hierarchy
    assert {name for one in tree.names[0] for name in one.split(" + ")} <= {
        "people",
        "animals",
        "vehicles",
        "instruments",
    }


def test_kept_pairs_are_not_those_of_another_annotation(folder):
    scenes = load_captioned(str(folder)).splits["train"]
    other = [
        dataclasses.replace(
            scene,
            phrases=tuple(
                tuple(dataclasses.replace(phrase, end=phrase.end - 1) for phrase in phrases)
                for phrases in scene.phrases
            ),
        )
        for scene in scenes
    ]
    one, two = (removed_pairs(found, load_words(), recipe({}), 32, 0, lambda *_: None) for found in (scenes, other))
    assert [len(text) for (text,) in one.texts] != [len(text) for (text,) in two.texts]
