"""The model of two towers: how its encoder is written, what is refused, that it learns what is where."""

from __future__ import annotations

import pytest
import torch

from tests.image_text.test_vsepp import check_it_learns, squares
from trainers.cli.flags import shown
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.image_text.models import MODELS
from trainers.image_text.models.two_towers import TwoTowersParameters
from trainers.image_text.small import caption_features
from trainers.parameters import Choice, parse_choice

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
    ("written", "words"),
    [
        ("resnet18", "There is no encoder 'resnet18'; choose from conv4"),
        ("", "There is no encoder ''"),
        ("conv4:width=4", "width needs a whole number from 8 to 128; got 4"),
        ("conv4:depth=4", "no parameter 'depth'"),
        ("conv4:width", "has no '='"),
        ("timm_frozen", "is not trained on images; choose from conv4, timm, small_conv"),
    ],
)
def test_what_is_no_encoder_to_train_is_refused(written: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        ENTRY.checked({"encoder": written})


@pytest.mark.parametrize("name", TRAINED)
def test_any_encoder_that_is_trained_can_be_its_image_tower(name: str) -> None:
    values = {"encoder": SMALL[name], "dim": 24, "side": 32}
    model, size = ENTRY.build(values), ENTRY.size(ENTRY.checked(values))
    assert type(model.encoder) is ENCODERS[name].make and model.side == size.side == 32
    assert sum(weight.numel() for weight in model.parameters()) == pytest.approx(size.weights, rel=0.05)
    images, texts = squares()
    seen, read = model.image_features(images.float() / 255), model.text_features(model.tokenise(texts))
    assert seen.shape == read.shape == (8, 24)


def test_its_text_tower_reads_as_open_clips() -> None:
    torch.manual_seed(0)
    model = ENTRY.build({}).eval()
    tokens = model.tokenise([f"a {'very ' * number}large cat" for number in range(20)])
    assert torch.allclose(caption_features(model.text, tokens), model.text(tokens), atol=1e-5)
    assert torch.equal(caption_features(model.text, tokens[:4]), model.text(tokens[:4]))


def test_it_learns_what_is_where() -> None:
    torch.manual_seed(0)
    model = ENTRY.build({"encoder": "conv4:width=8", "dim": 32, "side": 32})
    check_it_learns(model, ENTRY.learning_rate, 60)


def test_its_temperature_is_learned_within_clips_bounds() -> None:
    model = ENTRY.build({})
    assert TwoTowersParameters().chosen == Choice(name="conv4")
    assert model.scale.requires_grad and model.scale.exp().item() == pytest.approx(1 / 0.07)
    for value, kept in ((9.0, 100.0), (-1.0, 1.0)):
        with torch.no_grad():
            model.scale.fill_(value)
        model.after_step()
        assert model.scale.exp().item() == pytest.approx(kept)
