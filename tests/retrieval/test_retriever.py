"""The retriever against a slow search, and what happens where one run cannot answer."""

from __future__ import annotations

import dataclasses
import gc
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.retrieval.conftest import contrastive_config, trained
from tests.tiny import tiny_config, write_images
from trainers.data import load_data
from trainers.errors import DataError, UserError
from trainers.kinds import kind_of
from trainers.metrics import evaluate
from trainers.metrics.scores import score_query
from trainers.parameters import Choice
from trainers.retrieval.reranking import RERANKINGS
from trainers.retrieval.results import ArmResult, Query, Ranking, RunArm
from trainers.retrieval.retriever import SCORES, Retriever
from trainers.retrieval.vectors import QueryComparison, Vectors
from trainers.runs import RunFolder, list_runs
from trainers.training.embedding import embed

TEST, PROBE, TRAIN = (Choice(name=name) for name in ("test", "probe", "train"))


def arms(*folders: RunFolder) -> list[RunArm]:
    return [RunArm(folder=folder, arm=arm) for folder in folders for arm in range(folder.config.arms)]


def ranking(arm: ArmResult) -> Ranking:
    assert arm.error is None and arm.final is not None, arm.error
    return arm.final


def trained_encoder(folder: RunFolder, arm: int) -> torch.nn.Module:
    """The encoder that the training loop itself evaluates, continued from the checkpoint."""
    return kind_of(folder.config).loop()(folder).arms[arm].encoder  # type: ignore[attr-defined]


@pytest.mark.parametrize("which", ["run", "contrastive_run"])
@pytest.mark.parametrize("part", ["test", "train"])
def test_results_are_those_of_a_slow_search(which: str, part: str, request: pytest.FixtureRequest) -> None:
    folder: RunFolder = request.getfixturevalue(which)
    data = load_data(folder.config.data)  # type: ignore[attr-defined]
    split = getattr(data, part)
    retrieval = Retriever().retrieve(arms(folder), Query(row=5), Choice(name=part), k=12)
    assert retrieval.query == 5 and retrieval.count == len(split) and retrieval.levels == data.hierarchy.levels
    assert retrieval.classes == tuple(
        names[label] for names, label in zip(data.hierarchy.names, split.labels[5], strict=True)
    )
    for number, answer in enumerate(retrieval.arms):
        rows = embed(trained_encoder(folder, number), split.images, torch.device("cpu")).double()
        similarity = (rows @ rows[5]).numpy()
        expected = [row for row in np.argsort(-similarity, kind="stable") if row != 5][:12]
        results = ranking(answer).results
        assert [result.row for result in results] == expected
        assert np.allclose([result.similarity for result in results], similarity[expected], atol=1e-6)
        labels = split.labels.numpy()
        for result in results:
            shared = [level for level in range(2) if labels[result.row, level] == labels[5, level]]
            assert result.severity == len(shared)
            if not shared:
                assert result.ancestor is None
            else:
                assert result.ancestor is not None and result.ancestor.level == min(shared)
                assert result.ancestor.name == data.hierarchy.names[min(shared)][labels[5, min(shared)]]
        others = torch.arange(len(rows)) != 5
        values = evaluate(rows[5:6], split.labels[5:6], rows[others], split.labels[others], SCORES, True)
        defined = {key: float(value[0]) for key, value in values.items() if value[0] == value[0]}
        assert dict(ranking(answer).scores) == pytest.approx(defined)
        assert answer.index is not None and answer.index.name == "flat" and answer.index.recall == 1


def test_the_probe_is_searched_at_any_stored_step(run: RunFolder) -> None:
    retriever, probe = Retriever(), run.probe()
    assert probe is not None
    for k, step, _ in run.snapshots():
        retrieval = retriever.retrieve(arms(run), Query(row=2), PROBE, k=4, step=step + 1 if step else 0)
        for number, answer in enumerate(retrieval.arms):
            rows = run.embeddings(k)[number].astype(np.float64)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            order = [row for row in np.argsort(-rows @ rows[2], kind="stable") if row != 2]
            assert answer.step == step and [result.row for result in ranking(answer).results] == order[:4]
    with pytest.raises(UserError, match="Earlier steps are stored for the images on the maps alone"):
        retriever.retrieve(arms(run), Query(row=2), TEST, step=0)


