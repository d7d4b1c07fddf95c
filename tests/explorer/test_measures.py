"""What each kind of run shows: complete, told to the page, and in no script of the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.explorer.page import Page
from tests.synthetic import make_run
from trainers.kinds.contrastive.measures import MEASURES as CONTRASTIVE
from trainers.kinds.finetuning.measures import MEASURES as FINETUNING
from trainers.kinds.metric_learning.measures import MEASURES as METRIC_LEARNING
from trainers.metrics.catalogue import MEASURES
from trainers.metrics.measures import Measures
from trainers.object_removal import benchmark_measures
from trainers.runs.records import Scalar

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SCRIPTS = [path for path in sorted(ASSETS.rglob("*.js")) if "recorded" not in path.parts]
GENERIC = {"AP_level_l", "loss", "term/*", "images", "queries", "sentences"}  # words of the language too
FIELD = re.compile(r"\{([^}@]+)(?:@step)?\}")


@pytest.fixture(params=[METRIC_LEARNING, FINETUNING, CONTRASTIVE], ids=["metric_learning", "finetuning", "contrastive"])
def measures(request) -> Measures:
    return request.param


def test_every_key_of_a_kind_is_in_the_catalogue(measures: Measures):
    keys = [*measures.numbers, *measures.whole, *measures.headline, *measures.summary, *measures.remarks]
    keys += [key for panel in measures.panels for key in (panel.key, panel.dashed) if key]
    keys += [field for text in (*measures.part, *measures.whole_test) for field in FIELD.findall(text)]
    keys += [key for key in measures.later if key not in MEASURES]
    keys += [key for profile in measures.profiles for key in (profile.share, *profile.beside)] + [*measures.diagnosed]
    assert {name for profile in measures.profiles for name in (profile.key, profile.marks)} <= set(MEASURES)
    keys += [key for plot in measures.plots for key in plot.keys()]  # noqa: SIM118  (a method of plots)
    for key in (key for key in keys if key not in MEASURES):
        assert measures.describe(key).measure.name in MEASURES, key
    assert set(measures.titles) <= set(MEASURES)
    assert not FIELD.findall(measures.whole_test[-1])  # for runs without counts
    assert json.loads(json.dumps(measures.json())) == measures.json()


def test_every_key_of_the_benchmark_is_in_the_catalogue():
    told = benchmark_measures.measures_json(["t2i_R_at_5"])
    for number in (*told["headline"], *told["bars"], *told["all"]):
        assert number["title"] != number["key"] and number["sentence"]


def test_what_the_final_numbers_are_about():
    assert METRIC_LEARNING.scored({}) == "whole test set"
    capped = METRIC_LEARNING.scored({"images": 1000.0, "images_before_cap": 60995.0})
    assert capped == "test set, 1,000 of its 60,995 images under the cap"
    few = FINETUNING.scored({"queries": 12.0, "sentences": 5.0, "photos_of_each_split": 300.0})
    assert few == "12 removals against 5 captions, of 300 images of each split at most"


def test_the_page_is_told_the_words_of_every_key(tmp_path: Path):
    page = Page(tmp_path / "runs", tmp_path / "recorded", ASSETS)
    folder = make_run(tmp_path / "runs", points=48, frames=2)
    folder.db.add_metrics([Scalar(arm=0, step=1, seconds=0.0, key="test/" * 500 + "<b>", value=1.0)])
    about, news = page.json(f"run/{folder.id}"), page.json(f"run/{folder.id}/poll?after=-1&row=0")
    assert about["measures"] == METRIC_LEARNING.json() | {"begins": "untrained"}
    assert set(news["keys"]) == {key for _, _, key, _ in news["metrics"]}
    assert news["keys"]["AP_level1"] == {"name": "AP_level_l", "title": "AP, kind", "unit": "share", "curve": True}
    assert news["keys"]["test/HAP"]["curve"] is False
    assert page.json(f"run/{folder.id}/poll?after=-1&row={news['row']}")["keys"] == {}


def test_no_script_knows_a_number():
    words = [word for name, of in MEASURES.items() if name not in GENERIC for word in (of.name, of.title)]
    stems = {re.split(r"_at_k|_level_l|@k", word)[0]: word for word in words}
    texts = {script.name: script.read_text() for script in SCRIPTS}
    for stem, word in stems.items():
        cut = "" if stem == word else r"(?:_at_|@)"
        alone = re.compile(rf"(?<![\w-]){re.escape(stem)}{cut}(?![a-z]\w)")
        assert [name for name, text in texts.items() if stem in text and alone.search(text)] == [], word


def test_no_script_lists_phases():
    lists = re.compile(r"\[[^\]]*\"(?:stopped|finished|failed|interrupted|paused)\"[^\]]*\]")
    assert [script.name for script in SCRIPTS if lists.search(script.read_text())] == []
