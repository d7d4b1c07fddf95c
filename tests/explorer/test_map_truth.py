"""What the page and the exports are told of maps, and neighbours of a query against a slow, independent reading."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path

import httpx
import numpy as np
import pytest

from explorer.exports.pages import write_replay
from explorer.exports.tables import write_metrics
from explorer.server import maps as told
from explorer.server.library import Library
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.server.visitors import digest
from explorer.settings import Settings
from explorer.tabs.live.neighbours import neighbours
from tests.explorer.page import Client, Page, Watched, error, routes
from tests.metrics import slow
from tests.synthetic import make_run
from trainers.errors import RunError
from trainers.metrics.catalogue import maps
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.runs.records import REFINED, Frame, Snapshot


def measured(frame: Frame, k: int, continuity: float = 0.9, **changes: object) -> Frame:
    """The frame as UMAP's, with numbers; those of the second arm have no third level."""
    measures = {maps.AGREEMENT: 0.25, maps.NOISE_FLOOR: 0.1, maps.EPOCHS: 20.0}
    for level in range(3):
        measures[maps.at_level(maps.TRUSTWORTHINESS, level)] = 0.95
        measures[maps.at_level(maps.CONTINUITY, level)] = continuity if level == 1 else 0.97
    arms = [dataclasses.replace(arm, method="umap", measures=measures, **changes) for arm in frame.arms]
    cut = {key: value for key, value in measures.items() if not key.endswith("level2")}
    arms[1] = dataclasses.replace(arms[1], measures=cut)
    return dataclasses.replace(frame, k=k, arms=tuple(arms))


def run_with_maps(root: Path, *, refined: bool, **settings: object) -> RunFolder:
    folder = make_run(root, points=48, frames=3, **settings)
    for k in range(3):
        folder.add_frame(measured(folder.frame(k), k, continuity=0.6))
    if refined:
        folder.add_frame(measured(folder.frame(2), REFINED + 2, quality=0.4, drift=0.2))
    return folder


def test_a_frame_says_what_is_true_of_its_maps(page: Page, root: Path) -> None:
    folder = run_with_maps(root, refined=False)
    about = page.json(f"run/{folder.id}")
    keys = [figure["key"] for figure in about["map_figures"]]
    assert keys == list(told.FIGURES) and all(figure["sentence"].endswith(".") for figure in about["map_figures"])
    first, second = page.json(f"run/{folder.id}/frameinfo/1")["arms"]
    assert first["measures"] == dict(zip(keys, ([0.95] * 3, [0.97, 0.6, 0.97], 0.25), strict=True))
    assert second["measures"][keys[1]] == [0.97, 0.6, None] and first["floor"] == 0.1
    assert [len(sentences) for sentences in first["remarks"]] == [0, 1, 0]
    assert "further apart than they are" in first["remarks"][1][0] and "0.40" in first["remarks"][1][0]


@pytest.mark.parametrize(("trust", "continuity", "words"), [
    (0.79, 1.0, ["overlap on the map"]), (1.0, 0.79, ["further apart"]), (0.8, 0.8, []), (None, None, [])
])  # fmt: skip
def test_sentences_stand_where_a_map_misleads(trust: float | None, continuity: float | None, words: list[str]) -> None:
    given = {maps.at_level(maps.TRUSTWORTHINESS, 0): trust, maps.at_level(maps.CONTINUITY, 0): continuity}
    said = told.remarks({key: value for key, value in given.items() if value is not None}, 0, "kind")
    assert len(said) == len(words) and all(word in sentence for word, sentence in zip(words, said, strict=True))


