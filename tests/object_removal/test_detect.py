"""Objects in images: detectors from local weights, with random ones, and zero-shot classification of a box."""

from __future__ import annotations

import dataclasses
import math
import sys
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torchvision.models import detection

from trainers.errors import ParameterError, UserError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.encoding import encode_texts
from trainers.image_text.models import MODELS
from trainers.object_removal.captions import prompt_templates
from trainers.object_removal.detectors import DETECTORS
from trainers.object_removal.detectors.base import Raw
from trainers.object_removal.detectors.torchvision_models import cached
from trainers.object_removal.zero_shot import class_embeddings, name_box

WEIGHTS = detection.SSDLite320_MobileNet_V3_Large_Weights.COCO_V1
PICTURE = np.random.default_rng(0).integers(0, 255, (90, 120, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    net = detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=91)
    with torch.no_grad():
        for layer in net.head.classification_head.module_list:  # make class 1 likely and an empty place likelier
            layer[1].bias.view(-1, 91)[:, 1] += 4
            layer[1].bias.view(-1, 91)[:, 12] += 5
    return net.eval()


@pytest.fixture(scope="module")
def file(network, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "ssdlite.pth"
    torch.save(network.state_dict(), path)
    return path


def check(found, size, names) -> None:
    assert len(found.boxes) == len(found.names) == len(found.scores)
    for x0, y0, x1, y1 in found.boxes:
        assert 0 <= x0 < x1 <= size[1] and 0 <= y0 < y1 <= size[0]
    assert list(found.scores) == sorted(found.scores, reverse=True) and all(0 <= s <= 1 for s in found.scores)
    assert set(found.names) <= set(names) - {"N/A", "__background__"}


def test_ssdlite_from_a_file(network, file, tmp_path):
    found = DETECTORS["ssdlite"].build({"weights": str(file), "score": 0.05})(PICTURE)
    check(found, PICTURE.shape, WEIGHTS.meta["categories"])
    with torch.inference_mode():
        said = network([torch.from_numpy(PICTURE).permute(2, 0, 1) / 255])[0]
    good = (said["scores"] >= 0.05) & (said["labels"] != 12)
    assert (said["labels"] == 12).any()
    assert found.names == ("person",) * int(good.sum()) and found.names
    np.testing.assert_allclose(np.array(found.scores), said["scores"][good].numpy(), rtol=1e-5)
    np.testing.assert_allclose(np.array(found.boxes), said["boxes"][good].numpy(), atol=0.01)
    torch.save({"model": network.state_dict()}, tmp_path / "wrapped.pt")
    save_file(network.state_dict(), tmp_path / "w.safetensors")
    for name in ("wrapped.pt", "w.safetensors"):
        assert DETECTORS["ssdlite"].build({"weights": str(tmp_path / name), "score": 0.05})(PICTURE) == found
    assert DETECTORS["ssdlite"].build({"weights": str(file), "score": 1.0})(PICTURE).boxes == ()


def test_published_weights_are_taken_from_torchs_cache(network, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    monkeypatch.setattr("trainers.object_removal.detectors.torchvision_models._reachable", lambda *_: False)
    entry = DETECTORS["ssdlite"]
    assert WEIGHTS.url in entry.lacking()
    with pytest.raises(UserError, match="cannot be downloaded"):
        entry.build({})
    cached(WEIGHTS).parent.mkdir()
    torch.save(network.state_dict(), cached(WEIGHTS))
    assert entry.lacking() is None
    check(entry.build({"score": 0.05})(PICTURE), PICTURE.shape, WEIGHTS.meta["categories"])


def test_weights_saved_with_frozen_normalisation_fit(tmp_path):
    """The published Faster R-CNN was saved so: its layers count no batches."""
    torch.manual_seed(0)
    net = detection.fasterrcnn_mobilenet_v3_large_fpn(weights=None, weights_backbone=None, num_classes=91)
    state = {name: value for name, value in net.state_dict().items() if not name.endswith("num_batches_tracked")}
    assert len(state) < len(net.state_dict())
    save_file(state, tmp_path / "w.safetensors")
    detect = DETECTORS["fasterrcnn"].build({"weights": str(tmp_path / "w.safetensors"), "score": 0.01})
    check(detect(PICTURE), PICTURE.shape, WEIGHTS.meta["categories"])


def test_boxes_are_sorted_cleaned_and_named_as_coco_does():
    raw = Raw(
        boxes=np.array([[0, 0, 2, 2], [4, 4, 1, 1], [0, 0, 9, 9], [7, 0, 9, 2]], float),
        names=["N/A", "sofa", "dog", "cat"],
        scores=np.array([0.9, 0.3, 0.8, 0.7]),
    )
    entry = dataclasses.replace(DETECTORS["ssdlite"], make=lambda _: lambda _: raw, missing=lambda _: None)
    found = entry.build({"score": 0.3})(np.zeros((5, 6, 3), np.uint8))
    assert found.names == ("dog", "couch") and found.scores == (0.8, 0.3)
    assert found.boxes == ((0, 0, 6, 5), (1, 1, 4, 4))


def test_mask_rcnn_gives_boxes(tmp_path):
    """The real network's output format, at a size that is quick."""
    build = partial(detection.maskrcnn_resnet50_fpn_v2, min_size=64, max_size=96, box_score_thresh=0.0)
    torch.manual_seed(0)
    save_file(build(weights=None, weights_backbone=None, num_classes=91).state_dict(), tmp_path / "w.safetensors")
    entry = DETECTORS["maskrcnn"]
    small = dataclasses.replace(entry, make=partial(entry.make.func, build, WEIGHTS))
    detect = small.build({"weights": str(tmp_path / "w.safetensors"), "score": 0.01})
    check(detect(PICTURE), PICTURE.shape, WEIGHTS.meta["categories"])


def test_refusals(file, tmp_path):
    entry = DETECTORS["ssdlite"]
    with pytest.raises(UserError, match="cannot be used for this detector"):
        DETECTORS["fasterrcnn"].build({"weights": str(file)})
    torch.save([1], tmp_path / "list.pt")
    for name, content, words in (
        ("a.pth", b"nothing", "cannot be used for this detector"),
        ("b.safetensors", b"nothing", "cannot be used for this detector"),
        ("list.pt", None, "cannot be used for this detector"),
        ("none.pth", None, "no weights file"),
        ("c.zip", b"", "must end in"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=words):
            entry.build({"weights": str(tmp_path / name)})
    with pytest.raises(ParameterError):
        entry.build({"score": 0})
    detect = entry.build({"weights": str(file)})
    for picture in (PICTURE.astype(float), PICTURE[..., 0], PICTURE[:0]):
        with pytest.raises(UserError, match="uint8"):
            detect(picture)


def test_a_detector_of_transformers(tmp_path):
    import transformers

    torch.manual_seed(0)
    config = transformers.YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=[64, 64],
        num_detection_tokens=5,
        id2label={0: "N/A", 1: "dog", 2: "sofa"},
        initializer_range=0.5,
    )
    net = transformers.YolosForObjectDetection(config)
    net.class_labels_classifier.layers[-1].bias.data += torch.tensor([0.0, 4.0, 4.0, 0.0])
    net.save_pretrained(tmp_path)
    transformers.YolosImageProcessor(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(tmp_path)
    found = DETECTORS["transformers"].build({"weights": str(tmp_path), "score": 0.01})(PICTURE)
    check(found, PICTURE.shape, ["dog", "couch"])
    assert found.names
    config.save_pretrained(tmp_path / "bare")
    with pytest.raises(UserError, match="could not be loaded"):
        DETECTORS["transformers"].build({"weights": str(tmp_path / "bare")})


def test_without_transformers_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)  # as Python treats a library that is not there
    with pytest.raises(UserError, match="pip install transformers"):
        DETECTORS["transformers"].build({})


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


def test_refusals_of_a_box(image):
    for classes in ((), ("dog", " ")):
        with pytest.raises(UserError, match="classes with names"):
            class_embeddings(Colours(), classes)
    with pytest.raises(UserError, match="one embedding per class"):
        name_box(Colours(), image, (0, 0, 9, 9), COLOURS, torch.eye(2))
    with pytest.raises(UserError, match="top 0"):
        name_box(Colours(), image, (0, 0, 9, 9), COLOURS, torch.eye(3), top=0)
    with pytest.raises(UserError, match="uint8"):
        name_box(Colours(), image / 255, (0, 0, 9, 9), COLOURS, torch.eye(3))