def test_a_row_of_another_gallery_is_found_where_it_is(run: RunFolder) -> None:
    retriever, probe = Retriever(), run.probe()
    assert probe is not None
    retrieval = retriever.retrieve(arms(run), Query(row=4, collection=PROBE), TEST, k=35)
    assert retrieval.query == probe.rows[4]
    assert all(probe.rows[4] not in [result.row for result in ranking(answer).results] for answer in retrieval.arms)
    other = retriever.retrieve(arms(run), Query(row=4, collection=TEST), TRAIN, k=3)
    assert other.query is None and len(ranking(other.arms[0]).results) == 3
    everything = retriever.retrieve(arms(run), Query(row=0), TEST, k=1000)
    assert sorted(result.row for result in ranking(everything.arms[0]).results) == list(range(1, 36))


def test_an_image_is_its_own_nearest(run: RunFolder, contrastive_run: RunFolder, images: Path) -> None:
    data = (images / "test" / "group0" / "colour08" / "0.png").read_bytes()
    retrieval = Retriever().retrieve(arms(run, contrastive_run), Query(image=data), TEST, k=2, home=run)
    assert retrieval.classes is None and "no severities" in retrieval.notes[0]
    for answer in retrieval.arms:
        assert ranking(answer).results[0].row == 0 and ranking(answer).results[0].similarity > 0.9999
        assert ranking(answer).results[0].severity is None and not ranking(answer).scores
    with pytest.raises(DataError, match="not an image"):
        Retriever().retrieve(arms(run), Query(image=b"no image"), TEST)


def test_a_run_that_cannot_answer_stops_no_other(run: RunFolder, tmp_path: Path) -> None:
    copies = []
    for name in ("no checkpoint", "other network", "gone", "no configuration"):
        path = tmp_path / name / run.id
        shutil.copytree(run.path, path)
        copies.append(RunFolder(path))
    shutil.rmtree(copies[0].path / "ckpt")
    config = json.loads((copies[1].path / "config.json").read_text())
    config["dim"] = 32
    (copies[1].path / "config.json").write_text(json.dumps(config))
    shutil.rmtree(copies[2].path)
    (copies[3].path / "config.json").write_text("{")
    retrieval = Retriever().retrieve([RunArm(folder=one, arm=0) for one in (*copies, run)], Query(row=1), TEST, k=3)
    assert [arm.error is None for arm in retrieval.arms] == [False, False, False, False, True]
    for answer, words in zip(
        retrieval.arms, ("no checkpoint", "not the one of its conf", "no run", "no readable"), strict=False
    ):
        assert words in str(answer.error) and answer.ranking is None
    with pytest.raises(UserError):
        Retriever().retrieve([RunArm(folder=copies[2], arm=0)], Query(row=1), TEST)


def test_a_run_deleted_meanwhile_says_so(run: RunFolder, copy: RunFolder) -> None:
    retriever, both = Retriever(), [RunArm(folder=run, arm=0), RunArm(folder=copy, arm=1)]
    assert [arm.error for arm in retriever.retrieve(both, Query(row=1), TEST).arms] == [None, None]
    shutil.rmtree(copy.path)
    errors = [arm.error for arm in retriever.retrieve(both, Query(row=1), TEST).arms]
    assert errors[0] is None and "may have been deleted" in str(errors[1])


