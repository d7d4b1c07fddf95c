"""BLIP's index and matching head, and its captioner, against the library's own forward; and how it is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from tests.image_text.blip import write_blip
from trainers.errors import UserError
from trainers.image_text.encoding import encode_images, encode_texts
from trainers.image_text.models import MODELS
from trainers.object_removal import captioner

TEXTS = ["a dog on snow", "two cat", "the red frisbee with a dog and a cat on a mat"]
ENTRY = MODELS["blip"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_blip(tmp_path_factory.mktemp("blip"), "BlipForImageTextRetrieval")


@pytest.fixture(scope="module")
def model(folder):
    return ENTRY.build({"weights": str(folder)})


@pytest.fixture
def images():
    return torch.randint(0, 255, (2, 3, 32, 32), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)


def test_the_index_agrees_with_the_library(folder, model, images):
    assert (model.side, model.context) == (32, 35) and model.mean.flatten().tolist() == pytest.approx([0.4, 0.5, 0.6])
    from transformers import BertTokenizer  # takes seconds to import

    tokens = BertTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = model.net(
            input_ids=tokens.input_ids,
            attention_mask=tokens.attention_mask,
            pixel_values=model.normalise(images / 255),
            use_itm_head=False,
        ).itm_score
    found = encode_images(model, images) @ encode_texts(model, TEXTS).T
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert found.std() > 1e-3  # not all the same


def test_lengths_and_training(model):
    assert model.lengths(["", "a dog", "dog " * 60]) == [2, 4, 62]
    assert model.tokenise(["dog " * 60]).shape == (1, 35) and not ENTRY.trainable
    with pytest.raises(UserError, match="not trained here"):
        model.terms(torch.ones(2, 8), torch.ones(2, 8))


def test_a_captioner_writes_captions(tmp_path):
    write = captioner.captioner(str(write_blip(tmp_path / "captions", "BlipForConditionalGeneration")))
    photos = [np.full((20, 30, 3), shade, np.uint8) for shade in range(0, 250, 25)]
    texts = [write(photo) for photo in photos]
    assert all(isinstance(text, str) and "[" not in text for text in texts)
    assert texts == [write(photo) for photo in photos] and any(texts)
    with pytest.raises(UserError, match="uint8"):
        write(np.zeros((4, 4), np.uint8))


def test_a_model_of_another_kind_is_refused(folder, tmp_path):
    with pytest.raises(UserError, match="another class"):
        captioner.captioner(str(folder))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UserError, match="could not be loaded"):
        ENTRY.build({"weights": str(tmp_path)})


def test_places_that_cannot_be_used(tmp_path, hub_cache):
    for where, match in ((str(tmp_path / "none"), "config"), ("one-word", "organisation/name"), ("", "organisation")):
        with pytest.raises(UserError, match=match):
            ENTRY.build({"weights": where})
    assert "HF_HUB_OFFLINE" in ENTRY.lacking() and "HF_HUB_OFFLINE" in captioner.missing()


def test_without_transformers_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)  # as Python treats a library that is not there
    for reason in (ENTRY.lacking(), captioner.missing()):
        assert "pip install transformers" in reason
    with pytest.raises(UserError, match="pip install transformers"):
        ENTRY.build({})
    with pytest.raises(UserError, match="pip install transformers"):
        captioner.captioner()
