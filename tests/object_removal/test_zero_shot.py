"""Zero-shot classification of a box: right for a model that knows colours, well formed for random ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from trainers.errors import UserError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.encoding import encode_texts
from trainers.image_text.models import MODELS
from trainers.object_removal.captions import prompt_templates
from trainers.object_removal.zero_shot import class_embeddings, name_box

COLOURS = ("red", "green", "blue")


class Colours(ImageTextModel):
    """Sees the mean colour and reads colour words: what is right can be told by hand."""

    def __init__(self, scale: float | None = None) -> None:
        super().__init__(side=8, context=3, mean=(0, 0, 0), std=(1, 1, 1))
        self.anchor = nn.Parameter(torch.zeros(1))
        if scale is not None:
            self.scale = nn.Parameter(torch.tensor(math.log(scale)))

    def image_features(self, images: Tensor) -> Tensor:
        return images.mean((2, 3)) + self.anchor

    def text_features(self, tokens: Tensor) -> Tensor:
        return tokens.float() + self.anchor

    def tokenise(self, texts) -> Tensor:
        return torch.tensor([[int(colour in text.split()) for colour in COLOURS] for text in texts]) * 3


@pytest.fixture
def image():
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:, :20, 0], pixels[:, 20:40, 1], pixels[:, 40:, 2] = 250, 250, 250
    return pixels


def test_the_class_in_the_box_comes_first(image):
    model = Colours(scale=3.0)
    found = class_embeddings(model, COLOURS)
    torch.testing.assert_close(found, torch.eye(3))
    assert name_box(model, image, (2, 5, 18, 30), COLOURS, found, top=1)[0][0] == "red"
    named = name_box(model, image, (60, 40, 41, 2), COLOURS, found)  # corners the other way round
    assert named[0][0] == "blue" and sum(chance for _, chance in named) == pytest.approx(1)
    assert named[0][1] == pytest.approx(math.exp(3) / (math.exp(3) + 2), rel=1e-5)
    half = name_box(model, image, (10, 0, 30, 40), COLOURS, found)  # as much red as green, squashed whole
    assert half[2][0] == "blue" and half[0][1] == pytest.approx(half[1][1], rel=0.05)


def test_without_a_learnt_temperature(image):
    named = name_box(Colours(), image, (2, 5, 18, 30), COLOURS, torch.eye(3))
    assert named[0][1] == pytest.approx(math.exp(20) / (math.exp(20) + 2), rel=1e-5)


@pytest.mark.parametrize(("name", "values"), [("vsepp", {"width": 4, "dim": 16}), ("tiny_clip", {"fresh": True})])
def test_random_models(image, name, values):
    torch.manual_seed(0)
    model = MODELS[name].build(values).eval()
    classes = ["dog", "potted plant", "frisbee"]
    found = class_embeddings(model, classes)
    sentences = [template.format("potted plant") for template in prompt_templates()]
    assert len(sentences) == 80
    mean = np.mean([row.numpy() for row in encode_texts(model, sentences)], axis=0)
    np.testing.assert_allclose(found[1].numpy(), mean / np.linalg.norm(mean), atol=1e-5)
    named = name_box(model, image, (0, 0, 30, 30), classes, found, top=9)
    chances = [chance for _, chance in named]
    assert sorted(n for n, _ in named) == sorted(classes) and chances == sorted(chances, reverse=True)
    assert sum(chances) == pytest.approx(1, abs=1e-5)
    assert name_box(model, image, (0, 0, 30, 30), classes, found, top=2) == named[:2]


@pytest.mark.parametrize(
    ("box", "match"),
    [
        ((70, 0, 90, 20), "outside"),
        ((5, 5, 5, 20), "outside"),
        ((math.nan, 0, 5, 5), "outside"),
        ((5, 5, 8, 30), "3 x 25"),
        ((58, 0, 90, 30), "at least 4"),
    ],
)
def test_boxes_that_show_nothing(image, box, match):
    with pytest.raises(UserError, match=match):
        name_box(Colours(), image, box, COLOURS, torch.eye(3))


def test_refusals(image):
    for classes in ((), ("dog", " ")):
        with pytest.raises(UserError, match="classes with names"):
            class_embeddings(Colours(), classes)
    with pytest.raises(UserError, match="one embedding per class"):
        name_box(Colours(), image, (0, 0, 9, 9), COLOURS, torch.eye(2))
    with pytest.raises(UserError, match="top 0"):
        name_box(Colours(), image, (0, 0, 9, 9), COLOURS, torch.eye(3), top=0)
    with pytest.raises(UserError, match="uint8"):
        name_box(Colours(), image / 255, (0, 0, 9, 9), COLOURS, torch.eye(3))