def test_a_frame_that_was_written_again_is_searched_as_it_is_now(
    copy: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    retriever = Retriever()
    k = max(k for k, _, _ in copy.snapshots())
    for turn in range(2):  # the second time with the images the other way round
        for one in (retriever, Retriever()):
            for index in ("flat", "hnsw"):
                retrieval = one.retrieve(arms(copy), Query(row=1), PROBE, k=5, index=Choice(name=index))
                rows = copy.embeddings(k)[0].astype(np.float64)
                cosine = rows @ rows[1] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[1])
                cosine[1] = -2
                for result in ranking(retrieval.arms[0]).results:
                    assert result.similarity == pytest.approx(cosine[result.row], abs=1e-5), (turn, index)
        tensors = {name: value.flip(0).contiguous() for name, value in load_file(copy.embeddings_path(k)).items()}
        save_file(tensors, copy.embeddings_path(k))


@pytest.mark.parametrize("spoiled", [0.0, np.nan])
def test_kept_embeddings_that_were_damaged_are_made_again(
    spoiled: float, run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path))
    wanted = Retriever().retrieve(arms(run), Query(row=1), TEST, k=20)
    for path in tmp_path.glob("vectors/*/vectors.npy"):
        kept = np.load(path, mmap_mode="r+")
        kept[5:20] = spoiled
        kept.flush()
    retrieval = Retriever().retrieve(arms(run), Query(row=1), TEST, k=20)
    assert [ranking(arm) for arm in retrieval.arms] == [ranking(arm) for arm in wanted.arms]


def test_a_checkpoint_that_was_written_again_is_read_again_and_diverged_training_an_error(copy: RunFolder) -> None:
    checkpoint, retriever = copy.read_checkpoint(), Retriever()
    assert checkpoint is not None
    tensors, about = checkpoint
    before = retriever.retrieve(arms(copy), Query(row=1), TEST, k=35)
    first = {name: value for name, value in tensors.items() if name.startswith("arm0/enc")}
    copy.write_checkpoint(tensors | {name.replace("0", "1", 1): value.clone() for name, value in first.items()}, about)
    again = retriever.retrieve(arms(copy), Query(row=1), TEST, k=35)
    assert ranking(before.arms[1]) != ranking(again.arms[1]) == ranking(again.arms[0]) == ranking(before.arms[0])
    gone = {name: value * torch.nan for name, value in tensors.items() if name.startswith("arm1/enc")}
    copy.write_checkpoint(tensors | {name: gone[name] for name in gone if tensors[name].is_floating_point()}, about)
    first, second = retriever.retrieve(arms(copy), Query(row=1), TEST, k=3).arms
    assert first.error is None and "training diverged" in str(second.error)


def test_wrong_questions_are_refused(run: RunFolder) -> None:
    retriever = Retriever()
    for query, gallery, options, words in (
        (Query(row=36), TEST, {}, "36 images, numbered from 0; got 36"),
        (Query(row=-1), TEST, {}, "got -1"),
        (Query(), TEST, {}, "got neither"),
        (Query(row=1, image=b"x"), TEST, {}, "got both"),
        (Query(row=1), Choice(name="attic"), {}, "no gallery 'attic'"),
        (Query(row=1), TEST, {"k": 0}, "k needs a whole number"),
        (Query(row=1), TEST, {"index": Choice(name="tree")}, "no index 'tree'"),
        (Query(row=1), TEST, {"index": Choice(name="hnsw", parameters={"links": 0})}, "links needs"),
    ):
        with pytest.raises(UserError, match=words):
            retriever.retrieve(arms(run), query, gallery, **options)  # type: ignore[arg-type]
    (answer,) = retriever.retrieve([RunArm(folder=run, arm=2)], Query(row=1), TEST).arms
    assert "2 arms, counted from 0; got 2" in str(answer.error)


