"""The results per query that a run keeps of its last evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from tests import damages
from tests.tiny import tiny_config, write_images
from trainers.data.labelled.dataset_cache import image_fingerprint
from trainers.errors import RunError
from trainers.metrics.measures import final_numbers
from trainers.runs import RunFolder, probe
from trainers.worker import Worker


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    place = tmp_path_factory.mktemp("runs")
    config = tiny_config(write_images(place / "images", groups=3), "triplet", "supcon_out", steps=2)
    made = RunFolder.create(place / "runs", config)
    assert Worker(made).run().phase == "finished"
    return made


def test_their_means_are_the_numbers_of_the_run(folder: RunFolder) -> None:
    scores = folder.test_queries()
    assert scores is not None and scores.values.shape == (2, len(scores.metrics), 36) and scores.images == 36
    assert np.array_equal(scores.rows, np.arange(36)) and len(np.unique(scores.labels)) == 6
    for arm, final in enumerate(final_numbers(folder.scalars(), 2)):
        own = scores.of(arm)
        assert own.values.shape[0] == 1
        for metric, values in zip(own.metrics, own.values[0], strict=True):
            assert np.nanmean(values.astype(np.float64)) == pytest.approx(final[metric], abs=1e-7)
    assert not np.array_equal(scores.values[0], scores.values[1])


def test_a_run_without_them_opens(tmp_path: Path, folder: RunFolder) -> None:
    assert RunFolder.create(tmp_path, folder.config).test_queries() is None


@pytest.mark.parametrize("harm", ["labels", "values", "rows", "order", "nothing", "about", "type"])
def test_a_damaged_file_is_a_sentence(tmp_path: Path, folder: RunFolder, harm: str) -> None:
    copy = RunFolder.create(tmp_path, folder.config)
    copy.write_queries(folder.test_queries())
    assert copy.test_queries() is not None
    tensors = load_file(copy.queries_path)
    about = {"about": '{"metrics": ["a"], "images": 36, "fingerprint": 7}' if harm == "about" else "{}"}
    if harm in tensors:
        tensors[harm] = tensors[harm][..., :-1]
    if harm == "order":
        tensors["rows"] = tensors["rows"][::-1].copy()
    if harm == "type":
        tensors["labels"] = tensors["labels"] * 1.0
    if harm not in ("about", "nothing"):
        about = {"about": probe.packed_scores(folder.test_queries())[1]["about"]}
    save_file(tensors, copy.queries_path, metadata=about)
    with pytest.raises(RunError, match=rf"The run folder {copy.id} is incomplete or damaged"):
        copy.test_queries()


def test_whatever_lies_in_its_place_is_a_sentence(tmp_path: Path, folder: RunFolder) -> None:
    copy = RunFolder.create(tmp_path, folder.config)
    for harm in (damages.empty, damages.half, damages.garbage, damages.huge, damages.a_link_loop, damages.a_folder):
        damages.missing(copy.queries_path)
        copy.write_queries(folder.test_queries())
        if harm is damages.a_link_loop:
            damages.missing(copy.queries_path)
        harm(copy.queries_path)
        with pytest.raises(RunError, match=r"lacks test_queries\.safetensors, or it is damaged"):
            copy.test_queries()
    damages.missing(copy.queries_path)
    assert copy.test_queries() is None


def test_of_a_very_large_test_set_a_fixed_subset_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert np.array_equal(probe.kept_queries(5), np.arange(5))
    monkeypatch.setattr(probe, "MOST", 100)
    rows = probe.kept_queries(1000)
    assert len(rows) == 100 and (np.diff(rows) > 0).all() and np.array_equal(rows, probe.kept_queries(1000))
    assert 400 < rows.mean() < 600

    from trainers.kinds.metric_learning.evaluation import ProbeEvaluator

    draws = torch.Generator().manual_seed(0)
    test = torch.randint(0, 256, (150, 3, 2, 2), dtype=torch.uint8, generator=draws)
    labels = torch.arange(150)[:, None] // 3
    made = ProbeEvaluator(
        train=test[:8],
        train_labels=labels[:8],
        test=test,
        test_labels=labels,
        probe=torch.arange(8),
        device=torch.device("cpu"),
    )
    whole = made.whole_test(torch.nn.Flatten())
    kept = made.query_scores([whole])
    assert (kept.images, kept.values.shape[2]) == (150, 100) and np.array_equal(kept.labels, kept.rows // 3)
    for name, values in zip(kept.metrics, kept.values[0], strict=True):
        assert np.array_equal(values, whole.queries[name].astype(np.float32))


def test_the_fingerprint_is_of_the_images_and_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    images = torch.randint(0, 256, (40, 3, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    first = image_fingerprint(images)
    assert first == image_fingerprint(images.clone()) and len({first, image_fingerprint(images.flip(0))}) == 2
    changed = images.clone()
    changed[17, 0, 0, 0] ^= 1
    assert image_fingerprint(changed) != first != image_fingerprint(images[:39])
    monkeypatch.setattr("trainers.data.labelled.dataset_cache._HASHED", 10)
    assert image_fingerprint(images) != first and image_fingerprint(images[:0]) != ""
