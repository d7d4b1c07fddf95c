"""The shipped models show what they are shipped for; the command behind them, at a toy size."""

from __future__ import annotations

import dataclasses

import pytest

from explorer.tabs.object_removal.first import OPENING, TAKEN
from tests.make import tiny_clip
from trainers.data.synthetic.scenes import DrawnScenes, drawn_scenes
from trainers.image_text.models import MODELS
from trainers.image_text.models.tiny_clip import WEIGHTS
from trainers.metrics.bitmasks import CORRECT
from trainers.object_removal.benchmark import BenchmarkEvaluator, make_benchmark
from trainers.object_removal.vocabulary import load_words

SMALL = ["--scenes", "60", "--threads", "1"]


@pytest.mark.long
def test_weights_are_trained_mended_and_written(tmp_path, capsys):
    assert tiny_clip.main([*SMALL, "--steps", "2", "--finetune-steps", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in ("tiny_clip", "tiny_clip_mended"):
        assert (tmp_path / name / WEIGHTS).stat().st_size < 6_000_000
        MODELS["tiny_clip"].build({"weights": str(tmp_path / name)})
        card = (tmp_path / name / "README.md").read_text()
        assert "python -m tests.make.tiny_clip" in card and "ODmAP_at_1" in card and f"{name}:" in said
    first = (tmp_path / "tiny_clip" / WEIGHTS).read_bytes()
    assert first != (tmp_path / "tiny_clip_mended" / WEIGHTS).read_bytes()
    assert tiny_clip.main([*SMALL, "--keep-base", "--finetune-steps", "1", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "tiny_clip" / WEIGHTS).read_bytes() == first


@pytest.fixture(scope="module")
def asked():
    """Both models before the first 120 test scenes, every removal of each, against the sentences of 600 scenes."""
    found = drawn_scenes(DrawnScenes())
    few = {"train": found.splits["train"][:480], "test": found.splits["test"][:120]}
    found = dataclasses.replace(found, splits=few)
    models = [MODELS[name].build({}).eval() for name in ("tiny_clip", "tiny_clip_mended")]
    benchmark = make_benchmark(found, load_words().with_classes(found.classes), models[0].side, every=True)
    return benchmark, [BenchmarkEvaluator(benchmark, model).evaluate(model) for model in models]


@pytest.mark.long
def test_mending_gains_and_recall_stays(asked):
    _, (base, mended) = asked
    before, after = base.means(), mended.means()
    for key in ("ODmAP_at_1", "rerendered_ODmAP_at_1"):
        assert after[key] > before[key] + 0.04, key
    assert after["hallucination_at_1"] < before["hallucination_at_1"] - 0.04
    assert after["i2t_R_at_5"] > before["i2t_R_at_5"] - 0.05
    assert before["original_names_at_1"] > 0.7  # with the object there, its name is right, and both say it


def test_the_page_opens_where_the_models_differ(asked):
    benchmark, (base, mended) = asked
    row = next(
        row
        for row, removal in enumerate(benchmark.removals)
        if removal.scene.image_id == OPENING and removal.judgement.chosen == TAKEN
    )
    wrong = [(result.filled.verdicts[row][:5] < 2).sum() for result in (base, mended)]  # name what is gone
    assert wrong[0] >= 3 and wrong[1] <= wrong[0] - 2
    assert mended.filled.verdicts[row][0] == CORRECT != base.filled.verdicts[row][0]
    drawn = [(result.rerendered.verdicts[row][:5] < 2).sum() for result in (base, mended)]
    assert drawn[0] > drawn[1], "the fill gives nothing away"