def test_the_refined_map_is_the_last_frame_and_knows_the_one_before(page: Page, root: Path) -> None:
    folder = run_with_maps(root, refined=True)
    last = REFINED + 2
    frames = [[0, 0], [1, 25], [2, 50], [last, 50, 1]]
    assert page.json(f"run/{folder.id}")["frames"] == frames
    poll = page.json(f"run/{folder.id}/poll?after=1&row=0")
    assert poll["frames"] == frames[2:] and poll["frame"]["k"] == last and poll["refinement"] == "made"
    arm = poll["frame"]["arms"][0]
    assert poll["frame"]["refined"] and (arm["quality"], arm["before"]["quality"]) == (0.4, 0.3)
    assert arm["before"]["measures"][maps.CONTINUITY] == [0.97, 0.6, 0.97]
    assert page.get(f"run/{folder.id}/frame/{last}").content == page.get(f"run/{folder.id}/frame/2").content
    near = [page.json(f"run/{folder.id}/neighbours/{k}/5")["arms"] for k in (2, last)]
    assert near[0] == near[1]  # the space is the same
    again = page.json(f"run/{folder.id}/poll?after={last}&row={poll['row']}")
    assert again["frames"] == [] and again["frame"] is None and not again["rewound"]
    folder.rewind(50)  # it is trained further
    after = page.json(f"run/{folder.id}/poll?after={last}&row={poll['row']}")
    assert after["rewound"] and after["frames"] == frames[:3]


def test_neighbours_that_are_shown_are_exact_whatever_the_map_was_made_of(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=2)
    exact = page.json(f"run/{folder.id}/neighbours/1/5")["arms"]
    frame = folder.frame(1)
    wrong = [dataclasses.replace(arm, neighbours=arm.neighbours[::-1].copy()) for arm in frame.arms]
    marked = [dataclasses.replace(arm, measures={maps.RECALL: 0.99}) for arm in wrong]
    for arms in (wrong, marked):
        folder.add_frame(dataclasses.replace(frame, arms=tuple(arms)))
        told = Page(root, root / "recorded", root / "assets").json(f"run/{folder.id}/neighbours/1/5")["arms"]
        assert [arm["ids"] == want["ids"] for arm, want in zip(told, exact, strict=True)] == [True, True]


def test_numbers_of_maps_come_once_and_have_curves(page: Page, root: Path) -> None:
    folder = run_with_maps(root, refined=True)
    first = page.json(f"run/{folder.id}/poll?after=1&row=0")["maps"]
    key, other = maps.at_level(maps.CONTINUITY, 1), f"refined_{maps.at_level(maps.CONTINUITY, 1)}"
    assert [row[1:] for row in first["rows"] if row[0] == 0 and row[2] == key] == [[s, key, 0.6] for s in (0, 25, 50)]
    assert [0, 50, other, 0.9] in first["rows"] and [1, 0, maps.KEPT, 0.3] in first["rows"]
    assert first["keys"][key]["curve"] and first["keys"][key]["title"].endswith(", kind")
    assert not first["keys"][other]["curve"] and "after refining" in first["keys"][other]["title"]
    assert page.json(f"run/{folder.id}")["measures"]["later"][-len(maps.CURVES) :] == list(maps.CURVES)
    row = page.json(f"run/{folder.id}/poll?after=1&row=0")["row"]
    more = page.json(f"run/{folder.id}/poll?after=1&row={row}")["maps"]["rows"]
    assert {step for _, step, *_ in more} == {50}
    assert page.json(f"run/{folder.id}/poll?after={REFINED + 2}&row={row}")["maps"] == {"rows": [], "keys": {}}


