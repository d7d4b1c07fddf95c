"""One progress for several stages: it never falls back, and ends at the whole."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.finetuning.world import mend_config, write_coco
from trainers.config import SceneChoice
from trainers.data.synthetic.scenes import DrawnScenes, drawn_scenes
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.loop import FinetuningLoop
from trainers.object_removal.benchmark import Evaluator, make_benchmark
from trainers.object_removal.vocabulary import load_words
from trainers.runs import RunFolder
from trainers.training.progress import Stages, with_share


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_stages_tell_the_whole_goes_forward(seed):
    rng, said = np.random.default_rng(seed), []
    weights = rng.uniform(0.1, 5, int(rng.integers(1, 6))).tolist()
    stages = Stages(lambda text, done: said.append((text, done)), weights)
    for number in range(len(weights)):
        tell = stages.next()
        for fraction in (*rng.uniform(0, 1, int(rng.integers(0, 5))), 1.0):
            tell(f"stage {number}", float(fraction))
        assert said[-1] == (f"stage {number}", pytest.approx(sum(weights[: number + 1]) / sum(weights)))
    fractions = [done for _, done in said]
    assert fractions == sorted(fractions) and fractions[0] >= 0 and fractions[-1] == pytest.approx(1)
    with pytest.raises(StopIteration):
        stages.next()


@pytest.mark.parametrize(
    ("text", "fraction", "said"),
    [
        ("loading the model", 0.35, "loading the model, 35%"),
        ("Decoding images: 0 of 1,879", 0.35, "Decoding images: 0 of 1,879"),  # 35 % of what is none of 1,879?
        *(("loading the model", none, "loading the model") for none in (0.0, 1.0)),
    ],
)
def test_what_counts_for_itself_is_told_without_the_share_of_the_whole(text, fraction, said):
    assert with_share(text, fraction) == said


@pytest.mark.parametrize("drawn", [pytest.param(True, marks=pytest.mark.long), False])
def test_setting_up_a_run_and_scoring_it_never_fall_back(tmp_path, drawn):
    config = mend_config(tmp_path / "coco", {"removed": False}, {}, {"fill": "mean"}, {"fill": "mean", "ratio": 0.1})
    if drawn:
        scenes = SceneChoice(source="drawn_scenes:train=150,val=10,test=130")
        config = dataclasses.replace(config, scenes=scenes)
    else:
        write_coco(tmp_path / "coco")
    said: list[tuple[str, float]] = []
    mender = FinetuningLoop(RunFolder.create(tmp_path, config), lambda *one: said.append(one))
    assert len({text for text, _ in said}) >= 4 and [done for _, done in said] == sorted(done for _, done in said)
    scored: list[float] = []
    mender.finish(lambda _, done: scored.append(done))
    assert scored == sorted(scored) and len(scored) >= 4 * 4
    mender.folder.db.close()


def test_a_benchmark_tells_forward_on_its_own():
    found, said = drawn_scenes(DrawnScenes(train=50, val=0, test=140)), []
    model = MODELS["tiny_clip"].build({}).eval()
    benchmark = make_benchmark(found, load_words(), model.side, progress=lambda *one: said.append(one))
    assert [done for _, done in said] == sorted(done for _, done in said)
    assert {"drawing scenes", "filling objects", "matching captions with classes"} <= {text for text, _ in said}
    said.clear()
    Evaluator(benchmark, model).evaluate(model, lambda *one: said.append(one))
    assert [done for _, done in said] == sorted(done for _, done in said) and len({text for text, _ in said}) == 2
