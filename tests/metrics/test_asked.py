"""Metrics that a run is asked for: which names are taken, where they are measured, and where they turn up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.exports.pages import write_curves
from explorer.page.kinds.metric_learning import configuration
from explorer.server.library import Library
from explorer.tabs.live.view import about
from tests.metrics import slow
from tests.metrics.worlds import tree
from tests.tiny import write_images
from trainers.cli.main import main
from trainers.errors import ParameterError
from trainers.kinds import check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.evaluation import retrieval
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.metrics import evaluate
from trainers.metrics.names import ASKED_MENU, MOST, check_size, joined, measurable
from trainers.runs import list_runs
from trainers.runs.identity import read_config

ASKED = ("R_at_2", "sum_wAP", "level_mean_R_at_1", "R_at_25")


@pytest.mark.parametrize("kind", [MetricLearningConfig, ContrastiveConfig])
def test_names_are_checked_before_the_run_is_queued(kind: type) -> None:
    check(kind(metrics=("R_at_1000", "AP_at_R_level6", "P_at_5_any_level", *ASKED_MENU.titles)[:MOST]))
    for name in ("R_at_0", "recall", "R_at_k", "knn_accuracy", "", "test/R_at_1", "R_at_1" * 99):
        with pytest.raises(
            ParameterError, match=r"There is no metric .* there are R_at_k, AP, .*numbers for k and l"
        ) as no:
            check(kind(metrics=("AP", name)))
        assert len(str(no.value)) < 500
    with pytest.raises(ParameterError, match=f"at most {MOST} metrics beside its own; got {MOST + 1}"):
        check(kind(metrics=tuple(f"R_at_{k}" for k in range(2, MOST + 3))))


def test_names_are_checked_against_the_test_set() -> None:
    check_size(["R_at_9", "AP_at_R_level1", "sum_wAP"], 2, 10)
    with pytest.raises(ParameterError, match=r"R_at_1000 looks at the first 1,000 results, .* has 9 results"):
        check_size(["R_at_1", "R_at_1000"], 1, 10)
    with pytest.raises(ParameterError, match="asks for level 2; the labels have levels 0 to 1"):
        check_size(["AP_level2"], 2, 10)
    assert measurable(["R_at_9", "R_at_10", "AP"], 1, 10) == ["R_at_9", "AP"]
    assert joined(["R_at_1", "HAP"], ["AP", "R_at_1", "AP"]) == ["R_at_1", "HAP", "AP"]


def test_asking_for_nothing_is_as_before_and_old_configurations_are_read() -> None:
    config = MetricLearningConfig()
    before = {name: value for name, value in json.loads(config.to_json()).items() if name != "metrics"}
    assert read_config(json.dumps(before)) == config
    kind = kind_of(config)
    assert kind.measures_of(config) is kind.measures


def test_they_stand_where_the_kinds_own_numbers_stand() -> None:
    for kind in (MetricLearningConfig, ContrastiveConfig):
        config = kind(metrics=("AP_at_R", "sum_wAP", "R_at_1"))
        measures, whole = kind_of(config).measures, kind_of(config).measures_of(config)
        assert (
            set(whole.numbers) == {*measures.numbers, "AP_at_R", "sum_wAP"}
            and whole.numbers[: len(measures.numbers)] == measures.numbers
        )
        assert set(whole.whole) >= {"AP_at_R", "sum_wAP"} and "sum_wAP" in whole.later
        assert not set(whole.later) & {panel.key for panel in whole.panels}
        assert not measures.summary or "sum_wAP" in whole.summary


def test_the_page_offers_a_menu_and_takes_any_name() -> None:
    config = configuration(["supcon"], training={"metrics": ["R_at_10", "AP_at_5_level1"]})
    assert isinstance(config, MetricLearningConfig) and config.metrics == ("R_at_10", "AP_at_5_level1")
    for broken in (["R@0"], ["\ud800"], "R", [1], {"a": 1}, [["R_at_1"]]):
        with pytest.raises(ParameterError, match="metric"):
            configuration(["supcon"], training={"metrics": broken})
    assert ASKED_MENU.titles["sum_wAP"] == "ΣwAP" and ASKED_MENU.titles["R_at_1000"] == "R@1000"


def test_a_run_measures_them_on_the_maps_images_and_on_the_whole_test_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = write_images(tmp_path / "images", groups=3)
    small = "--steps 2 --classes-per-batch 4 --images-per-class 3 --encoder conv4:width=8 --dim 16 --threads 1"
    line = ["train", "--data", str(images), *small.split(), "--probe-size", "24", "--runs", str(tmp_path / "runs")]
    assert main([*line, "--losses", "triplet_levels", "--metrics", *ASKED]) == 0
    assert "sum_wAP 0." in capsys.readouterr().out
    (folder,) = list_runs(tmp_path / "runs")
    found = {scalar.key: scalar.value for scalar in folder.scalars()}
    for name in ASKED[:3]:
        assert 0 < found[name] <= 1 and 0 < found[f"test/{name}"] <= 1
    assert "R_at_25" not in found and 0 < found["test/R_at_25"] <= 1  # 24 images on the maps, 36 in the test set
    assert found["decomposability_gap"] == pytest.approx(found["batch_AP"] - found["whole_AP"], abs=1e-12)
    run = Library(tmp_path / "runs", tmp_path / "none").get(folder.id)
    measures = about(run)["measures"]
    assert [number["key"] for number in measures["numbers"]][-4:] == list(ASKED)
    write_curves(run, tmp_path / "curves.html")
    page = (tmp_path / "curves.html").read_text(encoding="utf-8")
    assert "<th>ΣwAP</th>" in page and "<th>R@1, mean of levels</th>" in page
    assert main([*line, "--metrics", "R_at_36"]) == 1
    assert "R_at_36 looks at the first 36 results" in capsys.readouterr().err
    assert main([*line, "--metrics", "AP_level3"]) == 1
    assert "asks for level 3" in capsys.readouterr().err


def test_contrastive_training_measures_them_too() -> None:
    emb, labels = tree(3, 60, 2)
    own, more = retrieval(emb, labels), retrieval(emb, labels, ["sum_wAP", "HAP"])
    assert more == own | {"sum_wAP": evaluate(emb, labels, metrics=["sum_wAP"])["sum_wAP"]}


# ------------------------------------------------------------ what they are


def test_level_means_are_means_of_the_levels_numbers_where_every_query_has_a_classmate() -> None:
    emb, labels = tree(8, 90, 3, branch=2)
    counts = torch.bincount(labels[:, 0])
    kept = counts[labels[:, 0]] > 1
    names = [f"{name}_level{level}" for name in ("AP", "R_at_3") for level in range(3)]
    scores = evaluate(emb[kept], labels[kept], metrics=[*names, "level_mean_AP", "level_mean_R_at_3", "sum_wAP"])
    levels = [[scores[f"{name}_level{level}"] for level in range(3)] for name in ("AP", "R_at_3")]
    assert scores["level_mean_AP"] == pytest.approx(np.mean(levels[0]), abs=1e-12)
    assert scores["level_mean_R_at_3"] == pytest.approx(np.mean(levels[1]), abs=1e-12)
    assert scores["sum_wAP"] == pytest.approx(np.dot(levels[0], [3, 2, 1]) / 6, abs=1e-12)


def test_a_query_without_a_classmate_is_left_out_of_every_level() -> None:
    emb, labels = torch.eye(4), torch.tensor([[0, 0], [0, 0], [1, 0], [2, 1]])
    names = ["level_mean_AP", "level_mean_R_at_1", "sum_wAP", "AP_level1"]
    each = evaluate(emb, labels, metrics=names, per_query=True)
    for name in names[:3]:
        assert np.isnan(each[name]).tolist() == [False, False, True, True]
    assert np.isnan(each["AP_level1"]).tolist() == [False, False, False, True]


def test_ndcg_at_k_is_over_the_ideal_of_the_whole_list() -> None:
    emb, labels = tree(5, 40, 3)
    names = ["NDCG", *(f"NDCG_at_{k}" for k in (1, 4, 39, 500))]
    got = evaluate(emb, labels, metrics=names, per_query=True)
    lists = slow.ranked_levels(emb, labels)
    for name in names:
        np.testing.assert_allclose(got[name], [slow.score(name, levels, 3) for levels in lists], atol=1e-12)
    np.testing.assert_array_equal(got["NDCG_at_39"], got["NDCG"])
    np.testing.assert_array_equal(got["NDCG_at_500"], got["NDCG"])
