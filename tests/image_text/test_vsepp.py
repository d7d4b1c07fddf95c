"""The small VSE++: it learns, padding means nothing, order of words does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.errors import ParameterError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.encoding import encode_images, encode_texts
from trainers.image_text.models import MODELS

SMALL = {"dim": 32, "width": 6, "words": 16, "side": 32}
COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (30, 40, 230), "yellow": (230, 220, 30)}
PLACES = {"left": slice(2, 14), "right": slice(18, 30)}


@pytest.fixture
def model():
    torch.manual_seed(3)
    return MODELS["vsepp"].build(SMALL)


def squares() -> tuple[torch.Tensor, list[str]]:
    """Eight pictures uint8 ``[8, 3, 32, 32]`` of a coloured square at one side, and what they show."""
    pictures, texts = [], []
    for colour, paint in COLOURS.items():
        for place, columns in PLACES.items():
            picture = np.full((32, 32, 3), 110, np.uint8)
            picture[8:24, columns] = paint
            pictures.append(torch.from_numpy(picture.transpose(2, 0, 1).copy()))
            texts.append(f"a {colour} square on the {place}")
    return torch.stack(pictures), texts


def check_it_learns(model: ImageTextModel, rate: float, steps: int) -> None:
    """It pairs the squares with their texts, at a quarter of its first loss."""
    images, texts = squares()
    tokens = model.tokenise(texts)
    optimiser = torch.optim.Adam(model.parameters(), rate)
    noise = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(steps):
        shaken = (images.float() / 255 + 0.05 * torch.randn(images.shape, generator=noise)).clamp(0, 1)
        loss = sum(model.terms(model.image_features(shaken), model.text_features(tokens)).values())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        model.after_step()
        losses.append(loss.item())
    assert losses[-1] < 0.25 * losses[0]
    similarity = encode_images(model.eval(), images) @ encode_texts(model, texts).T
    assert similarity.argmax(1).tolist() == list(range(8))


def test_it_learns_what_is_where(model):
    check_it_learns(model, MODELS["vsepp"].learning_rate, 150)


def test_shapes_and_embeddings(model):
    images, texts = squares()
    model.eval()
    assert model.side == 32 and model.tokenise(texts).shape == (8, model.context)
    assert (
        model.image_features(images.float() / 255).shape == model.text_features(model.tokenise(texts)).shape == (8, 32)
    )
    turned = encode_texts(model, ["a dog sees a cat", "a cat sees a dog"])
    assert (turned[0] - turned[1]).abs().max() > 1e-4


def test_padding_changes_nothing(model):
    model.eval()
    tokens = model.tokenise(["a dog", "a long sentence about a dog and a red frisbee"])
    used = model.lengths(["a dog"])[0]
    torch.testing.assert_close(model.text_features(tokens)[:1], model.text_features(tokens[:1, :used]))


def test_long_and_empty_sentences(model):
    long = "dog " * 60
    assert model.lengths([long, ""]) == [62, 2]
    tokens = model.tokenise([long, ""])
    assert tokens.shape == (2, 32) and tokens.argmax(1).tolist() == [31, 1]
    assert model.text_features(tokens).isfinite().all()


def test_its_loss_and_gradients_reach_everything(model):
    images, texts = squares()
    terms = model.terms(model.image_features(images.float() / 255), model.text_features(model.tokenise(texts)))
    assert list(terms) == ["triplet"]
    terms["triplet"].backward()
    assert all(p.grad is not None and p.grad.isfinite().all() and p.grad.any() for p in model.parameters())


@pytest.mark.parametrize("values", [{"side": 50}, {"dim": 1}, {"margin": -0.1}, {"depth": 3}])
def test_refusals(values):
    with pytest.raises(ParameterError):
        MODELS["vsepp"].build(values)
