"""Every image-text model of the menu: described, checked, and honest about what is missing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.errors import ParameterError, UserError
from trainers.image_text.encoding import encode_images, encode_texts
from trainers.image_text.models import MODELS

HERE = [name for name, model in MODELS.items() if model.shipped or not model.trained]
TEXTS = ["a dog on the grass", "two cats", "", "ein Hund auf der Wiese", "word " * 300]


@pytest.mark.parametrize("name", HERE)
def test_its_size_is_as_stated(name):
    model, size = MODELS[name].build({}), MODELS[name].size(MODELS[name].checked({}))
    assert model.side == size.side
    assert sum(weight.numel() for weight in model.parameters()) == pytest.approx(size.weights, rel=0.05)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_checked_and_what_is_missing_is_a_sentence(name):
    model = MODELS[name]
    with pytest.raises(ParameterError, match="no parameter 'nonsense'"):
        model.build({"nonsense": 1})
    reason = model.lacking()
    if reason is not None:
        assert reason[0].isupper() and len(reason) > 20
        with pytest.raises(UserError):
            model.build({})


@pytest.mark.parametrize("name", HERE)
def test_a_model_embeds_photos_and_sentences_into_one_space(name):
    torch.manual_seed(0)
    model = MODELS[name].build({}).eval()
    photos = torch.randint(0, 256, (3, 3, model.side, model.side), dtype=torch.uint8)
    seen, read = encode_images(model, photos), encode_texts(model, TEXTS)
    assert seen.shape[1] == read.shape[1] and seen.shape[0] == 3 and read.shape[0] == len(TEXTS)
    for found in (seen, read):
        assert found.dtype == torch.float32 and torch.allclose(found.norm(dim=1), torch.ones(len(found)), atol=1e-4)
    # a sentence's embedding depends on nothing else in its batch, a photo's neither
    assert torch.allclose(encode_texts(model, TEXTS[1:2]), read[1:2], atol=1e-5)
    assert torch.allclose(encode_images(model, photos[2:]), seen[2:], atol=1e-5)
    tokens = model.tokenise(TEXTS)
    assert tokens.shape == (len(TEXTS), model.context) and tokens.dtype == torch.int64
    lengths = model.lengths(TEXTS)
    assert lengths[4] > model.context >= lengths[0] >= 3


OTHER_LOSSES = [("tiny_clip", {"fresh": True, "loss": loss}) for loss in ("siglip", "triplet")]


@pytest.mark.parametrize(("name", "values"), [*((name, {}) for name in HERE), *OTHER_LOSSES])
def test_a_model_that_can_be_mended_descends_its_own_loss(name, values):
    torch.manual_seed(0)
    entry = MODELS[name]
    assert entry.trainable
    model = entry.build(values).train()
    photos = torch.rand(8, 3, model.side, model.side)
    tokens = model.tokenise([f"a dog number {number}" for number in range(8)])
    optimiser = torch.optim.Adam(model.parameters(), entry.learning_rate)
    losses = []
    for _ in range(8):
        loss = sum(model.terms(model.image_features(photos), model.text_features(tokens)).values())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        model.after_step()
        losses.append(loss.item())
    assert np.isfinite(losses).all() and min(losses[-2:]) < losses[0]
