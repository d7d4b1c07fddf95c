"""Hard conditions and further metrics of contrastive runs: which labels train, which score, and what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.kinds.contrastive.test_run import finished, loose, run
from tests.metrics import slow
from trainers.config import Conditions, DataChoice
from trainers.data import load_data
from trainers.data.base import ImageSet
from trainers.errors import DataError, UserError
from trainers.kinds.contrastive import evaluation
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.diagnosis import advice
from trainers.kinds.contrastive.loop import ContrastiveLoop
from trainers.kinds.contrastive.methods import METHODS
from trainers.parameters import Choice

PLAIN, NOISE = Conditions(), Conditions(label_noise=0.25)


def choice(source: Path, conditions: Conditions = PLAIN) -> DataChoice:
    return DataChoice(source=str(source), image_size=16, held_out="images", conditions=conditions)


def by_pixels(part: ImageSet, labels: Tensor) -> dict[bytes, int]:
    """The finest label of every image, whatever its row."""
    return {image.numpy().tobytes(): int(label) for image, label in zip(part.images, labels[:, 0], strict=True)}


class Seen:
    """Records the labels that reach the training of an arm and the classifications of its features."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scored: list[tuple[str, list[int], list[int]]] = []
        for name in ("knn_accuracy", "linear_probe"):
            monkeypatch.setattr(evaluation, name, self._noting(name, getattr(evaluation, name)))

    def _noting(self, name: str, score: Any) -> Any:
        def noted(train: Tensor, train_labels: Tensor, test: Tensor, test_labels: Tensor, **options: Any) -> Any:
            self.scored.append((name, train_labels[:, 0].tolist(), test_labels[:, 0].tolist()))
            return score(train, train_labels, test, test_labels, **options)

        return noted

    @staticmethod
    def trained(loop: ContrastiveLoop, stage: str) -> dict[int, set[int]]:
        """Let the loop train to the end; the classes of each training row in the steps of a stage."""
        arm, found = loop.arms[0], {}
        step = arm.step

        def noted(batch: Any, factor: float) -> Any:
            if bool(loop.stage.networks) == (stage == "classifier"):
                for row, label in zip(batch.rows.tolist(), batch.labels.tolist(), strict=True):
                    found.setdefault(row, set()).add(label)
            return step(batch, factor)

        arm.step = noted  # type: ignore[method-assign]
        assert not loop.advance(60)
        return found


@pytest.mark.parametrize("stage", ["method", "classifier"])
def test_wrong_labels_train_and_true_ones_score(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    plain, noisy = load_data(choice(images)), load_data(choice(images, NOISE))
    true, count = by_pixels(plain.train, plain.train.labels), len(plain.train)
    seen = Seen(monkeypatch)
    loop = run(tmp_path, images, Choice(name="supcon"), batch=64, data=choice(images, NOISE), steps=2, head_steps=2)
    found = seen.trained(loop, stage)
    loop.finish()
    assert len(found) == count and all(len(labels) == 1 for labels in found.values())
    given = {noisy.train.images[row].numpy().tobytes(): label for row, (label,) in found.items()}
    assert sum(given[image] != true[image] for image in true) == round(0.25 * count)
    assert {name for name, *_ in seen.scored} == {"knn_accuracy", "linear_probe"}
    tested = plain.test.labels[:, 0].tolist()
    for _, bank, queries in seen.scored:
        assert sorted(bank) == sorted(plain.train.labels[:, 0].tolist()) != sorted(noisy.train.labels[:, 0].tolist())
        assert set(queries) <= set(tested)
    assert seen.scored[-1][1:] == (plain.train.labels[:, 0].tolist(), tested)


def test_noise_leaves_the_training_of_a_method_without_labels_as_it_is(tmp_path: Path, images: Path) -> None:
    clean, noisy = (
        run(tmp_path, images, Choice(name="simclr"), data=choice(images, under), steps=2, head_steps=2)
        for under in (PLAIN, NOISE)
    )
    for loop in (clean, noisy):
        assert not loop.advance(60)
    one, other = (loop.arms[0].tensors() for loop in (clean, noisy))
    same = {name: torch.equal(value, other[name]) for name, value in one.items()}
    method, classifier = (
        [same[name] for name in same if name.startswith(f"arm0/{part}/")] for part in ("method", "classifier")
    )
    assert method and all(method)
    assert classifier and not all(classifier)
    assert advice(clean.config) == []
    assert advice(noisy.config) == [
        "SimCLR is trained without labels: label noise changes only the linear classifier of its second stage."
    ]


def test_advice_about_noise_follows_what_the_method_needs() -> None:
    for name, method in METHODS.items():
        config = ContrastiveConfig(methods=(Choice(name=name),), head_steps=0, data=DataChoice(conditions=NOISE))
        said = [sentence for sentence in advice(config) if "label noise changes nothing" in sentence]
        assert len(said) == (not method.labels)


def test_images_of_withheld_classes_are_tested_on_and_never_classified_right(tmp_path: Path, images: Path) -> None:
    plain, data = load_data(choice(images)), choice(images, Conditions(withheld_classes=0.5, withheld_images=0.25))
    fewer = load_data(data)
    left = set(fewer.train.labels[:, 0].tolist())
    known = float(np.isin(plain.test.labels[:, 0], list(left)).mean())
    assert (len(left), torch.equal(fewer.test.labels, plain.test.labels)) == (2, True) and 0 < known < 1
    loop = run(tmp_path, images, Choice(name="supcon"), data=data, steps=4, head_steps=4, metrics=("R_at_2", "AP"))
    found = finished(loop)
    for key in ("knn_accuracy", "probe_accuracy", "classifier_accuracy"):
        assert found[0, f"test/{key}"] <= known
    probe, (last, *_) = loop.folder.probe(), loop.folder.snapshots()[-1]
    assert probe is not None and set(probe.labels[:, 0].tolist()) > left
    lists = slow.ranked_levels(torch.from_numpy(loop.folder.embeddings(last)[0]), torch.from_numpy(probe.labels))
    for name in ("R_at_2", "AP"):
        assert found[0, name] == pytest.approx(np.nanmean([slow.score(name, one, 1) for one in lists]), abs=1e-6)
        assert 0 < found[0, f"test/{name}"] <= 1


def test_what_needs_classes_is_refused_for_images_without(tmp_path: Path) -> None:
    folder = loose(tmp_path / "loose", 6)
    for conditions in (NOISE, Conditions(withheld_images=0.5)):
        with pytest.raises(DataError, match=r"the images of loose have none\. Train without label noise"):
            run(tmp_path / "runs", folder, Choice(name="simclr"), data=choice(folder, conditions))
    with pytest.raises(UserError, match="AP compares classes, and these images have none"):
        run(tmp_path / "runs", folder, Choice(name="simclr"), metrics=("AP",))
