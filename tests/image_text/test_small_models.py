"""VSE++ and the model of two towers: they learn what is where; how words, padding and encoders are read."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.cli.flags import shown
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.image_text.encoding import encode_images, encode_texts
from trainers.image_text.models import MODELS
from trainers.image_text.models.two_towers import TwoTowersParameters
from trainers.parameters import Choice, parse_choice

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (30, 40, 230), "yellow": (230, 220, 30)}
PLACES = {"left": slice(2, 14), "right": slice(18, 30)}


@pytest.fixture
def model():
    torch.manual_seed(3)
    return MODELS["vsepp"].build({"dim": 32, "width": 6, "words": 16, "side": 32})


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


@pytest.mark.parametrize(
    ("name", "values", "steps"),
    [("vsepp", {"width": 6, "words": 16}, 150), ("two_towers", {"encoder": "conv4:width=8"}, 60)],
)
def test_a_model_learns_what_is_where(name: str, values: dict[str, object], steps: int) -> None:
    """It pairs the squares with their texts, at a quarter of its first loss."""
    torch.manual_seed(3)
    model = MODELS[name].build({"dim": 32, "side": 32, **values})
    images, texts = squares()
    tokens = model.tokenise(texts)
    optimiser = torch.optim.Adam(model.parameters(), MODELS[name].learning_rate)
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


def test_the_order_of_words_counts(model):
    turned = encode_texts(model.eval(), ["a dog sees a cat", "a cat sees a dog"])
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


# ---------------------------------------------------------------- two towers

ENTRY = MODELS["two_towers"]
TRAINED = [name for name, encoder in ENCODERS.items() if not encoder.frozen]
SMALL = {
    "conv4": "conv4:width=8",
    "small_conv": "small_conv:width=8",
    "timm": "timm:model=test_resnet;pretrained=false",
}


@pytest.mark.parametrize(
    ("text", "encoder", "others"),
    [
        ("two_towers", Choice(name="conv4"), {}),
        ("two_towers:small_conv,dim=32", Choice(name="small_conv"), {"dim": 32}),
        ("two_towers:encoder=conv4:width=48,side=96", Choice(name="conv4", parameters={"width": 48}), {"side": 96}),
        ("two_towers:dim=32,encoder=timm:resnet34", Choice(name="timm", parameters={"model": "resnet34"}), {"dim": 32}),
        (
            "two_towers:timm:model=resnet18;pretrained=false",
            Choice(name="timm", parameters={"model": "resnet18", "pretrained": False}),
            {},
        ),
    ],
)
def test_an_encoder_is_written_with_its_parameters(text: str, encoder: Choice, others: dict[str, int]) -> None:
    name, values = parse_choice(text, MODELS)
    parameters = ENTRY.checked(values)
    assert name == "two_towers" and parameters.chosen == encoder and ENTRY.encoder(parameters) == encoder
    assert {key: value for key, value in values.items() if key != "encoder"} == others
    assert parse_choice(shown(Choice(name=name, parameters=values)), MODELS) == (name, values)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("vsepp", {"side": 50}, "side needs"),
        ("vsepp", {"depth": 3}, "no parameter 'depth'"),
        ("two_towers", {"encoder": "resnet18"}, "There is no encoder 'resnet18'; choose from conv4"),
        ("two_towers", {"encoder": "conv4:width=4"}, "width needs a whole number from 8 to 128; got 4"),
        ("two_towers", {"encoder": "conv4:width"}, "has no '='"),
        ("two_towers", {"encoder": "timm_frozen"}, "is not trained on images; choose from conv4, timm, small_conv"),
    ],
)
def test_parameters_that_are_refused(name: str, values: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        MODELS[name].checked(values)


@pytest.mark.parametrize("name", TRAINED)
def test_any_encoder_that_is_trained_can_be_its_image_tower(name: str) -> None:
    values = {"encoder": SMALL[name], "dim": 24, "side": 32}
    model, size = ENTRY.build(values), ENTRY.size(ENTRY.checked(values))
    assert type(model.encoder) is ENCODERS[name].make and model.side == size.side == 32
    assert sum(weight.numel() for weight in model.parameters()) == pytest.approx(size.weights, rel=0.05)
    images, texts = squares()
    seen, read = model.image_features(images.float() / 255), model.text_features(model.tokenise(texts))
    assert seen.shape == read.shape == (8, 24)


def test_the_temperature_of_two_towers_is_learned_within_clips_bounds() -> None:
    model = ENTRY.build({})
    assert TwoTowersParameters().chosen == Choice(name="conv4")
    assert model.scale.requires_grad and model.scale.exp().item() == pytest.approx(1 / 0.07)
    for value, kept in ((9.0, 100.0), (-1.0, 1.0)):
        with torch.no_grad():
            model.scale.fill_(value)
        model.after_step()
        assert model.scale.exp().item() == pytest.approx(kept)
