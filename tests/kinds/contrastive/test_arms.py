"""Arms: the batch of a step in parts, each an optimizer step of its own; the mean cosine, and the processor time."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.kinds.contrastive.test_methods import CLASSES, CPU, FEATURES, arm_of, made, views
from tests.kinds.contrastive.test_run import (
    SMALL,
    after_a_step,
    again,
    assert_equal,
    assert_none_is_kept,
    assert_same_bits,
    finished,
    in_second_stage,
    run,
    tensors,
)
from tests.metrics.slow_representation import mean_cosine
from tests.training.batches import next_batch
from trainers.kinds.contrastive.arm import MethodArm
from trainers.kinds.contrastive.batches import ViewBatch
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.diagnosis import diagnosis
from trainers.kinds.contrastive.footprint import footprint
from trainers.kinds.contrastive.measures import MEASURES
from trainers.kinds.contrastive.methods import METHODS, Views
from trainers.parameters import Choice
from trainers.training.arm import NonFiniteLossError
from trainers.training.stage import Stage


@pytest.mark.parametrize(
    ("count", "size", "sizes"),
    [
        (8, None, [8]),
        (8, 8, [8]),
        (8, 9, [8]),
        (8, 4, [4, 4]),
        (10, 4, [4, 4, 2]),
        (9, 4, [4, 5]),  # a rest of one image joins the part before it
        (3, 2, [3]),
        (1, None, [1]),
        (1, 2, [1]),
    ],
)
def test_parts_of_a_batch(count: int, size: int | None, sizes: list[int]) -> None:
    whole = Views(
        images=(torch.rand(count, 1, 2, 2), torch.rand(count, 1, 2, 2)),
        labels=torch.arange(count) % 2,
        rows=torch.arange(count) + 100,
    )
    parts = whole.parts(size)
    assert [len(part.rows) for part in parts] == sizes
    assert torch.equal(torch.cat([part.rows for part in parts]), whole.rows)
    assert torch.equal(torch.cat([part.labels for part in parts]), whole.labels)
    for number, view in enumerate(whole.images):
        assert torch.equal(torch.cat([part.images[number] for part in parts]), view)
    unlabelled = Views(images=whole.images, labels=None, rows=whole.rows)
    assert all(part.labels is None for part in unlabelled.parts(size))


WITH_CLASSIFIER = [("cross_entropy", {}), ("max_margin", {}), ("supcon", {"joint": True})]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [*((name, {}) for name in METHODS if name not in ("cross_entropy", "max_margin")), *WITH_CLASSIFIER],
)
def test_parts_are_a_hand_written_loop_of_sgd_steps(name: str, parameters: dict[str, object]) -> None:
    """Ten images in parts of 4, 4 and 2; rates of 0.4, 0.4 and 0.2 of the step's; numbers are means over images.

    A queue and its key encoder move with every part.
    """
    arm = MethodArm(0, "", made(name, batch=4, **parameters), nn.Linear(FEATURES, CLASSES), 7, CPU)
    slow, classifier = copy.deepcopy(arm.method), copy.deepcopy(arm.classifier)
    arm.begin(Stage.of(ContrastiveConfig(learning_rate=0.5, momentum=0.9, weight_decay=1e-2)))
    weights = [weight for weight in slow.parameters() if weight.requires_grad]
    if slow.classifier != "after":
        weights += list(classifier.parameters())
    optimiser = torch.optim.SGD(weights, lr=0.5, momentum=0.9, weight_decay=1e-2)
    for step in range(2):
        given = views(slow, count=10, first=10 * step)
        torch.manual_seed(step)
        scalars = arm.step(
            ViewBatch(view=given.images.__getitem__, labels=given.labels, rows=given.rows, step=step), 0.8
        )
        torch.manual_seed(step)
        means: dict[str, float] = {}
        for first, last in ((0, 4), (4, 8), (8, 10)):
            part = Views(
                images=tuple(view[first:last] for view in given.images),
                labels=given.labels[first:last],
                rows=given.rows[first:last],
            )
            loss, found = _slow_loss(slow, classifier, part)
            optimiser.param_groups[0]["lr"] = 0.5 * 0.8 * (last - first) / 10
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            for key, value in {"loss": loss.item(), **found}.items():
                means[key] = means.get(key, 0.0) + value * (last - first) / 10
        assert scalars["examples"] == 10 * slow.views
        assert set(means) <= set(scalars)
        for key, value in means.items():
            assert float(scalars[key]) == pytest.approx(value, rel=1e-5, abs=1e-7), key
    for key, value in slow.state_dict().items():
        assert torch.allclose(arm.method.state_dict()[key], value, rtol=1e-6, atol=1e-7), key
    assert torch.allclose(arm.classifier.weight, classifier.weight, rtol=1e-6, atol=1e-7)


def _slow_loss(method: nn.Module, classifier: nn.Linear, part: Views) -> tuple[torch.Tensor, Mapping[str, float]]:
    """The loss by the definitions of the classifiers, and the numbers that stand beside it."""
    if method.classifier == "through":
        logits = classifier(method.encoder(part.images[0]))
        found = {"batch_accuracy": float((logits.argmax(1) == part.labels).float().mean())}
        own = functional.multi_margin_loss if isinstance(method, METHODS["max_margin"].module) else None
        return (own or functional.cross_entropy)(logits, part.labels), found
    outcome = method(part)
    loss, found = outcome.terms["contrast"], {key: float(value) for key, value in outcome.numbers.items()}
    if method.classifier == "beside":
        with torch.no_grad():
            features = method.encoder(part.images[0])
        logits = classifier(features)
        found["batch_accuracy"] = float((logits.argmax(1) == part.labels).float().mean())
        loss = loss + functional.cross_entropy(logits, part.labels)
    return loss, found


def test_arms_see_the_same_images_in_smaller_batches(tmp_path: Path, images: Path) -> None:
    """Hooks note what the encoders are called with: the same views, cut where the parts end."""
    loop = run(tmp_path, images, *(Choice(name="end_to_end", parameters={"batch": size}) for size in (8, 4, 2)))
    seen: list[list[torch.Tensor]] = [[] for _ in loop.arms]
    for arm, kept in zip(loop.arms, seen, strict=True):
        arm.method.net.register_forward_pre_hook(lambda _net, inputs, kept=kept: kept.append(inputs[0].clone()))
    loop.take_step()
    assert [[len(part) for part in kept[::2]] for kept in seen] == [[8], [4, 4], [2, 2, 2, 2]]
    for kept in seen[1:]:
        assert torch.equal(torch.cat(kept[::2]), seen[0][0])  # queries; keys come in another order


def test_a_part_that_is_no_number_is_named_and_nothing_of_its_step_is_kept(tmp_path: Path, images: Path) -> None:
    """The first part's step at an absurd rate makes the second part's loss no number, within one step."""
    method = Choice(name="moco_v2", parameters={**SMALL, "batch": 4})
    loop = after_a_step(run(tmp_path, images, method, learning_rate=0.06))
    kept = tensors(loop)
    whole = run(tmp_path, images, method, learning_rate=0.06)
    whole.take_step()
    row = int(next_batch(whole).rows[4])
    loop.arms[0].optimizer.rates = [1e30]
    with pytest.raises(NonFiniteLossError, match=rf"in step 2\. The batch held 4 images, .* rows {row}, "):
        loop.take_step()
    assert_same_bits(assert_none_is_kept(loop, kept, rf"rows {row}, "), whole)


def test_the_second_stage_is_trained_on_whole_batches_and_calls_no_arm_that_waits(tmp_path: Path, images: Path) -> None:
    methods = [Choice(name=name, parameters={"batch": 4}) for name in ("simclr", "cross_entropy")]
    loop = in_second_stage(run(tmp_path, images, *methods))
    assert [arm.waits for arm in loop.arms] == [False, True]
    called: list[list[int]] = [[], []]
    for arm, sizes in zip(loop.arms, called, strict=True):
        arm.encoder.register_forward_pre_hook(lambda _net, inputs, sizes=sizes: sizes.append(len(inputs[0])))
    before = tensors(loop, 1)
    loop.take_step()
    assert called == [[8], []]
    assert_equal(tensors(loop, 1), before)
    known = finished(loop)
    steps = [[each.step for each in loop.folder.scalars() if (each.arm, each.key) == (arm, "loss")] for arm in (0, 1)]
    assert max(steps[0]) == 9 and max(steps[1]) == 6
    assert {(arm, "test/classifier_accuracy") for arm in (0, 1)} <= known.keys()


def test_the_diagnosis_and_the_estimate_know_the_batch_of_a_method() -> None:
    def config(size: int | None) -> ContrastiveConfig:
        return ContrastiveConfig(methods=(Choice(name="simclr", parameters={"batch": size}),), batch=256)

    guessing = {"loss": 4.14, "term/contrast": 4.14}  # log(63) = 4.143, log(511) = 6.24
    assert any("log(63)" in sentence for sentence in diagnosis(config(32), 0, guessing))
    assert not any("that of guessing" in sentence for sentence in diagnosis(config(None), 0, guessing))
    whole, part = (footprint(config(size)) for size in (None, 32))
    assert footprint(config(256)) == whole
    assert part.activations < whole.activations / 2 and part.pairs == whole.pairs // 64


# -------------------------------------------------- what an arm tells of its steps


def step(arm: MethodArm, seconds: float = 0.0) -> dict[str, torch.Tensor | float]:
    given = views(arm.method, count=10)
    return arm.step(
        ViewBatch(
            view=given.images.__getitem__, labels=given.labels, rows=given.rows, step=0, seconds=lambda _view: seconds
        ),
        1.0,
    )


@pytest.mark.parametrize("name", METHODS)
def test_the_mean_cosine_is_that_of_the_first_views_projections(name: str) -> None:
    arm = arm_of(name)
    projected: list[torch.Tensor] = []
    arm.method.net.register_forward_hook(lambda _net, _inputs, output: projected.append(output.detach()))
    found = step(arm)
    if name in ("cross_entropy", "max_margin"):  # they have no projection
        assert "projection_cosine" not in found
    else:
        assert float(found["projection_cosine"]) == pytest.approx(mean_cosine(projected[0][:10]), abs=1e-5)


def test_each_arm_is_charged_for_the_views_that_it_takes() -> None:
    """They are made once for all arms, by the first that asks."""
    supcon, cross_entropy = arm_of("supcon"), arm_of("cross_entropy")
    for arm in (supcon, cross_entropy):
        step(arm, seconds=1000.0)
    assert 2000 <= supcon.processor_seconds < 2900 and 1000 <= cross_entropy.processor_seconds < 1900


def test_processor_time_goes_on_after_a_resume_and_is_told_at_the_end(tmp_path: Path, images: Path) -> None:
    cut = after_a_step(run(tmp_path, images, Choice(name="supcon"), Choice(name="cross_entropy")))
    for arm in cut.arms:
        assert arm.processor_seconds > 0
        arm.processor_seconds += 500.0 * (arm.index + 1)
    spent = [arm.processor_seconds for arm in cut.arms]
    cut.checkpoint()
    opened = again(cut)
    assert [arm.processor_seconds for arm in opened.arms] == spent
    known = finished(opened)
    assert all(known[arm, "test/processor_seconds"] > spent[arm] for arm in range(2))
    assert "processor_seconds 5" in "\n".join(MEASURES.last_lines(opened.folder.scalars(), ["a", "b"]).splitlines())
