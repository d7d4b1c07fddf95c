"""Metrics that a run is asked for: which names and titles are taken, where they are measured and turn up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.exports.pages import write_curves
from explorer.page.kinds.metric_learning import configuration
from explorer.server.library import Library
from explorer.tabs.live.view import about
from tests.metrics.worlds import tree
from tests.tiny import write_images
from trainers.cli.main import main
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.evaluation import retrieval
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.metrics import METRICS, describe, evaluate
from trainers.metrics.catalogue import MEASURES
from trainers.metrics.names import ASKED_MENU, MOST, check_size, family_of, joined, key_of, measurable
from trainers.plans.config import FairComparisonConfig
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


def test_the_page_offers_a_menu_and_takes_any_name() -> None:
    config = configuration(["supcon"], training={"metrics": ["R@10", "AP_at_5_level1"]})
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


# ---------------------------------------------------------------- by their titles

KEYS = {
    "r@10": "R_at_10",
    "Recall@4": "R_at_4",
    "MAP@R": "AP_at_R",
    "mAP@100": "AP_at_100",
    "Precision@5": "P_at_5",
    "nDCG@10": "NDCG_at_10",
    "true recall@10": "true_R_at_10",
    "level R@1": "level_mean_R_at_1",
    "ΣwAP": "sum_wAP",
    "R@5_level1": "R_at_5_level1",
    "mAP@R_any_level": "AP_at_R_any_level",
    "i2t R@5": "i2t_R_at_5",
    "ODmAP@1": "ODmAP_at_1",
    "test/R@1": "test/R_at_1",
    "train_R@1": "train_R_at_1",
    "k-NN": "knn_accuracy",
    "R@k": "R_at_k",
}
NONE = ("R@0", "R@", "@1", "R@R", "recall", "nonsense", "", "test/", "R@1" * 99)


@pytest.mark.parametrize(("written", "key"), KEYS.items())
def test_a_title_is_its_key(written: str, key: str) -> None:
    assert key_of(written) == key_of(key) == key


@pytest.mark.parametrize("written", NONE)
def test_what_is_no_metric_stays_as_it_is(written: str) -> None:
    assert key_of(written) == family_of(written) == written


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_of_ranked_lists_is_known_by_its_title(name: str) -> None:
    key = name.replace("_at_k", "_at_10").replace("level_l", "level0")
    if name != "AP_level_l":  # "AP, class" needs the names of the levels
        assert key_of(describe(key).title) == key
    assert family_of(key) in (name, *MEASURES)


@pytest.mark.parametrize("kind", [MetricLearningConfig, ContrastiveConfig])
def test_runs_keep_keys(kind: type) -> None:
    config = kind(metrics=("R@10", "MAP@R", "sum_wAP"))
    check(config)
    assert config.metrics == ("R_at_10", "AP_at_R", "sum_wAP")
    written = json.loads(config.to_json()) | {"metrics": ["R@10", "MAP@R", "sum_wAP"]}
    assert read_config(json.dumps(written)) == config
    fair = FairComparisonConfig(run=config, select_by="R@10")
    assert (fair.select_by, replace(fair, select_by="mAP@R").select_by) == ("R_at_10", "AP_at_R")


@pytest.mark.parametrize("written", ["R_at_0", "R@0", "recall"])
def test_the_command_says_which_metrics_there_are(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", written]) == 1
    assert f"There is no metric {written!r}; choose from R_at_k, AP, AP_at_R" in capsys.readouterr().err
