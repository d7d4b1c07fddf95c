"""Mistakes against counts written as loops, what must always hold, and the verb on made-up runs."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.metrics import slow
from tests.metrics.worlds import tree
from tests.synthetic import add_snapshot, diverge, make_run
from trainers.cli.main import main
from trainers.errors import RunError
from trainers.hierarchy import Hierarchy, missed_when_wrong, shared_levels
from trainers.metrics import evaluate
from trainers.metrics import neighbours as module
from trainers.metrics.neighbours import nearest, nearest_images
from trainers.retrieval.mistakes import MistakesOverTraining, mistakes
from trainers.retrieval.probe_results import probe_results, query_metrics


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("step", [2**23, 100])
def test_results_are_ranked_as_by_the_metrics(depth, step, monkeypatch) -> None:
    monkeypatch.setattr(module, "BLOCK", step)
    emb, labels = tree(depth, 45, depth)
    emb[5:25] = emb[4]  # more ties than are looked at first
    found, rows = nearest_images(emb, labels.numpy(), 7), labels.numpy()
    assert found.tolist() == [slow.nearest(emb, rows, q)[:7] for q in range(len(rows))]


def test_a_gallery_apart_and_more_than_there_are() -> None:
    emb, labels = tree(1, 30, 2)
    found = nearest(emb[:10], emb[10:], 99).ids
    assert found.shape == (10, 20)
    cosine = torch.nn.functional.normalize(emb[:10]) @ torch.nn.functional.normalize(emb[10:]).T
    assert found.tolist() == cosine.argsort(dim=1, descending=True).tolist()
    assert nearest_images(emb[:5], labels[:5].numpy(), 9).shape == (5, 4)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 6])
def test_mistakes_follow_their_definitions(depth, k) -> None:
    emb, tensor = tree(depth + 7, 60, depth, branch=3)
    labels = tensor.numpy()
    ids = nearest_images(emb, labels, k)
    result = mistakes(ids, labels)
    wanted = [sum(labels[j, 0] == labels[q, 0] for j in range(60)) - 1 for q in range(60)]
    asked = [q for q in range(60) if wanted[q]]
    assert (result.k, result.queries, result.left_out) == (k, len(asked), 60 - len(asked))
    pairs: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    severities = []
    for q in asked:
        for rank, j in enumerate(ids[q]):
            shared = sum(int(a == b) for a, b in zip(labels[q], labels[j], strict=True))
            severities.append((rank, shared))
            if rank < wanted[q] and labels[q, 0] != labels[j, 0]:
                pairs[labels[q, 0], labels[j, 0]].append((rank, q, j))
    for shared in range(depth + 1):
        assert result.topk[shared] == pytest.approx(np.mean([s == shared for _, s in severities]))
        assert result.top1[shared] == pytest.approx(np.mean([s == shared for rank, s in severities if rank == 0]))
    assert {(c.query_class, c.result_class): c.count for c in result.confusions} == {
        p: len(v) for p, v in pairs.items()
    }
    for one in result.confusions:
        rank, q, j = min(pairs[one.query_class, one.result_class])
        assert (one.rank, one.query, one.result) == (rank + 1, q, j)
        assert one.missing == depth - one.shared == int((labels[q] != labels[j]).sum())
    costs = [confusion.cost for confusion in result.confusions]
    assert costs == sorted(costs, reverse=True)
    assert mistakes(ids, labels, most=2).confusions == result.confusions[:2]
    for level, table in enumerate(result.levels):
        assert table.level == level and table.ids.tolist() == sorted({int(labels[q, level]) for q in asked})
        for row, name in enumerate(table.ids):
            own = [q for q in asked if labels[q, level] == name]
            same = np.array([[labels[j, level] == name for j in ids[q]] for q in own])
            assert table.queries[row] == len(own)
            assert table.of_class[row] == pytest.approx(same.mean()) and table.of_class1[row] == pytest.approx(
                same[:, 0].mean()
            )
            many = sum(labels[:, level] == name) - 1
            assert table.best[row] == pytest.approx(min(many, k) / k)
            shared = np.array([[(labels[q] == labels[j]).sum() for j in ids[q]] for q in own])
            for grade in range(depth + 1):
                assert table.topk[row, grade] == pytest.approx((shared == grade).mean())
                assert table.top1[row, grade] == pytest.approx((shared[:, 0] == grade).mean())


@pytest.mark.parametrize("depth", [1, 3])
def test_severity_given_a_wrong_first_result_counts_these_alone(depth: int) -> None:
    """Whoever is wrong seldom is not therefore wrong badly: the shares of all first results cannot tell."""
    emb, tensor = tree(depth + 7, 60, depth, branch=3)
    labels = tensor.numpy()
    ids = nearest_images(emb, labels, 1)
    result = mistakes(ids, labels)
    asked = [q for q in range(60) if (labels[:, 0] == labels[q, 0]).sum() > 1]
    shared = shared_levels(labels[ids[asked, 0]], labels[asked])
    wrong = shared[shared < depth]
    assert result.wrong1 is not None and result.wrong1.sum() == pytest.approx(1.0)
    assert result.wrong1.tolist() == pytest.approx([(wrong == grade).mean() for grade in range(depth)])
    missed = missed_when_wrong(shared, depth)
    assert np.isnan(missed[shared == depth]).all() and missed[shared < depth].tolist() == (depth - wrong).tolist()
    assert np.nanmean(missed) == pytest.approx((result.wrong1 * (depth - np.arange(depth))).sum())
    same = np.repeat(np.arange(4), 2)[:, None]
    assert mistakes((np.arange(8) ^ 1)[:, None], same).wrong1 is None  # none is wrong


@pytest.mark.parametrize("k", [1, 4, 30])
def test_a_perfect_ranking_has_no_mistakes(k) -> None:
    _, tensor = tree(2, 70, 3)
    labels = tensor.numpy()
    shared = (labels[:, None] == labels[None]).sum(2) - 100 * np.eye(70, dtype=int)
    ids = np.argsort(-shared, axis=1, kind="stable")[:, :k]
    result = mistakes(ids, labels)
    assert result.confusions == ()
    np.testing.assert_allclose(result.topk, result.best, atol=1e-15)
    for table in result.levels:
        np.testing.assert_allclose(table.of_class, table.best, atol=1e-15)


def test_results_of_a_frame_come_from_the_embeddings_or_are_the_stored_ones(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=120, frames=2)
    labels, frame = folder.probe().labels, folder.frame(1)
    folder.add_frame(replace(frame, arms=tuple(replace(arm, neighbours=arm.neighbours[::-1]) for arm in frame.arms)))
    for count in (10, 40):  # whatever the map was made of
        for probe_result, arm in zip(probe_results(folder, 1, count), folder.embeddings(1), strict=True):
            expected = [slow.nearest(arm.astype(np.float32), labels, query)[:count] for query in range(120)]
            assert probe_result.tolist() == expected
    folder.embeddings_path(1).unlink()
    for probe_result, arm in zip(probe_results(folder, 1, 10), folder.frame(1).arms, strict=True):
        np.testing.assert_array_equal(probe_result, arm.neighbours[:, :10])
    with pytest.raises(RunError, match="keeps 20 results"):
        probe_results(folder, 1, 40)


def test_mistakes_over_training_are_those_of_each_frame_and_read_once(tmp_path: Path, monkeypatch) -> None:
    folder = make_run(tmp_path, points=120, frames=3)
    labels = folder.probe().labels
    over = MistakesOverTraining(folder)
    series = over.series(10)
    assert [(k, step) for k, step, _ in series] == folder.frame_steps()
    for k, _, moments in series:
        for moment, ids in zip(moments, probe_results(folder, k, 10), strict=True):
            whole = mistakes(ids, labels)
            np.testing.assert_array_equal(moment.topk, whole.topk)
            np.testing.assert_array_equal(moment.top1, whole.top1)
    read = []
    whole = type(folder).embeddings
    monkeypatch.setattr(type(folder), "embeddings", lambda self, k: read.append(k) or whole(self, k))
    over.series(10)
    assert read == []
    folder.frame_path(2).unlink()
    assert [k for k, _, _ in over.series(10)] == [0, 1]
    add_snapshot(folder, 2, of=3)
    assert len(over.series(10)) == 3 and read == [2]


@pytest.mark.parametrize(("layout", "count"), [(False, 10), (True, 10), (True, 40)])
def test_an_arm_that_diverged_has_no_results_and_the_others_keep_theirs(
    tmp_path: Path, layout: bool, count: int
) -> None:
    folder = make_run(tmp_path, points=120, frames=3, arms=3, layout=layout)
    whole, series = [probe_results(folder, k, count) for k in range(3)], MistakesOverTraining(folder).series(count)
    diverge(folder, arm=1, first=1)
    for k in (1, 2):
        first, second, third = probe_results(folder, k, count)
        assert second is None
        np.testing.assert_array_equal(first, whole[k][0])
        np.testing.assert_array_equal(third, whole[k][2])
    assert [probe_result.tolist() for probe_result in probe_results(folder, 0, count)] == [
        one.tolist() for one in whole[0]
    ]
    later = MistakesOverTraining(folder).series(count)
    assert [[moment is None for moment in moments] for _, _, moments in later] == [
        [False] * 3,
        *[[False, True, False]] * 2,
    ]
    assert later[2][2][2].topk.tolist() == series[2][2][2].topk.tolist()
    for arm in (0, 2):
        diverge(folder, arm, first=2)
    with pytest.raises(RunError, match="diverged"):
        probe_results(folder, 2, count)


def test_some_queries_alone_are_those_whose_lists_are_given_alone() -> None:
    emb, labels = tree(3, 60, 3)
    labels = labels.numpy()
    ids = nearest_images(emb, labels, 6)
    chosen = np.array([3, 4, 17, 40, 59])
    some = mistakes(ids, labels, among=chosen)
    counted = [row for row in chosen if (labels[:, 0] == labels[row, 0]).sum() > 1]
    assert (some.queries, some.left_out) == (len(counted), len(chosen) - len(counted))
    shared = shared_levels(labels[ids[counted]], labels[counted][:, None])
    assert some.topk.tolist() == [np.mean(shared == level) for level in range(4)]
    assert {confusion.query for confusion in some.confusions} <= set(counted)
    everything = mistakes(ids, labels, among=np.arange(len(labels)))
    assert everything.topk.tolist() == mistakes(ids, labels).topk.tolist()


def test_an_arm_that_diverged_is_named_and_the_others_are_shown(tmp_path: Path, capsys) -> None:
    folder = make_run(tmp_path, points=60, frames=2, layout=False)
    diverge(folder, arm=0, first=1)
    assert main(["mistakes", folder.id, "--runs", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "Smooth-AP has no results: its embeddings are not numbers" in printed
    assert printed.count("HAPPIER") >= 2 and "Queries whose" not in printed


def test_images_without_classes_have_no_mistakes(tmp_path: Path, capsys) -> None:
    folder = make_run(tmp_path, points=60, frames=1)
    probe, hierarchy = folder.probe(), Hierarchy(levels=("class",), names=(("none",),))
    folder.write_probe(dataclasses.replace(probe, hierarchy=hierarchy, labels=0 * probe.labels[:, :1]), [])
    assert main(["mistakes", folder.id, "--runs", str(tmp_path)]) == 1
    assert "have no classes" in capsys.readouterr().err
    for ask in (lambda: query_metrics(folder, 0), lambda: MistakesOverTraining(folder).series(5)):
        with pytest.raises(RunError, match="have no classes"):
            ask()


def test_the_metrics_of_queries_are_those_of_an_evaluation(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=60, frames=2)
    probe, vectors = folder.probe(), torch.from_numpy(folder.embeddings(1)[0].astype(np.float32))
    want = evaluate(vectors, torch.from_numpy(probe.labels).long(), metrics=["AP"], per_query=True)["AP"]
    first, second = query_metrics(folder, 1)
    assert (first.title, second.title) == ("Smooth-AP", "HAPPIER")
    assert first.values["AP"].tolist() == want.tolist()


def test_a_baseline_adds_its_arms_and_the_differences(tmp_path: Path, capsys) -> None:
    run, other = make_run(tmp_path, points=60, frames=2), make_run(tmp_path, points=60, frames=2, arms=1)
    assert main(["mistakes", run.id, "--baseline", other.id, "--runs", str(tmp_path), "--metric", "HAP"]) == 0
    printed = capsys.readouterr().out
    assert "Smooth-AP (baseline)" in printed and f"Last numbers less those of {other.id}" in printed
    assert "+0.000" in printed and "different images" not in printed
    fewer = make_run(tmp_path, points=48, frames=2)
    assert main(["mistakes", run.id, "--baseline", fewer.id, "--runs", str(tmp_path)]) == 0
    assert "different images" in capsys.readouterr().out
