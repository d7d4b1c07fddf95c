"""Runs of the contrastive kind on real image files: stages, resuming to the bit, images without classes, bad input."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.tiny import tiny_contrastive
from tests.training.batches import next_batch
from tests.training.reopened import reopened
from trainers.cli.main import main
from trainers.encoders.norms import SplitBatchNorm
from trainers.errors import RunError, UserError
from trainers.kinds import KINDS, diagnoses, kind_of
from trainers.kinds.contrastive.diagnosis import short_of_an_epoch
from trainers.kinds.contrastive.loop import ContrastiveLoop
from trainers.metrics.catalogue import counts
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.records import RunState
from trainers.training.arm import NonFiniteLossError

EPOCH = 5
"""Steps of an epoch: 40 of the images are trained on, 8 in a batch."""
SMALL = {"queue": 12, "momentum": 0.9}


def run(root: Path, source: Path, *methods: Choice, **changes: object) -> ContrastiveLoop:
    methods = methods or (Choice(name="moco_v2", parameters=SMALL), Choice(name="supcon"))
    few = {"steps": 6, "head_steps": 3, "snapshot_steps": 4}
    return ContrastiveLoop(RunFolder.create(root, tiny_contrastive(source, *methods, **(few | changes))))


def numbers(loop: ContrastiveLoop) -> dict[tuple[int, str], float]:
    return {(each.arm, each.key): each.value for each in loop.folder.scalars()}


def finished(loop: ContrastiveLoop) -> dict[tuple[int, str], float]:
    """The numbers of a run that is trained to its end."""
    while loop.advance(60):
        pass
    loop.finish()
    return numbers(loop)


def again(loop: ContrastiveLoop) -> ContrastiveLoop:
    """The run, opened anew from its folder."""
    return ContrastiveLoop(RunFolder.open(loop.folder.path.parent, loop.folder.id))


def after_a_step(loop: ContrastiveLoop) -> ContrastiveLoop:
    """The run after its first step, which is kept."""
    loop.advance(0)
    loop.take_step()
    loop.checkpoint()
    return loop


def in_second_stage(loop: ContrastiveLoop) -> ContrastiveLoop:
    loop.advance(0)
    while loop.step < (loop.stages[0].steps or 0):
        loop.take_step()
    loop.begin_next_stage()
    return loop


def tensors(loop: ContrastiveLoop, arm: int = 0) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in loop.arms[arm].tensors().items()}


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def assert_none_is_kept(loop: ContrastiveLoop, kept: dict[str, torch.Tensor], words: str) -> ContrastiveLoop:
    """After a step that is no number nothing can be written any more; the run that goes on from the good step."""
    for attempt in (loop.take_step, loop.checkpoint, loop.snapshot):
        with pytest.raises(NonFiniteLossError, match=words):
            attempt()
    opened = again(loop)
    assert opened.step == 1
    assert_equal(tensors(opened), kept)
    return opened


def loose(folder: Path, count: int) -> Path:
    """Write images without classes, none like another."""
    folder.mkdir()
    draws = np.random.default_rng(0)
    for number in range(count):
        Image.fromarray(draws.integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    return folder


def test_both_stages_end_with_numbers_of_the_whole_test_set(tmp_path: Path, images: Path) -> None:
    loop = run(tmp_path, images)
    known = finished(loop)
    assert loop.step == 9 and [stage.steps for stage in loop.stages] == [6, 3]
    for arm in range(2):
        for key in ("knn_accuracy", "probe_accuracy", "R_at_1", "effective_rank", "uniformity", "classifier_accuracy"):
            assert np.isfinite(known[arm, f"test/{key}"]), key
        assert 0 <= known[arm, "alignment"] <= 4
    assert known[0, "queue_filled"] == 1.0 and -1 <= known[0, "dictionary_agreement"] <= 1
    assert (1, "queue_filled") not in known
    similar, ages = (
        [known[0, f"{key}/{group} of 8"] for group in range(1, 7)] for key in ("queue_similarity", "queue_age")
    )
    assert (0, "queue_age/7 of 8") not in known  # 12 keys in groups of two
    assert ages == [0.0] * 4 + [1.0] * 2  # batches of 8, the last one whole
    assert np.isclose(np.mean(similar), known[0, "dictionary_agreement"], atol=1e-6)
    assert 0 <= known[0, "key_variance"] <= 1
    assert known[0, "term/classifier"] > 0 and known[0, "term/contrast"] > 0  # one of each stage


RESUMED = {
    "moco_v2": ([Choice(name="moco_v2", parameters={**SMALL, "positives": 2})], {"batch": 7}),
    "memory_bank": ([Choice(name="memory_bank", parameters={"negatives": 12})], {"batch": 7}),
    "supcon_queue": ([Choice(name="supcon_queue", parameters={**SMALL, "joint": True})], {"batch": 7}),
    "end_to_end": ([Choice(name="end_to_end", parameters={"sharing": "separate"})], {"batch": 7}),
    "max_margin": ([Choice(name="max_margin")], {"batch": 7}),
    "chunks": ([], {"chunk": 3}),
    # 4 and 3, 3 and 4 (a rest of one image), and 2, 2 and 3
    "parts": (
        [
            Choice(name="moco_v2", parameters={**SMALL, "batch": 4}),
            Choice(name="supcon", parameters={"batch": 3, "joint": True}),
            Choice(name="cross_entropy", parameters={"batch": 2}),
        ],
        {"batch": 7},
    ),
}


def assert_same_bits(*loops: ContrastiveLoop) -> None:
    """Train two runs to their end, and compare their last checkpoints."""
    for loop in loops:
        while loop.advance(60):
            pass
        assert loop.step == 9
        loop.checkpoint()
    assert_equal(*((loop.folder.read_checkpoint() or ({}, {}))[0] for loop in loops))


@pytest.mark.parametrize(("methods", "changes"), RESUMED.values(), ids=RESUMED)
def test_a_run_resumes_to_the_same_bits(tmp_path: Path, images: Path, methods: list[Choice], changes: dict) -> None:
    whole, cut = (run(tmp_path, images, *methods, **changes) for _ in range(2))
    assert_same_bits(whole, reopened(cut))


def test_the_second_stage_resumes_to_the_same_bits(tmp_path: Path, images: Path) -> None:
    whole, cut = (run(tmp_path, images) for _ in range(2))
    in_second_stage(cut).take_step()
    cut.checkpoint()
    cut.take_step()
    opened = again(cut)
    assert opened.step == 7 and opened.stage.networks == ("classifier",)
    assert_same_bits(whole, opened)


def test_images_without_classes_are_trained_on_and_not_scored_by_class(tmp_path: Path) -> None:
    loop = run(tmp_path / "runs", loose(tmp_path / "loose", 30), Choice(name="simclr"))
    known = finished(loop)
    assert len(loop.stages) == 1 and loop.arms[0].classifier is None
    assert (0, "test/uniformity") in known and not any("knn" in key or "R_at" in key for _, key in known)


@pytest.mark.parametrize(
    ("count", "method", "words"),
    [
        (6, "supcon", "SupCon needs the class of every image"),
        (3, "simclr", "At least 4 images"),
        (48, "moco_v2", "The queue holds 65,536 keys and there are"),
    ],
)
def test_images_that_a_method_cannot_be_trained_on(tmp_path: Path, count: int, method: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        run(tmp_path / "runs", loose(tmp_path / "loose", count), Choice(name=method))


def test_a_batch_larger_than_the_dataset_takes_all(tmp_path: Path, images: Path) -> None:
    loop = run(tmp_path, images, Choice(name="simclr"), batch=4096, head_steps=0, steps=2)
    assert not loop.advance(60)
    assert loop.step == 2 and len(loop.stages) == 1
    assert {s.value for s in loop.folder.scalars() if s.key == counts.EPOCHS} == {2.0}  # a batch an epoch


@pytest.mark.parametrize(
    "method",
    [Choice(name="moco_v2", parameters=SMALL), Choice(name="memory_bank", parameters={"negatives": 12})],
    ids=lambda choice: choice.name,
)
def test_keys_of_a_bad_step_are_never_kept(tmp_path: Path, images: Path, method: Choice) -> None:
    loop = after_a_step(run(tmp_path, images, method))
    kept = tensors(loop)
    with torch.no_grad():
        next(iter(loop.arms[0].encoder.parameters())).fill_(float("nan"))
    assert_none_is_kept(loop, kept, "stopped being a number").take_step()


def scored_classifiers(loop: ContrastiveLoop) -> set[int]:
    """The arms whose classifier is scored by now."""
    loop.snapshot()
    loop.checkpoint()
    return {s.arm for s in loop.folder.scalars() if s.step == loop.step and s.key == "classifier_accuracy"}


def test_a_joint_classifier_ends_with_the_first_stage(tmp_path: Path, images: Path) -> None:
    methods = [Choice(name="supcon", parameters={"joint": joint}) for joint in (False, True)]
    loop = in_second_stage(run(tmp_path, images, *methods))
    before = loop.arms[1].classifier.weight.detach().clone()
    assert scored_classifiers(loop) == {1}
    new = loop.arms[0].classifier.weight.detach().clone()
    loop.take_step()
    assert scored_classifiers(loop) == {0, 1}
    assert torch.equal(loop.arms[1].classifier.weight, before) and not torch.equal(loop.arms[0].classifier.weight, new)


def test_labels_are_on_the_host(tmp_path: Path, images: Path) -> None:
    batch = next_batch(run(tmp_path, images))
    assert batch.labels is not None and batch.labels.device == batch.rows.device == torch.device("cpu")


def test_views_encoded_together_are_normalised_over_the_whole_batch(tmp_path: Path, images: Path) -> None:
    """Image n and its other view, place n + N, would be in one group and know each other by its statistics."""
    methods = [Choice(name="simclr"), Choice(name="supcon"), Choice(name="moco_v2", parameters=SMALL)]
    split = [
        any(isinstance(part, SplitBatchNorm) for part in arm.encoder.modules())
        for arm in run(tmp_path, images, *methods).arms
    ]
    assert split == [False, False, True]
    arms = run(tmp_path, images, *methods, norm="layer").arms
    assert not any(hasattr(part, "running_mean") for arm in arms for part in arm.encoder.modules())


def test_groups_of_the_batch_are_of_a_chunk_where_there_are_chunks(tmp_path: Path, images: Path) -> None:
    net = run(tmp_path, images, chunk=3).arms[0].networks["method"]
    assert {part.splits for part in net.modules() if isinstance(part, SplitBatchNorm)} == {1}  # two, by three chunks


def test_a_dataset_to_transfer_to_is_read_before_training(tmp_path: Path, images: Path) -> None:
    with pytest.raises(UserError, match="Transfer needs a dataset with classes"):
        run(tmp_path / "runs", images, Choice(name="simclr"), transfer=str(loose(tmp_path / "loose", 6)))
    with pytest.raises(UserError, match="nowhere' does not exist"):
        run(tmp_path / "runs", images, Choice(name="simclr"), transfer=str(tmp_path / "nowhere"))


def test_what_was_measured_stays_when_the_other_dataset_is_gone_at_the_end(tmp_path: Path, images: Path) -> None:
    other = Path(shutil.copytree(images, tmp_path / "other"))
    loop = run(tmp_path / "runs", images, Choice(name="simclr"), transfer=str(other), steps=2, head_steps=0)
    assert not loop.advance(60)
    shutil.rmtree(other)
    with pytest.raises(UserError, match="other' does not exist"):
        loop.finish()
    assert (0, "test/knn_accuracy") in numbers(loop)
    shutil.copytree(images, other)
    opened, told = again(loop), []
    opened.finish(lambda _text, fraction: told.append(fraction))
    keys = [each.key for each in opened.folder.scalars()]
    assert keys.count("test/knn_accuracy") == keys.count("test/transfer_accuracy") == 1
    assert 0 <= numbers(opened)[0, "test/transfer_accuracy"] <= 1
    assert told and all(0 <= fraction <= 1 for fraction in told)


def test_a_run_whose_images_changed_says_so(tmp_path: Path, images: Path) -> None:
    """The queue knows its keys by their rows, which mean other images now, or none."""
    path = Path(shutil.copytree(images, tmp_path / "own"))
    loop = after_a_step(run(tmp_path / "runs", path))
    next(path.rglob("*.png")).unlink()
    with pytest.raises(RunError, match=r"has been trained on \d+ images, and now there are \d+\. Restore"):
        again(loop)


@pytest.mark.parametrize("damage", [{"last_snapshot": 5}, {"stage": [9, 0, 0]}, {"stage": [0, "a", None]}])
def test_a_checkpoint_that_does_not_fit_says_what_to_do(
    tmp_path: Path, images: Path, damage: dict[str, object]
) -> None:
    loop = run(tmp_path, images)
    loop.advance(0)
    loop.checkpoint()
    tensors, about = loop.folder.read_checkpoint() or ({}, {})
    loop.folder.write_checkpoint(tensors, about | damage)
    with pytest.raises(RunError, match=r"does not fit its configuration and images \([^\n]*\). Restore"):
        again(loop)


def test_the_steps_planned_are_those_of_both_stages(tmp_path: Path, images: Path) -> None:
    loop = run(tmp_path, images, steps=6, head_steps=40)
    assert loop.planned_steps == 46
    in_second_stage(loop).take_step()
    assert loop.planned_steps == 46
    timed = run(tmp_path, images, steps=None, minutes=60.0, head_steps=40)
    assert timed.planned_steps is None
    timed.take_step()
    timed.seconds = 27.0  # one step in a hundredth of the three quarters of an hour of the first stage
    assert timed.planned_steps == 140


def test_steps_are_told_by_stage(tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = run(tmp_path, images)
    loop.advance(0)
    assert loop.how_far == "contrastive step 0 of about 6"
    kind = kind_of(loop.config)
    assert kind.budget(loop.config) == ["6 contrastive steps"]
    assert kind.by_stage(loop.folder) == "0 contrastive steps"
    in_second_stage(loop).take_step()
    assert loop.how_far == "classifier step 1 of about 3"
    loop.folder.db.set_state(RunState(phase="stopped", step=7, seconds=1.0))
    assert kind.by_stage(loop.folder) == "6 contrastive, 1 classifier steps"
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "6 contrastive, 1 classifier steps" in capsys.readouterr().out


@pytest.mark.parametrize(("steps", "short"), [(2, True), (6, False)])
def test_less_than_an_epoch_is_said_before_and_while_it_trains(
    tmp_path: Path, images: Path, steps: int, short: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, which reads the images before the run is made, and by the numbers of the run."""
    loop = run(tmp_path / "runs", images, steps=steps)
    loop.advance(0)
    sentence = short_of_an_epoch(steps / EPOCH)
    assert bool(sentence) == short
    for said in diagnoses(loop.config, loop.folder):
        assert (sentence in said) if short else not any("of an epoch" in told for told in said)
    small = "pretrain --image-size 16 --method simclr --encoder conv4:width=8 --batch 8 --splits 2 --probe-size 20"
    words = [*small.split(), "--head-steps", "1", "--steps", str(steps), "--threads", "1", "--data", str(images)]
    words += ["--held-out", "images"]
    assert main([*words, "--runs", str(tmp_path / "command")]) == 0
    assert (sentence in capsys.readouterr().err) if short else "of an epoch" not in capsys.readouterr().err
    half = KINDS["contrastive"].config(minutes=None, epochs=0.5)
    assert short_of_an_epoch(0.5) in kind_of(half).advice(half)
