"""The small CLIP: what its folder holds, who can read it, what damaged or foreign weights say."""

from __future__ import annotations

import json

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import save_file

from tests.make.tiny_clip import save_folder
from trainers.errors import RunError
from trainers.image_text import small
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.image_text.models import MODELS
from trainers.image_text.models.tiny_clip import ASSETS, SIDE, WEIGHTS, TinyClip, load_weights

SENTENCES = ["a dog chasing a red frisbee on the grass", "one cat", "Größe & ⚽?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.manual_seed(0)
    place = tmp_path_factory.mktemp("model") / "tiny"
    model = TinyClip("clip").eval()
    save_folder(model, place, "a card")
    return model, place


def test_half_precision_on_disk_is_as_good_as_the_model(folder):
    model, place = folder
    again = TinyClip("clip").eval()
    load_weights(again, place)
    photos = torch.randint(0, 256, (4, 3, SIDE, SIDE), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(encode_images(model, photos), encode_images(again, photos), atol=5e-3)
    assert torch.allclose(encode_texts(model, SENTENCES), encode_texts(again, SENTENCES), atol=5e-3)


def test_open_clip_reads_the_folder(folder):
    import open_clip

    model, place = folder
    theirs = open_clip.create_model_from_pretrained(f"local-dir:{place}", return_transform=False).eval()
    images = torch.rand(2, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(2))
    words = model.tokenise(SENTENCES)
    with torch.inference_mode():
        ours = model.image_features(images), model.text_features(words)
        same = theirs.encode_image(model.normalise(images)), theirs.encode_text(words)
    for one, other in zip(ours, same, strict=True):
        assert torch.allclose(F.normalize(one), F.normalize(other), atol=5e-3)


def test_sentences_in_parts_are_read_as_open_clip_reads_them(folder):
    model, _ = folder
    texts = ["a dog", "what!", "!", "", *(f"a {'very ' * n}large cat" for n in range(40))]
    words = model.tokenise(texts)
    model.net.double()
    wanted = model.net.encode_text(words)
    found = model.text_features(words)
    gradients = [torch.autograd.grad(x.square().sum(), model.net.token_embedding.weight)[0] for x in (wanted, found)]
    model.net.float()
    assert torch.allclose(wanted, found, atol=1e-10) and torch.allclose(*gradients, atol=1e-8)


def test_missing_damaged_and_foreign_weights_are_said(tmp_path):
    menu, file = MODELS["tiny_clip"], tmp_path / WEIGHTS
    assert "There are no weights" in menu.lacking({"weights": str(tmp_path)})
    foreign = lambda: save_file({"logit_scale": torch.zeros(())}, file)  # noqa: E731
    for harm in (lambda: None, lambda: file.write_bytes(b"not a safetensors file"), foreign):
        harm()
        with pytest.raises(RunError, match="missing or damaged"):
            menu.build({"weights": str(tmp_path)})


@pytest.mark.parametrize("name", ["tiny_clip", "tiny_clip_mended"])
def test_the_shipped_model_is_small_and_whole(name):
    place = ASSETS / name
    assert (place / WEIGHTS).stat().st_size < 6_000_000
    assert json.loads((place / "open_clip_config.json").read_text())["model_cfg"]["embed_dim"] == 128
    assert "python -m tests.make.tiny_clip" in (place / "README.md").read_text()
    model = MODELS[name].build({})
    assert all(torch.isfinite(weight).all() for weight in model.parameters())


def test_photos_are_squashed_whole():
    import numpy as np

    wide = np.zeros((40, 160, 3), np.uint8)
    wide[:, :8] = 255  # a crop to the middle would lose it
    assert squash(wide, 64)[:, :, :2].float().mean() > 200


ODD = ["", "a dog", "A  DOG, and the man's dogs!", "héllo wörld 🙂", "x" * 300, "a " * 60, "<end_of_text> &amp; co"]


@pytest.mark.parametrize("context", [5, 32, 77])
def test_sentences_are_cut_into_tokens_as_open_clip_does(context):
    for texts in (ODD, [], [" ".join(ODD)] * (small.PIECE + 1)):
        own = small.tokenise(texts, context)
        assert own.shape == (len(texts), context) and own.dtype == torch.int64
        if texts:
            assert torch.equal(own, small.small_tokeniser(context)(texts)) and int(own.max()) < small.VOCABULARY
            assert small.lengths(texts, context) == [
                len(small.small_tokeniser(context).encode(text)) + 2 for text in texts
            ]