def test_exports_hold_the_numbers_and_the_refined_map(root: Path, tmp_path: Path) -> None:
    folder = run_with_maps(root, refined=True)
    library = Library(root, tmp_path / "recorded")
    run = library.get(folder.id)
    write_metrics(run, tmp_path / "metrics.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "metrics.csv").read_text())))
    values = {(row["arm"], row["step"], row["key"]): row["value"] for row in rows}
    assert values["0", "25", maps.at_level(maps.CONTINUITY, 1)] == "0.6"
    assert values["1", "50", f"refined_{maps.KEPT}"] == "0.4" and values["0", "50", maps.NOISE_FLOOR] == "0.1"
    write_replay(library, run, tmp_path / "replay.html")
    text = (tmp_path / "replay.html").read_text()
    assert "4 of 4 maps" in text and "Label continuity" in text and "<td>0.90</td>" in text
    library.close()


def test_who_may_ask_for_a_refined_map_and_when(root: Path, tmp_path: Path) -> None:
    settings, watched = Settings(runs=root, recorded=tmp_path / "recorded", public=True), Watched()
    runs, library = Runs(settings, Scheduler(settings, None)), Library(root, settings.recorded)  # type: ignore[arg-type]
    client = Client(routes(library, watched, runs, tmp_path))

    def asked(folder: RunFolder, token: str = "mine") -> httpx.Response:
        write_bytes(folder.path / "owner", digest("mine").encode())
        return client.post(f"run/{folder.id}/refine", **{"x-rankscope-token": token})

    stopped = run_with_maps(root, refined=False, phase="stopped")
    assert told.refinement(library.get(stopped.id)) == "offered"
    assert client.get(f"run/{stopped.id}/refine").status_code != 200
    assert "Only the visitor who started" in error(asked(stopped, "other")) and watched.ids == []
    assert "more epochs" in asked(stopped).text
    assert told.refinement(library.get(stopped.id)) == "awaited" and stopped.map_numbers.wished(2)
    assert watched.ids == [stopped.id]  # the map process looks at what is viewed
    assert "once it has ended" in error(asked(make_run(root, phase="queued")))
    assert "no map" in error(asked(make_run(root, points=48, frames=1, phase="stopped", layout=False)))
    # drawn by an older version: not unasked
    old = make_run(root, points=48, frames=1)
    old.db.write("UPDATE frames SET method = 'umap'")
    assert told.refinement(library.get(old.id)) == "offered"
    library.close()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path, tmp_path / "recorded")


def test_results_and_scores_of_a_query_match_a_slow_reading(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, points=200, frames=3)
    labels = folder.probe().labels
    for k in (0, 2):
        found = neighbours(library, library.get(folder.id), k, 17)
        assert (found["k"], found["index"]) == (k, 17)
        for arm, vectors in zip(found["arms"], folder.embeddings(k), strict=True):
            cosine = vectors.astype(np.float64) @ vectors[17].astype(np.float64)
            order = [i for i in np.argsort(-cosine) if i != 17]
            assert arm["similarity"] == pytest.approx(cosine[order[:10]].tolist(), abs=2e-3)
            assert arm["shared"] == [int((labels[17] == labels[result]).sum()) for result in arm["ids"]]
            assert 17 not in arm["ids"] and len(arm["ids"]) == 10
            levels = [int((labels[17] == labels[result]).sum()) for result in order]
            ap, hap = arm["scores"]
            assert (ap["title"], hap["title"]) == ("AP", "H-AP")
            assert ap["value"] == pytest.approx(slow.score("AP", levels, labels.shape[1]), abs=2e-3)
            assert hap["value"] == pytest.approx(slow.score("HAP", levels, labels.shape[1]), abs=2e-3)


def test_what_is_not_known_of_a_query_is_left_out(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, points=24, frames=3)
    broken = np.full((24, 4), np.nan, dtype=np.float16)
    folder.add_snapshot(Snapshot(k=0, step=0, seconds=0.0, embeddings=(broken, broken)))
    folder.embeddings_path(2).unlink()
    diverged, alone, ids_alone = (neighbours(library, library.get(folder.id), k, 3)["arms"][0] for k in range(3))
    for arm in (diverged, ids_alone):
        assert len(arm["ids"]) == 10 and arm["similarity"] == [None] * 10 and arm["scores"] == []
    (only,) = alone["scores"]
    assert only["key"] == "HAP" and 0 < only["value"] <= 1, "alone in its class it has no AP"


def test_before_the_data_is_read_there_are_no_points(tmp_path: Path, library: Library) -> None:
    folder = make_run(tmp_path, phase="queued")
    with pytest.raises(RunError, match="0 points"):
        neighbours(library, library.get(folder.id), 0, 0)
