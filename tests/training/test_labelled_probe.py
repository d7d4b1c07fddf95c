"""Maps of training images: which images they are, what is known of them, and who reads them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from explorer.tabs.live.view import about
from tests.tiny import tiny_config, trained, write_images
from tests.training.reopened import numbers
from trainers.config import Conditions, DataChoice
from trainers.data import load_data
from trainers.errors import UserError
from trainers.kinds import KINDS
from trainers.retrieval.baseline import shared_images
from trainers.retrieval.encoders import read_encoder
from trainers.retrieval.galleries import GALLERIES, Datasets
from trainers.retrieval.galleries.base import origin
from trainers.retrieval.vectors import gallery_vectors, stored_vectors
from trainers.runs import RunFolder
from trainers.runs.probe import packed, unpacked


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """The same training with a wrong label on a quarter of the images, once with maps of test images; and one without
    noise."""
    home = tmp_path_factory.mktemp("noisy")
    images = write_images(home / "images", train=6, test=4, each=4, groups=2)
    plain = DataChoice(source=str(images), image_size=24)
    noisy = dataclasses.replace(plain, conditions=Conditions(label_noise=0.25, noise_kind="across"))
    config = tiny_config(images, "smooth_ap", steps=1, snapshot_steps=1, probe_size=16)
    made = {
        "train": dataclasses.replace(config, data=noisy, probe_of="train"),
        "test": dataclasses.replace(config, data=noisy),
        "clean": dataclasses.replace(config, data=plain, probe_of="train"),
    }
    return {name: trained(home / "runs", each) for name, each in made.items()}


def test_the_probe_is_of_training_images_with_true_and_given_labels(runs: dict[str, RunFolder]) -> None:
    folder = runs["train"]
    probe, data = folder.probe(), load_data(folder.config.data)
    assert probe is not None and probe.part == "train" and len(probe.rows) == 16
    rows = torch.from_numpy(probe.rows)
    assert (torch.from_numpy(probe.labels) == data.train.truth[rows]).all()
    noise, given = probe.attributes
    wrong = (data.train.labels != data.train.truth)[rows].any(1).numpy()
    assert (noise.name, noise.names, noise.ringed, noise.level) == ("label noise", ("kept", "changed"), 1, None)
    assert noise.values.astype(bool).tolist() == wrong.tolist() and wrong.any() and not wrong.all()
    assert given.level == 0 and given.names == probe.hierarchy.names[0] and given.ringed is None
    assert given.values.tolist() == data.train.labels[rows, 0].tolist()
    assert probe.notes[-1] == "The maps show training images; the numbers are of test images."
    again = unpacked(*packed(probe, 1))
    assert [again.part, *again.attributes[1].names] == ["train", *given.names] and again.attributes[0].ringed == 1
    assert "maps of training images" in KINDS["metric_learning"].details(folder.config)


def test_the_numbers_are_those_of_the_same_run_with_maps_of_test_images(runs: dict[str, RunFolder]) -> None:
    assert numbers(runs["train"]) == numbers(runs["test"]) != numbers(runs["clean"])
    test = runs["test"].probe()
    assert test is not None and test.part == "test" and test.attributes == ()
    assert '"part"' not in packed(test, 1)[1]["about"], "a probe of test images is stored as before"


def test_the_maps_are_of_the_embeddings_of_those_images(runs: dict[str, RunFolder]) -> None:
    folder, datasets = runs["train"], Datasets()
    gallery = GALLERIES["probe"].open(folder, None, datasets, lambda *_: None)
    assert gallery.part == "train" and gallery.title.startswith("16 training images of images, 25 % label noise")
    data = load_data(folder.config.data)
    assert torch.equal(gallery.images()[0], data.train.images[torch.from_numpy(gallery.rows)])
    stored = stored_vectors(folder, 0, gallery, None)
    assert stored is not None and stored[1] == 1
    encoder = read_encoder(folder, 0, lambda: (3, 24))
    assert np.abs(stored[0].rows - np.asarray(gallery_vectors(encoder, gallery).rows, np.float32)).max() < 2e-3


def test_a_gallery_of_training_images_has_their_true_labels_and_is_one_for_noise_and_none(
    runs: dict[str, RunFolder],
) -> None:
    noisy, clean = (
        GALLERIES["train"].open(runs[name], None, Datasets(), lambda *_: None) for name in ("train", "clean")
    )
    assert noisy.labels.tolist() == clean.labels.tolist()
    assert noisy.origin == clean.origin and noisy.images()[1] == clean.images()[1]
    choice = dataclasses.replace(clean.choice, conditions=Conditions(withheld_images=0.5, label_noise=0.2))
    assert origin(choice, "test") == origin(clean.choice, "test")
    assert origin(choice, "train") != origin(clean.choice, "train")
    assert origin(clean.choice, "test") != origin(
        dataclasses.replace(clean.choice, conditions=Conditions(folds=2)), "test"
    )


def test_runs_with_and_without_noise_share_their_images_and_other_parts_are_not_the_same(
    runs: dict[str, RunFolder],
) -> None:
    assert shared_images(runs["train"], runs["clean"]).whole
    with pytest.raises(UserError, match="maps of one show training images, and those of the other test images"):
        shared_images(runs["train"], runs["test"])


def test_the_page_gets_what_is_ringed_and_which_level_the_given_classes_are_of(runs: dict[str, RunFolder]) -> None:
    from explorer.server.run import Run

    told = about(Run(runs["train"]))["attributes"]
    assert [(one["name"], one.get("ringed"), one.get("level"), len(one["names"])) for one in told] == [
        ("label noise", 1, None, 2),
        ("given class", None, 0, 0),
    ]
