"""Command lines and settings that cannot be meant: each ends in a sentence, and leaves no run folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny import tiny_config, write_images
from trainers.cli.main import main
from trainers.config import MAX_ARMS, Config, DataChoice
from trainers.errors import ParameterError
from trainers.kinds import KINDS, check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder

GONE = "0" * 26
TRAIN = (
    "train --steps 2 --classes-per-batch 4 --images-per-class 3 --encoder small_conv:width=8 --dim 16 --threads 1 "
    "--probe-size 20"
)
PRETRAIN = (
    "pretrain --steps 2 --batch 8 --splits 2 --head-steps 1 --method simclr --encoder conv4:width=8 --dim 8 "
    "--probe-size 20"
)
SWEEP = TRAIN.replace("train", "sweep", 1) + " --losses smooth_ap --seeds 0 1"
FAIR = TRAIN.replace("train", "fair", 1) + " --losses smooth_ap --seeds 1 --trials 2"
FINETUNE = "finetune --data drawn_scenes:train=60,val=20,test=20 --steps 2 --batch 8 --queries 10"

WRONG = (
    # images
    (TRAIN, "--data {here}/nowhere", "nowhere"),
    (TRAIN, "--data {here}/empty", "empty"),
    (TRAIN, "--data {here}/file.txt", "file.txt"),
    (TRAIN, "--data {images} --image-column picture", "picture"),
    (TRAIN, "--data {images} --label-columns size", "size"),
    (TRAIN, "--data {images} --train-split first", "first"),
    (TRAIN, "--data {images} --subset small", "small"),
    (TRAIN, "--data {images} --image-size 4", "image size from 8"),
    (TRAIN, "--data {images} --max-images 2", "At least 4 images"),
    (TRAIN, "--data drawn:height=3", "no parameter 'height'"),
    (TRAIN, "--data {images} --folds 99", "99 folds need 198 training classes"),
    (TRAIN, "--data {images} --folds 2 --fold 3", "fold from 1 to 2"),
    (TRAIN, "--data {images} --label-noise 0.5 --noise-kind within", ""),
    ("inspect drawn", "--label-noise nan", "label_noise needs a number from 0 to 1"),
    ("inspect drawn", "--max-images 0", "max_images needs a whole number from 1"),
    # losses, metrics, samplers, encoders
    (TRAIN, "--data {images} --losses magic", "There is no loss 'magic'"),
    ("train --steps 2", "--data {images} --losses magic", "There is no loss 'magic'"),  # with the encoder left out
    (TRAIN, "--data {images} --losses smoth_ap", "Did you mean 'smooth_ap'?"),
    (TRAIN, "--data {images} --losses supcon_out:temperature=-1", "temperature needs"),
    (TRAIN, "--data {images} --losses supcon_out:heat=1", "has no parameter 'heat'"),
    (TRAIN, "--data {images} --losses triplet:margin=1,margin=2", "'margin' is given twice"),
    (TRAIN, "--data {images} --losses smooth_ap --losses happier", "given once"),
    (TRAIN, "--data {images} --losses " + "smooth_ap " * 7, "one to 6 losses"),
    (TRAIN, "--data {images} --metrics R_at_100000", "R_at_100000"),
    (TRAIN, "--data {images} --sampler two_super_classes", "coarser level"),
    (TRAIN, "--data {images} --encoder timm:model=no_such_net", "not the name of a timm model"),
    (TRAIN, "--data {images} --encoder timm:model=resnet18.a1_in1k", "(45 MB): hf download timm/resnet18.a1_in1k"),
    (TRAIN, "--data {images} --augmentation rain", "no augmentation 'rain'; choose from none, light"),
    # the machine and the training
    (TRAIN, "--data {images} --device tpu", "device needs auto"),
    (TRAIN, "--data {images} --device cuda:99", "cuda:99 was asked for"),
    (TRAIN, "--data {images} --threads 10000", "threads needs a whole number from 1 to 256"),
    (TRAIN, "--data {images} --drops 0.9 0.1", "ascending order"),
    (TRAIN, "--data {images} --minutes nan", "minutes needs"),
    (TRAIN, "--data {images} --minutes none --steps none", "A run needs a budget"),
    (TRAIN, "--data {images} --start mine", "26 letters and digits"),
    (TRAIN, f"--data {{images}} --start {GONE}", GONE),
    (TRAIN, "--data {images} --preset magic", "There is no preset"),
    (TRAIN, "--data {images} --clasess-per-batch 3", "Did you mean '--classes-per-batch'?"),
    (TRAIN, "--data {images} --runs {here}/file.txt", "file.txt"),
    # pretraining
    ("pretrain --steps 2", "--data {images} --method magic", "magic"),
    ("pretrain --steps 2", "--data {images} --method simclr:batch=999", "larger than the batch of the run"),
    ("pretrain --steps 2", "--data {images} --method moco_v2:queue=4096", "queue"),
    (PRETRAIN, "--data {images} --transfer {here}/nowhere", "nowhere"),
    (PRETRAIN, "--data {images} --encoder timm_frozen:model=resnet18", "features that never change"),
    # fine-tuning
    (FINETUNE, "--recipes magic=1", "magic"),
    (FINETUNE, "--recipes ratio=0.1,ratio=0.2", "given twice"),
    (FINETUNE, "--model magic", "magic"),
    (FINETUNE, f"--start {GONE}", "cannot start from the encoder"),
    # sweeps and fair comparisons
    (SWEEP, "--data {images} --vary dim=8;16,dim=32", "'dim' is given twice"),
    (SWEEP, "--data {images} --vary dim=8;16 --vary seed=1", "given once"),
    (SWEEP, "--data {images} --vary magic=1", "there is no 'magic'"),
    (SWEEP, "--data {images} --vary max_images=100;2", "At least 4 images"),
    ("sweep --steps 2 --losses smooth_ap", "--data {images} --seeds 1 1", "each once"),
    (FAIR, "--data {images} --folds 99", "99 folds need 198 training classes"),
    (FAIR, "--data {images} --select-by magic", "magic"),
    (FAIR, "--data {images} --vary learning_rate=0.1", "searches the learning rate"),
    # verbs that train nothing
    ("list", "--runs {here}/file.txt", "is a file"),
    ("list", "--runs {here}/nowhere", "does not exist"),
    ("retrieve", f"{GONE} --row 0 --step -4", "counted from 0; got -4"),
    ("retrieve", f"{GONE} --row 0 --index flat:k=1", "no parameter 'k'"),
    ("mistakes", f"{GONE} --k 0", "at least 1"),
    ("export", GONE, GONE),
    ("resume", GONE, GONE),
    ("send", f"{GONE} stop", GONE),
    ("score", "--queries 0", "queries needs"),
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    write_images(folder / "images")
    (folder / "empty").mkdir()
    (folder / "file.txt").write_text("no folder", encoding="utf-8")
    return folder


@pytest.mark.parametrize(("verb", "flags", "sentence"), WRONG, ids=[f"{v.split()[0]} {f}"[:70] for v, f, _ in WRONG])
def test_it_is_refused_and_leaves_no_run(
    verb: str, flags: str, sentence: str, here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    words = f"{verb} {flags}".format(here=here, images=here / "images").split()
    place = [] if "--runs" in words or words[0] in ("score", "inspect") else ["--runs", str(runs)]
    try:
        status = main([*words, *place])
    except SystemExit as left:
        status = int(left.code or 0)
    said = capsys.readouterr().err
    assert status in (1, 2) and sentence in said and "Traceback" not in said, said
    assert not runs.exists() or not list(runs.iterdir())


def test_what_is_not_as_it_was_asked_for_is_said(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*TRAIN.split(), "--data", str(here / "images"), "--losses", "smooth_ap", "--runs", str(tmp_path)]
    assert main([*words, "--classes-per-batch", "2000", "--drops", "0.5", "--revision", "v1"]) == 0
    said = capsys.readouterr().err
    assert "8 classes, all there are to train on; 2000 were asked for" in said
    assert "Only the schedule step has drops, and it is cosine: drops change nothing." in said
    assert "Only datasets of the Hub have revisions: 'v1' changes nothing." in said


@pytest.mark.parametrize(
    ("verb", "settings", "heard"),
    [
        ("metric_learning", {}, 0),
        ("metric_learning", {"drops": (0.5,)}, 1),
        ("metric_learning", {"drops": (0.5,), "schedule": "step"}, 0),
        ("metric_learning", {"drops": (0.5,), "schedule": "step", "halve_every": 2.0}, 1),
        ("contrastive", {"drops": (0.5,)}, 1),
        ("finetuning", {"drops": (0.5,)}, 1),
        ("metric_learning", {"data": DataChoice(source="drawn", revision="v1")}, 1),
        ("contrastive", {"data": DataChoice(source="uoft-cs/cifar100", revision="v1")}, 0),
    ],
)
def test_settings_that_change_nothing_are_said(verb: str, settings: dict[str, Any], heard: int) -> None:
    kind = KINDS[verb]
    said = [sentence for sentence in kind.advice(kind.config(**settings)) if sentence.endswith("nothing.")]
    assert len(said) == heard


def test_a_setting_that_a_plan_makes_use_of_changes_something() -> None:
    config = SweepConfig(run=MetricLearningConfig(drops=(0.5,)), vary={"schedule": ["step"]})
    assert kind_of(config).advice(config) == []


def test_a_run_asked_for_more_threads_than_there_are_cores_takes_the_cores(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    config = tiny_config(here / "images", "smooth_ap", threads=256)
    kind_of(config).loop()(RunFolder.create(tmp_path, config))
    assert taken == [os.cpu_count()]


SIMCLR, FROZEN = Choice(name="simclr"), Choice(name="timm_frozen")
NO_CHECKPOINTING = "needs an encoder that can compute its activations again, as most timm"
NO_AUGMENTATION = r"images cannot be augmented; got the augmentation .* Choose none"
RANDOM_WEIGHTS = r"starts from random weights, as .* Give a run or a file to start from"
NO_ENCODER = r"its image tower is none of the encoders.*this one can: two_towers\."
HEAD_ALONE = {"encoder": FROZEN, "augmentation": Choice(name="none")}
INCEPTION = Choice(name="timm", parameters={"model": "inception_v3", "pretrained": False})

REFUSED: tuple[tuple[type[Config], dict[str, Any], str], ...] = (
    (MetricLearningConfig, {"losses": ()}, f"one to {MAX_ARMS} losses; got 0"),
    (MetricLearningConfig, {"encoder": Choice(name="eye")}, "no encoder 'eye'"),
    (MetricLearningConfig, {"encoder": Choice(name="conv4", parameters={"width": 1})}, "width needs"),
    (MetricLearningConfig, {"sampler": "dice"}, "no sampler 'dice'"),
    (MetricLearningConfig, {"steps": -3}, "steps needs"),
    (MetricLearningConfig, {"learning_rate": 500.0}, "learning_rate needs"),
    (MetricLearningConfig, {"classes_per_batch": 2.5}, "whole number"),
    (MetricLearningConfig, {"seed": True}, "seed needs"),
    (MetricLearningConfig, {"memory": -1}, "memory needs a whole number from 0 to 262144; got -1"),
    (MetricLearningConfig, {"optimiser": "magic"}, "optimiser needs one of adamw, adam, sgd, lars, rmsprop"),
    (MetricLearningConfig, {"momentum": 1.0}, "momentum needs a number from 0 to 0.9999"),
    (MetricLearningConfig, {"drops": (0.5, 1.5)}, "drops needs numbers from 0 to 1"),
    (MetricLearningConfig, {"clip_norm": 0.0}, r"clip_norm needs a number from 0\.001"),
    # chunks of a batch
    (MetricLearningConfig, {"classes_per_batch": 8, "chunk": 33}, "a batch has 32 images; got chunks of 33"),
    (ContrastiveConfig, {"methods": (SIMCLR,), "batch": 16, "chunk": 17}, "a batch has 16 images; got chunks of 17"),
    (FinetuningConfig, {"batch": 16, "chunk": 32}, "Choose at most 16, or leave it out"),
    (MetricLearningConfig, {"chunk": 1}, "A chunk needs two images or more"),
    (MetricLearningConfig, {"encoder": FROZEN, "chunk": 16}, "needs no chunks"),
    # activation checkpointing
    (MetricLearningConfig, {"checkpointing": True}, NO_CHECKPOINTING),
    (MetricLearningConfig, {"checkpointing": True, "encoder": FROZEN}, NO_CHECKPOINTING),
    (FinetuningConfig, {"checkpointing": True}, NO_CHECKPOINTING),
    (MetricLearningConfig, {"checkpointing": True, "encoder": INCEPTION}, "got timm model inception_v3"),
    # frozen batch norm and the rate of the backbone
    (MetricLearningConfig, {"frozen_norm": True}, RANDOM_WEIGHTS),
    (ContrastiveConfig, {"frozen_norm": True}, RANDOM_WEIGHTS),
    (ContrastiveConfig, {"frozen_norm": True, "norm": "group", "start": GONE}, "leaves no batch normalisation"),
    (MetricLearningConfig, {"frozen_norm": True, **HEAD_ALONE}, "trains its head alone"),
    (MetricLearningConfig, {"backbone_rate": 0.5, **HEAD_ALONE}, "trains its head alone"),
    (FinetuningConfig, {"frozen_norm": True}, NO_ENCODER),
    (FinetuningConfig, {"backbone_rate": 0.5}, NO_ENCODER),
    # features that are computed once
    (MetricLearningConfig, {"encoder": FROZEN, "augmentation": Choice(name="moco_v2")}, NO_AUGMENTATION),
    (
        MetricLearningConfig,
        {"encoder": FROZEN, "augmentation": Choice(name="light", parameters={"strength": 2.0})},
        NO_AUGMENTATION,
    ),
)


@pytest.mark.parametrize(("kind", "changes", "words"), REFUSED)
def test_it_is_said(kind: type[Config], changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        check(kind(**changes))


@pytest.mark.parametrize("name", ["light", "none"])
def test_the_augmentation_that_frozen_features_are_given_by_default_is_none(name: str) -> None:
    check(MetricLearningConfig(encoder=FROZEN, augmentation=Choice(name=name)))
