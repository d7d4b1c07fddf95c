"""Detectors from local weights, with random ones: what comes out is well formed, what is wrong is said."""

from __future__ import annotations

import dataclasses
import sys
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torchvision.models import detection

from trainers.errors import ParameterError, UserError
from trainers.object_removal.detectors import DETECTORS
from trainers.object_removal.detectors.base import DetectorDescriptor, Raw
from trainers.object_removal.detectors.torchvision_models import TorchvisionParameters, cached

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
    entry = DetectorDescriptor(
        name="said",
        title="said",
        sentence="",
        paper="",
        parameters=TorchvisionParameters,
        make=lambda _: lambda _: raw,
        missing=lambda _: None,
    )
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


def test_refusals(file, tmp_path, monkeypatch):
    entry = DETECTORS["ssdlite"]
    with pytest.raises(UserError, match="cannot be used for this detector"):
        DETECTORS["fasterrcnn"].build({"weights": str(file)})
    for name, content in (("a.pth", b"nothing"), ("b.safetensors", b"nothing")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match="cannot be used for this detector"):
            entry.build({"weights": str(tmp_path / name)})
    torch.save([1], tmp_path / "list.pt")
    with pytest.raises(UserError, match="cannot be used for this detector"):
        entry.build({"weights": str(tmp_path / "list.pt")})
    with pytest.raises(UserError, match="no weights file"):
        entry.build({"weights": str(tmp_path / "none.pth")})
    (tmp_path / "c.zip").write_bytes(b"")
    with pytest.raises(UserError, match="must end in"):
        entry.build({"weights": str(tmp_path / "c.zip")})
    with pytest.raises(ParameterError):
        entry.build({"score": 0})
    detect = entry.build({"weights": str(file)})
    for picture in (PICTURE.astype(float), PICTURE[..., 0], PICTURE[:0]):
        with pytest.raises(UserError, match="uint8"):
            detect(picture)
    monkeypatch.setenv("RANKSCOPE_FOLDERS", "off")
    with pytest.raises(UserError, match="RANKSCOPE_FOLDERS"):
        entry.build({"weights": str(file)})


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