def test_another_dataset_is_related_by_the_names_of_its_classes(run: RunFolder, images: Path, tmp_path: Path) -> None:
    retriever = Retriever()
    same = Choice(name="dataset", parameters={"source": str(images), "part": "train"})
    retrieval = retriever.retrieve(arms(run), Query(row=3, collection=TEST), same, k=5)
    assert retrieval.query is None and {result.severity for result in ranking(retrieval.arms[0]).results} <= {0, 1}
    flat = Choice(name="dataset", parameters={"source": str(write_images(tmp_path / "flat"))})
    retrieval = retriever.retrieve(arms(run), Query(row=3, collection=TEST), flat, k=5)
    assert "is not known" in retrieval.notes[0] and ranking(retrieval.arms[0]).results[0].severity is None
    retrieval = retriever.retrieve(arms(run), Query(row=3), flat, k=5)
    assert retrieval.query == 3 and ranking(retrieval.arms[0]).results[0].severity in (0, 1)


def test_images_of_another_size_are_read_at_the_size_of_the_encoder(run: RunFolder, images: Path) -> None:
    config = tiny_config(images, data=dataclasses.replace(run.config.data, image_size=16))  # type: ignore[attr-defined]
    other = trained(run.path.parent, config)
    retrieval = Retriever().retrieve(arms(run, other), Query(row=5), TEST, k=3)
    assert [arm.error for arm in retrieval.arms] == [None] * 4


@pytest.mark.parametrize("norm", ["batch", "group", "layer"])
def test_every_normalisation_is_built_again(norm: str, images: Path, tmp_path: Path) -> None:
    folder = trained(tmp_path, contrastive_config(images, norm=norm, steps=1))
    assert [arm.error for arm in Retriever().retrieve(arms(folder), Query(row=1), TEST).arms] == [None, None]


@pytest.mark.parametrize("name", RERANKINGS)
def test_re_ranking_reorders_the_first_results_and_is_scored(name: str, run: RunFolder) -> None:
    plain = Retriever().retrieve(arms(run), Query(row=5), TEST, k=35)
    retrieval = Retriever().retrieve(arms(run), Query(row=5), TEST, k=35, rerank=Choice(name=name))
    for before, after in zip(plain.arms, retrieval.arms, strict=True):
        assert after.error is None and after.ranking == before.ranking and after.reranked is not None
        assert before.ranking is not None and before.reranked is None
        rows = [result.row for result in after.reranked.results]
        assert sorted(rows) == sorted(result.row for result in before.ranking.results)
        labels = load_data(run.config.data).test.labels.numpy()  # type: ignore[attr-defined]
        match = (labels == labels[5])[rows]
        assert dict(after.reranked.scores) == score_query(match, SCORES, order=np.arange(35))
    with pytest.raises(UserError, match="no re-ranking 'magic'"):
        Retriever().retrieve(arms(run), Query(row=5), TEST, rerank=Choice(name="magic"))


def test_the_recorded_comparison_is_searched_without_its_images() -> None:
    root = Path(__file__).parents[2] / "assets" / "recorded"
    recorded = [run for run in list_runs(root, read_only=True) if run.config.kind == "metric_learning"]
    assert len(recorded) == 10
    for folder in recorded[::5]:
        retrieval = Retriever().retrieve(arms(folder), Query(row=5), PROBE, k=3)
        assert [arm.error for arm in retrieval.arms] == [None] * folder.config.arms
        json.dumps(retrieval.as_json(), allow_nan=False)


def test_kept_vectors_are_bounded_and_their_copies_count(run: RunFolder, contrastive_run: RunFolder) -> None:
    before, compared = (len(alive(kind)) for kind in (Vectors, QueryComparison))
    small = Retriever(memory=8 * 1024)
    for part in (TEST, PROBE, TRAIN):
        small.retrieve(arms(run, contrastive_run), Query(row=1), part, k=2)
    assert len(alive(QueryComparison)) - compared == 8, "of the arms searched last, whatever they take"
    assert len(alive(Vectors)) - before == 8, "an exact index keeps none beside them"
    assert all(one.bytes == 3 * one.vectors.rows.nbytes for one in alive(QueryComparison)), "with a copy in float64"


def alive(kind: type) -> list[Any]:
    """Objects of a class that are in memory."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is kind]
