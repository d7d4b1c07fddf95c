"""mteb's own evaluation of a run, on a task made here: its numbers, its files, and what was trained on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import tiny_config, write_images
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.runs import RunFolder

PROGRAM = """
import dataclasses, json, sys
from pathlib import Path
import datasets, mteb
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from trainers.retrieval.encoders import encoders_of
from trainers.retrieval.mteb_tasks import evaluate, tasks_named

class Own(type(mteb.get_task("SOPI2IRetrieval"))):
    def load_data(self, *args, **kwargs):
        folder, rows = Path(sys.argv[2]), []
        for part in ("train", "test"):
            rows += [(f"{at.parent.name}-{at.stem}", at) for at in sorted((folder / part).rglob("*.png"))]
        images = datasets.Dataset.from_dict(
            {"id": [name for name, _ in rows], "image": [str(at) for _, at in rows]}
        ).cast_column("image", datasets.Image())
        of = {name: name.split("-")[0] for name, _ in rows}
        same = {one: {two: 1 for two in of if two != one and of[two] == of[one]} for one in of}
        split = RetrievalSplitData(corpus=images, queries=images, relevant_docs=same, top_ranked=None)
        self.dataset, self.data_loaded = {"default": {"test": split}}, True

root, run = Path(sys.argv[1]), sys.argv[3]
encoders = encoders_of(run, root)
scores = evaluate(encoders, 0, [Own()], root.parent / "out")
told = [dataclasses.asdict(one) for one in scores]
try:
    tasks_named(["None"])
except Exception as error:
    told.append(str(error))
print(json.dumps(told))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.version_info < (3, 11), reason="mteb needs Python 3.11")
def test_mteb_scores_a_run_and_tells_what_was_trained_on(tmp_path: Path) -> None:
    images = write_images(tmp_path / "images")
    loop = MetricLearningLoop(RunFolder.create(tmp_path / "runs", tiny_config(images, "supcon_out")))
    loop.advance(60)
    loop.checkpoint()
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "runs"), str(images), loop.folder.id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    score, refused = json.loads(done.stdout.splitlines()[-1])
    assert refused.startswith("A task of mteb ") and "SOPI2IRetrieval" in refused
    assert (score["task"], score["measure"]) == ("SOPI2IRetrieval", "hit_rate_at_1")
    # 8 classes of 6 images are trained on, and each image is a query and a document
    assert (score["images"], score["trained"]) == (2 * (8 + 6) * 6, 2 * 8 * 6)
    written = [json.loads(path.read_text()) for path in (tmp_path / "out").rglob("SOPI2IRetrieval.json")]
    assert [one["mteb_version"] for one in written] == [score["version"]]
    assert written[0]["scores"]["test"][0]["hit_rate_at_1"] == pytest.approx(score["score"])
    assert 0 < score["score"] <= 1
