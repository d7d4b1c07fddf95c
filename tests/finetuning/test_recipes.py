"""Recipes of a mending run: presets, titles, and the pairs that they train on, counted, shown once, in their share."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter

import numpy as np
import pytest
import torch

from tests.image_text.blip import write_blip
from trainers.cli.start import add_start_flags, configuration
from trainers.config import RunConfig
from trainers.errors import DataError, ParameterError
from trainers.kinds import check
from trainers.kinds.finetuning import DESCRIPTOR as KIND
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.recipes import PRESETS, PairRecipe, recipe, title, titles
from trainers.kinds.finetuning.training_pairs import Examples, Pool
from trainers.parameters import Choice

CONFIG = FinetuningConfig(model=Choice(name="tiny_clip", parameters={"fresh": True}), steps=5)


def changed(**changes: object) -> RunConfig:
    return dataclasses.replace(CONFIG, **changes)


def test_table_3_has_the_captioners_row_and_says_what_it_needs(tmp_path, monkeypatch):
    (preset,) = (one for one in PRESETS if one.name == "table3_texts")
    assert titles([recipe(values) for values in preset.settings["recipes"]]) == [
        "D",
        "D + D′ (captioner, telea, 0.08)",
        "D + D′ (prompts, telea, 0.08)",
        "D + D′ (phrases, telea, 0.08)",
    ]
    with pytest.raises(ParameterError, match=r"captioner, telea.*HF_HUB_OFFLINE.*`captioner`, as a folder or a Hub id"):
        check(changed(recipes=preset.settings["recipes"]))
    command = argparse.ArgumentParser()
    add_start_flags(command, KIND)
    folder = write_blip(tmp_path / "blip", "BlipForConditionalGeneration")
    given = command.parse_args(["--preset", "table3_texts", "--captioner", str(folder)])
    recipes = configuration(given, KIND).recipes
    assert [values.get("captioner", "") for values in recipes] == ["", str(folder), "", ""]
    check(changed(recipes=recipes))
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ParameterError, match="pip install transformers"):
        check(changed(recipes=recipes))


def test_titles_are_the_papers_words():
    assert title(recipe({})) == "D + D′ (phrases, telea, 0.08)"
    assert title(recipe({"removed": False})) == "D"
    assert title(recipe({"originals": "none", "text": "prompts", "fill": "zero"})) == "D′ (prompts, zero, 0.08)"
    assert title(recipe({"ratio": 0.2})) == "D + D′ (phrases, telea, 0.2)"
    assert title(recipe({"ratio": None})) == "D + D′ (phrases, telea, all)"
    assert titles([recipe({}), recipe({})]) == ["D + D′ (phrases, telea, 0.08) #1", "D + D′ (phrases, telea, 0.08) #2"]


def test_the_default_is_the_papers_share_of_pairs():
    assert recipe({}).ratio == pytest.approx(45_467 / (113_287 * 5), abs=5e-4)
    figure = next(preset for preset in PRESETS if preset.name == "figure4")
    ratios = [recipe(values).ratio for values in figure.settings["recipes"]]
    assert ratios == sorted(ratios) and ratios[0] < 0.08 < 0.1 < ratios[-1] == 0.4  # both sides of the paper's knee


# ------------------------------------------------------------- training pairs

PHOTOS, SENTENCES, MADE = 40, 5, 30


def pool(count: int, sentences: int, mark: int, edited: int = 0) -> Pool:
    """Photo i is filled with i; its sentences are tokens (mark, i, number), the first few of them edited."""
    images = torch.arange(count, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, 2, 2).contiguous()
    tokens = torch.tensor([[mark, i, n] for i in range(count) for n in range(sentences)])
    return Pool.of(images, tokens, [sentences] * count, [[n < edited for n in range(sentences)]] * count)


def examples(recipe: PairRecipe, batch: int = 8, seed: int = 0, each: int = 1, edited: int = 0) -> Examples:
    return Examples(pool(PHOTOS, SENTENCES, 0), pool(MADE, each, 1, edited), recipe, batch=batch, seed=seed)


def epoch(found: Examples, number: int = 0) -> list[torch.Tensor]:
    """The tokens of the batches of an epoch."""
    return [found.at(number * found.epoch + step)[1] for step in range(found.epoch)]


def pairs(found: Examples, mark: int) -> set[tuple[int, int]]:
    """Photo and sentence of every pair of D (0) or D' (1) in the first epochs."""
    seen = [row for number in range(3) for tokens in epoch(found, number) for row in tokens.tolist()]
    return {(photo, sentence) for kind, photo, sentence in seen if kind == mark}


