"""Encoders of images by one loader: those of runs of every kind, of exported files and of image-text models."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from trainers.cli.main import main
from trainers.errors import UserError
from trainers.image_text.encoding import encode_images
from trainers.kinds import kind_of
from trainers.parameters import Choice
from trainers.progress import silent
from trainers.retrieval.encoders import encoders_of, encoders_of_run
from trainers.retrieval.galleries import Datasets
from trainers.retrieval.results import Query, RunArm
from trainers.retrieval.retriever import Retriever
from trainers.retrieval.vectors import gallery_vectors, stored_vectors
from trainers.runs import RunFolder
from trainers.training.encoder_file import RunEncoders

PIXELS = torch.randint(0, 256, (4, 3, 24, 24), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", ["run", "contrastive_run"])
def test_an_exported_file_embeds_as_the_runs_features(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder: RunFolder = request.getfixturevalue(kind)
    path = tmp_path / "encoder.safetensors"
    RunEncoders(folder).write(1, path)
    of_run = encoders_of(folder.id, folder.path.parent).read(1)
    network = copy.deepcopy(of_run.network)
    network.without_head()  # type: ignore[operator]
    expected = torch.nn.functional.normalize(network(PIXELS.float() / 255), dim=1)
    of_file = encoders_of(str(path), tmp_path)
    assert of_file.titles == ("encoder",) and of_file.data is None
    assert torch.allclose(of_file.read(0).embed(PIXELS), expected, atol=1e-5)


def test_an_arm_of_a_fine_tuning_is_its_image_tower(finetuned: RunFolder) -> None:
    encoders = encoders_of_run(finetuned)
    assert len(encoders.titles) == 2 and encoders.data == finetuned.config.scenes  # type: ignore[attr-defined]
    encoder = encoders.read(1)
    images = torch.randint(0, 256, (3, 3, encoder.side, encoder.side), dtype=torch.uint8)
    model = encoder.network
    assert torch.allclose(encoder.embed(images), encode_images(model, images), atol=1e-5)  # type: ignore[arg-type]


def test_a_fine_tunings_maps_can_be_searched(finetuned: RunFolder) -> None:
    gallery = Retriever().gallery(finetuned, Choice(name="probe"))
    assert len(gallery) == len(finetuned.probe().rows)  # type: ignore[union-attr]
    stored = stored_vectors(finetuned, 0, gallery, None)
    assert stored is not None
    made = gallery_vectors(encoders_of_run(finetuned).read(0), gallery)
    assert np.allclose(made.rows, stored[0].rows, atol=2e-3), "the images on the maps, in their order"
    arms = [RunArm(folder=finetuned, arm=arm) for arm in range(2)]
    answer = Retriever().retrieve(arms, Query(row=1), Choice(name="probe"), k=3)
    assert all(arm.error is None and len(arm.final.results) == 3 for arm in answer.arms)  # type: ignore[union-attr]


def test_the_images_of_a_fine_tuning_come_at_any_size(finetuned: RunFolder) -> None:
    images = kind_of(finetuned.config).images(finetuned.config)
    gallery = Retriever().gallery(finetuned, Choice(name="probe"))
    assert gallery.images(3, images.image_size + 8)[0].shape[-1] == images.image_size + 8
    assert len(Datasets().load(images, silent).test) == len(gallery)
    with pytest.raises(UserError, match="the images on its maps"):
        Retriever().gallery(finetuned, Choice(name="train"))


def test_the_verb_background_measures_all_of_them(
    run: RunFolder, finetuned: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "encoder.safetensors"
    RunEncoders(run).write(0, path)
    drawn = ("--data", "drawn_scenes:train=50,val=0,test=40", "--queries", "10")
    assert main(["background", str(path), "vsepp:dim=16,width=4,words=16,side=32", *drawn]) == 0
    assert capsys.readouterr().out.count("background alone, R@1") == 2
    assert main(["background", finetuned.id, "--runs", str(finetuned.path.parent), "--queries", "10"]) == 0
    assert "10 queries" in capsys.readouterr().out
    assert main(["background", str(path)]) == 1
    assert "Name a dataset" in capsys.readouterr().err


def test_what_is_no_exported_file_is_refused(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "image.png")
    (tmp_path / "image.png").rename(tmp_path / "x.safetensors")
    with pytest.raises(UserError, match="cannot be read as a safetensors file"):
        encoders_of(str(tmp_path / "x.safetensors"), tmp_path).read(0)
