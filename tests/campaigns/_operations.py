"""Losses, metrics, steps and looks on a GPU against the CPU, for which the host must not wait."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tests.campaigns._device import Trial, away
from tests.contracts.test_encoders import OFFLINE
from tests.equivalence import DRAWING
from tests.test_fake_cuda import CLASSES, DIM, LABELS, TREE, VARIANTS, asked, built
from tests.training.test_device import image_set
from trainers.devices.precision import computing_in
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.batches import ImageBatches
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.evaluation import ProbeEvaluator
from trainers.kinds.metric_learning.loop import LossArm
from trainers.losses import LOSSES, LossModule
from trainers.losses._memory import give_memory
from trainers.metrics import evaluate
from trainers.metrics.counterfactual import counterfactual
from trainers.metrics.gap import decomposability_gap
from trainers.metrics.image_text import recall_both_ways
from trainers.metrics.representation import class_collapse, effective_rank, knn_accuracy, linear_probe, uniformity
from trainers.optimization import OPTIMISERS
from trainers.samplers import SAMPLERS
from trainers.training.stage import Stage

EXACT, SINGLE, SAME = 1e-11, 1e-3, 1e-12  # of losses in float64 and float32, and of metrics
LARGE = 256  # images of a batch beside the small ones


def losses(trial: Trial) -> None:
    """Values and gradients of every loss and variant."""
    draws = torch.Generator().manual_seed(0)
    large = torch.arange(LARGE) % 60
    sets = {**LABELS, "large": torch.stack([large, large // 3, large // 12], 1)}
    for variant, (name, parameters) in VARIANTS.items():
        for title, labels in sets.items():
            loss, count = LOSSES[name], int(labels.max()) + 1
            of_classes = sets["large"][:60] if title == "large" else TREE
            if name == "csl" or loss.level_proxies:
                labels = labels if labels.ndim == 2 else TREE[labels]
            torch.manual_seed(1)
            module = loss.build(num_classes=max(count, CLASSES), dim=DIM, class_labels=of_classes, **parameters)
            finest = labels.reshape(len(labels), -1)[:, 0]
            shape = (len(labels), loss.views, DIM) if loss.views > 1 else (len(labels), DIM)
            centres = torch.randn(int(finest.max()) + 1, *([1] * (len(shape) - 2)), DIM, generator=draws)
            rows = (centres[finest] + 0.7 * torch.randn(shape, generator=draws)).double()
            with trial.of("losses", f"{variant}, {title}") as failures:
                _compare_loss(trial, variant, module, rows, labels, failures)


def _compare_loss(
    trial: Trial, variant: str, module: LossModule, rows: Tensor, labels: Tensor, failures: list[str]
) -> None:
    want = _gradients(copy.deepcopy(module).double(), rows, labels)
    for dtype, most in ((torch.float64, EXACT), (torch.float32, SINGLE)):
        there = copy.deepcopy(module).to(trial.device, dtype)
        given = rows.to(trial.device, dtype)
        got = _gradients(there, given, labels)
        with trial.unwaited():
            _gradients(there, given, labels)
        if variant.partition(",")[0] in DRAWING and "as printed" not in variant:  # other random numbers on a GPU
            failures += ["a number is not finite"] * (not all(bool(torch.isfinite(part).all()) for part in got))
            continue
        kind = f"losses in {str(dtype).removeprefix('torch.')}"
        trial.error(kind, max(map(away, got, want)), most, failures)


def _gradients(module: LossModule, rows: Tensor, labels: Tensor) -> list[Tensor]:
    """The loss, the gradient of the embeddings and of each weight."""
    given = rows.detach().clone().requires_grad_()
    module.zero_grad()
    loss = module(given, labels)
    loss.backward()
    assert given.grad is not None
    return [loss, given.grad, *(weight.grad for weight in module.parameters() if weight.grad is not None)]


def memories(trial: Trial) -> None:
    """Losses over a memory that fills and turns round."""
    labels = LABELS["three levels"]
    for name, loss in LOSSES.items():
        if not loss.gallery:
            continue
        with trial.of("losses with a memory", name) as failures:
            torch.manual_seed(1)
            module, _ = give_memory(built(loss), loss, size=40, after=1, dim=DIM, levels=3)
            here, there = module.double(), copy.deepcopy(module).double().to(trial.device)
            shape = (len(labels), loss.views, DIM) if loss.views > 1 else (len(labels), DIM)
            draws = torch.Generator().manual_seed(2)
            for _ in range(5):
                rows = torch.randn(shape, generator=draws).double()
                want, got = _gradients(here, rows, labels), _gradients(there, rows.to(trial.device), labels)
                if name not in DRAWING:
                    trial.error("losses with a memory", max(map(away, got, want)), EXACT, failures)


def metrics(trial: Trial) -> None:
    """Every metric of every query, read once."""
    draws = torch.Generator().manual_seed(0)
    classes = torch.randint(0, 40, (700,), generator=draws)
    sets = {"tree": torch.stack([classes, classes // 3, classes // 12], 1), "one level": classes}
    sets["no tree"] = torch.stack([classes % 7, classes // 7], 1)
    for title, labels in sets.items():
        rows = torch.randn(len(labels), 32, generator=draws) + torch.randn(40, 32, generator=draws)[classes]
        names = asked(labels.shape[1] if labels.ndim == 2 else 1)
        for dtype in (torch.float64, torch.float32):
            for queries in (0, 200):
                with trial.of("metrics", f"{title}, {queries or 'all'} queries, {dtype}") as failures:
                    given = rows.to(dtype)
                    there = given.to(trial.device)

                    def parts(rows: Tensor, labels: Tensor = labels, queries: int = queries) -> tuple[Tensor, ...]:
                        whole = (rows, labels)
                        return (*(p[:queries] for p in whole), *(p[queries:] for p in whole)) if queries else whole

                    want = evaluate(*parts(given.double()), metrics=names, per_query=True)
                    with trial.unwaited():
                        got = evaluate(*parts(there), metrics=names, per_query=True)
                    for name in names:
                        failures += [f"{name} is undefined elsewhere"] * int(
                            (np.isnan(got[name]) != np.isnan(want[name])).any()
                        )
                        away = np.nanmax(np.abs(got[name] - want[name]), initial=0.0)
                        trial.error("metrics", float(away), SAME, failures)
    _other_metrics(trial, draws)


def _other_metrics(trial: Trial, draws: torch.Generator) -> None:
    rows, labels = torch.randn(90, 16, generator=draws).double(), torch.arange(90) % 9
    tables = torch.eye(9, dtype=torch.bool)[labels]
    works: dict[str, Callable[[Tensor], object]] = {
        "decomposability gap": lambda x: decomposability_gap(x, labels, torch.arange(90) % 4),
        "object removal": lambda x: counterfactual(x, x.flip(0), tables, tables, tables.roll(1, 0), ks=(1, 3)),
        "captions": lambda x: recall_both_ways(x, x.flip(0), torch.arange(90), ks=(1, 3)),
        "nearest neighbours": lambda x: knn_accuracy(x[:60], labels[:60], x[60:], labels[60:], k=5),
        "uniformity": uniformity,
    }
    awaited: dict[str, Callable[[Tensor], object]] = {  # by the host too
        "effective rank": effective_rank,
        "class collapse": lambda x: class_collapse(x, labels),
        "linear probe": lambda x: linear_probe(x[:60], labels[:60], x[60:], labels[60:], steps=40, batch=16).held_out,
    }
    for title, work in awaited.items():
        with trial.of("metrics", title) as failures:
            want, got = _numbers(work(rows)), _numbers(work(rows.to(trial.device)))
            failures += ["other numbers"] * (not np.allclose(got, want, rtol=1e-6))
    for title, work in works.items():
        with trial.of("metrics", title) as failures:
            want = _numbers(work(rows))
            there = rows.to(trial.device)
            with trial.unwaited():
                found = work(there)
            got = _numbers(found)
            failures += ["other numbers"] * (not np.allclose(got, want, rtol=1e-9, atol=1e-9, equal_nan=True))


def _numbers(found: object) -> np.ndarray:
    """All numbers in a result, in order."""
    if isinstance(found, dict):
        return np.concatenate([_numbers(value) for value in found.values()] or [np.zeros(0)])
    if isinstance(found, (list, tuple)):
        return np.concatenate([_numbers(value) for value in found])
    if hasattr(found, "__dict__"):
        return _numbers(vars(found))
    return np.asarray(found.cpu() if isinstance(found, Tensor) else found, np.float64).reshape(-1)


# ------------------------------------------------------------------------------------------------ steps and looks


def steps(trial: Trial) -> None:
    """Steps of every loss, encoder and optimizer, and a look, for which the host does not wait."""
    encoder = MetricLearningConfig().encoder.name
    cases = [(name, encoder, "adamw", "auto") for name in LOSSES]
    cases += [("contrastive", other, "adamw", "auto") for other in ENCODERS]
    cases += [("contrastive", encoder, name, "auto") for name, entry in OPTIMISERS.items() if entry.fused]
    cases += [("contrastive", encoder, "adamw", "fp16")]
    for loss, net, optimiser, precision in cases:
        with trial.of("steps", f"{loss} on {net} by {optimiser} in {precision}") as failures:
            _step(trial, loss, net, optimiser, precision, failures)


def _step(trial: Trial, name: str, encoder: str, optimiser: str, precision: str, failures: list[str]) -> None:
    data, descriptor = image_set(), LOSSES[name]
    torch.manual_seed(0)
    net = ENCODERS[encoder].build(channels=3, side=32, dim=8, parameters=OFFLINE.get(encoder, {}))
    loss = descriptor.build(num_classes=CLASSES, dim=8, class_labels=data.labels[::4])
    features = torch.randn(len(data), net.backbone.num_features) if net.frozen else None
    sampler = SAMPLERS["m_per_class"].build(data.labels, 3, 2, 0)
    batches = ImageBatches(data, sampler, features=features, views=descriptor.views, seed=0, device=trial.device)
    arm = LossArm(0, descriptor, loss, net, trial.device)
    arm.begin(Stage.of(MetricLearningConfig(optimiser=optimiser, clip_norm=1.0, precision=precision)))
    shown = data.images if features is None else features
    looks = ProbeEvaluator(
        train=shown, train_labels=data.labels, test=shown, test_labels=data.labels,
        probe=torch.arange(len(data)), device=trial.device,
    )  # fmt: skip
    with computing_in(precision):
        arm.step(batches.batch(0), 0.5)  # kernels are chosen, and the optimizer's state is made
        arm.settle()
        looks.begin(net)()
        with trial.unwaited():
            found = arm.step(batches.batch(1), 0.5)
            found = arm.step(batches.batch(2), 0.5)
            finish = looks.begin(net)
        arm.settle()
        seen = finish()
    ok = bool(torch.isfinite(found["loss"])) and bool(torch.isfinite(seen.embeddings).all())  # type: ignore[arg-type]
    failures += ["the loss or an embedding is not finite"] * (not ok)