def test_photos_keep_their_own_sentences_and_an_epoch_shows_each_pair_once():
    found = examples(PairRecipe(ratio=None))
    seen = []
    for step in range(found.epoch):
        images, tokens, rows = found.at(step)
        assert images.shape == (8, 3, 2, 2) and images.dtype == torch.uint8
        assert torch.equal(images[:, 0, 0, 0].long(), tokens[:, 1])
        numbers = [200 + photo if mark else 5 * photo + one for mark, photo, one in tokens.tolist()]
        assert sorted(rows.tolist()) == sorted(numbers)
        seen += numbers
    assert len(seen) == len(set(seen)) == 8 * (230 // 8)  # the rest does not fill a batch


def test_no_batch_holds_a_photo_twice_unless_two_rounds_meet_in_it():
    found = examples(PairRecipe(removed=False))
    for tokens in epoch(found):
        most = Counter(tokens[:, 1].tolist()).most_common(1)[0][1]
        assert most == 1  # 40 photos are whole batches of 8: the rounds meet between batches


@pytest.mark.parametrize("ratio", [0.05, 0.08, 0.15])
def test_every_batch_has_the_share_of_removed_pairs(ratio):
    found = examples(PairRecipe(ratio=ratio))
    share = ratio / (1 + ratio)
    assert (found.ratio, found.share) == (pytest.approx(ratio), pytest.approx(share))
    counts = [int(tokens[:, 0].sum()) for number in range(20) for tokens in epoch(found, number)]
    assert max(abs(count - 8 * share) for count in counts) <= 1
    assert np.mean(counts) / 8 == pytest.approx(share, rel=0.05)


def test_a_batch_is_a_function_of_seed_and_step():
    first, again, other = examples(PairRecipe()), examples(PairRecipe()), examples(PairRecipe(), seed=1)
    first.at(100)
    assert np.array_equal(first.at(11)[2], again.at(11)[2])
    assert not np.array_equal(first.at(11)[2], other.at(11)[2])
    assert not np.array_equal(first.at(3)[2], first.at(4)[2])
    assert not np.array_equal(first.at(3)[2], first.at(3 + first.epoch)[2])


@pytest.mark.parametrize(
    ("recipe", "each", "originals", "removed"),
    [
        (PairRecipe(), 1, 200, 16),  # the paper's 0.08
        (PairRecipe(ratio=None), 1, 200, 30),
        (PairRecipe(ratio=None), 3, 200, 90),  # more sentences of a photo are more pairs
        (PairRecipe(removed=False), 1, 200, 0),
        (PairRecipe(originals="none", ratio=0.1), 1, 0, 20),
        (PairRecipe(originals="matched", removed=False), 1, 16, 0),
        (PairRecipe(originals="matched", removed=False, ratio=None), 3, 90, 0),
        (PairRecipe(ratio=0.25), 2, 200, 50),
        (PairRecipe(ratio=1.0), 1, 200, 30),
    ],
)
def test_how_many_pairs_of_each(recipe, each, originals, removed):
    found = examples(recipe, each=each)
    assert (found.originals, found.removed, len(found)) == (originals, removed, originals + removed)


def test_a_larger_ratio_adds_to_a_smaller_one_and_photos_come_before_second_sentences():
    small, large = (pairs(examples(PairRecipe(ratio=ratio), each=5), 1) for ratio in (0.05, 0.3))
    assert small < large and {sentence for _, sentence in small} == {0}
    assert {photo for photo, _ in large} == set(range(MADE)) and max(sentence for _, sentence in large) == 1
    assert small == pairs(
        examples(PairRecipe(ratio=0.05), each=1), 1
    )  # what may be taken decides nothing while it lasts


def test_edited_sentences_come_first():
    assert examples(PairRecipe(ratio=0.3), each=5, edited=2).edited == 1.0
    assert examples(PairRecipe(ratio=0.6), each=5, edited=2).edited == pytest.approx(60 / 120)
    assert "deleted from 50% of the captions of D′" in examples(PairRecipe(ratio=0.6), each=5, edited=2).summary()
    assert "deleted" not in examples(PairRecipe(text="prompts")).summary()


def test_what_there_is_not_is_said():
    short, enough = examples(PairRecipe(ratio=0.5)), examples(PairRecipe(ratio=0.15))
    assert (short.removed, short.ratio, short.share) == (30, pytest.approx(0.15), pytest.approx(30 / 230))
    assert "|D′| / |D| is 0.15 (0.5 was asked for, and there are no more); 13.0%" in short.summary()
    assert "asked" not in enough.summary() and "200 original and 30 object-removed pairs" in enough.summary()
    assert "no object-removed" in examples(PairRecipe(removed=False)).summary()


def test_too_few_pairs_are_said():
    with pytest.raises(DataError, match=r"At least 8 pairs.*got 3"):
        Examples(pool(3, 1, 0), None, PairRecipe(removed=False), batch=8, seed=0)
