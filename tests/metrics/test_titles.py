"""Metrics by their titles: which key is meant, and where titles are taken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.page.kinds.metric_learning import configuration
from trainers.cli.main import main
from trainers.kinds import check
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.metrics import METRICS, describe
from trainers.metrics.catalogue import MEASURES
from trainers.metrics.names import family_of, key_of
from trainers.plans.config import FairComparisonConfig
from trainers.runs.identity import read_config

KEYS = {
    "R@1": "R_at_1",
    "r@10": "R_at_10",
    "Recall@4": "R_at_4",
    "mAP@R": "AP_at_R",
    "MAP@R": "AP_at_R",
    "mAP": "AP",
    "mAP@100": "AP_at_100",
    "P@R": "P_at_R",
    "Precision@5": "P_at_5",
    "H-AP": "HAP",
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


def test_settings_of_the_page_keep_keys() -> None:
    config = configuration(["smooth_ap"], training={"metrics": ["R@10"]})
    assert isinstance(config, MetricLearningConfig) and config.metrics == ("R_at_10",)


@pytest.mark.parametrize(
    ("written", "first", "sentence"),
    [
        ("R@1", "R_at_1: R@1.", "among the top-1 results"),
        ("R_at_10", "R_at_10: R@10.", "among the top-10 results"),
        ("R@k", "R_at_k: R@k.", "among the top-k results"),
        ("R_at_k", "R_at_k: R@k.", "among the top-k results"),
        ("mAP@R", "AP_at_R: mAP@R.", ""),
    ],
)
def test_the_command_describes_a_metric(
    written: str, first: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["metrics", written]) == 0
    told = capsys.readouterr().out
    assert told.startswith(first) and sentence in told


@pytest.mark.parametrize("written", ["R_at_0", "R@0", "recall"])
def test_the_command_says_which_metrics_there_are(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", written]) == 1
    assert f"There is no metric {written!r}; choose from R_at_k, AP, AP_at_R" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_given: object) -> None:
        raise AssertionError("the images were read before the folder was tried")

    monkeypatch.setattr("trainers.kinds.labelled.Labelled.rehearse", read)
    (tmp_path / "file").write_text("")
    assert main(["train", "--steps", "1", "--runs", str(tmp_path / "file" / "runs")]) == 1
    assert "A run cannot be written in" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
