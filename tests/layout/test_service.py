"""Which runs get which frames, with real run folders."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from explorer.layout import service as service_module
from explorer.layout.labels import LabelPairs
from explorer.layout.neighbours import unit_rows
from explorer.layout.quality import drift
from explorer.layout.service import WATCH_SECONDS, LayoutService
from explorer.layout.session import Session
from explorer.layout.snapshots import MOST_FRAMES
from tests.layout.worlds import Always, extend, make_run, set_phase
from tests.synthetic import alive
from trainers.errors import RunError
from trainers.hierarchy import Hierarchy
from trainers.metrics.catalogue import maps
from trainers.runs import RunFolder
from trainers.runs.maps import unpack
from trainers.runs.records import REFINED, Frame, Probe


def _exhaust(service: LayoutService) -> None:
    while service.tick():
        pass


def _service(root: Path, *watched: RunFolder, method: str | None = "pca") -> LayoutService:
    service = LayoutService(root, Always(method))
    for folder in watched:
        service.watch(folder.id)
    return service


def test_a_training_run_is_found_without_being_watched(root: Path) -> None:
    folder = make_run(root, 1, phase="running")
    service = _service(root)
    assert service.tick()
    assert folder.frames() == [0]
    assert not service.tick()
    extend(folder, 1, 2)
    assert service.tick()
    assert folder.frames() == [0, 1]
    assert folder.frame(1).step == 10


def test_a_late_map_of_a_training_run_skips_to_the_newest(root: Path) -> None:
    folder, service = make_run(root, 10, phase="running"), _service(root)
    with alive(folder):
        _exhaust(service)
        assert folder.frames() == [0, 9]
        extend(folder, 10, 12)
        _exhaust(service)
        assert folder.frames() == [0, 9, 10, 11]
        extend(folder, 12, 16)
        _exhaust(service)
        assert folder.frames() == [0, 9, 10, 11, 15]


def test_a_finished_run_is_filled_in_thinned_and_goes_on_where_it_was_broken_off(root: Path) -> None:
    folder, whole = make_run(root, 100), make_run(root, 100)
    first = _service(root, folder)
    for _ in range(20):
        first.tick()
    _exhaust(_service(root, folder, whole))
    frames = folder.frames()
    assert frames == whole.frames() == sorted(frames) and len(frames) == MOST_FRAMES
    assert (frames[0], frames[-1]) == (0, 99)
    last = folder.frames()[-1]
    assert np.array_equal(folder.frame(last).arms[0].xy, whole.frame(last).arms[0].xy)


def test_a_rewound_run_loses_no_frame_and_keeps_no_wrong_one(root: Path) -> None:
    folder = make_run(root, 6)
    service = _service(root, folder)
    _exhaust(service)
    old = folder.frame(2)
    folder.rewind(20)
    extend(folder, 3, 5)
    _exhaust(service)
    assert folder.frames() == [0, 1, 2, 3, 4]
    assert np.array_equal(folder.frame(2).arms[0].xy, old.arms[0].xy)
    assert folder.frame(3).limit >= old.limit
    folder.rewind(-1)  # to its start: it begins anew
    assert not service.tick()
    extend(folder, 0, 2)
    _exhaust(service)
    assert folder.frames() == [0, 1]
    assert folder.frame(0).arms[0].drift == 0


def test_a_frame_whose_snapshot_was_rewound_meanwhile_is_not_announced(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(root, 2)
    session = Session(folder)
    add = folder.add_frame

    def rewind_first(frame: object) -> None:
        folder.rewind(-1)
        add(frame)  # type: ignore[arg-type]

    monkeypatch.setattr(folder, "add_frame", rewind_first)
    assert not session.advance(Always("pca"))
    assert folder.frames() == []


def test_frames_without_a_snapshot_are_cleared_away(root: Path) -> None:
    folder = make_run(root, 3)
    service = _service(root, folder)
    _exhaust(service)
    folder.db.write("DELETE FROM snapshots WHERE k = 2")
    service.tick()
    assert folder.frames() == [0, 1]


def test_two_pages_on_one_folder_take_turns(root: Path) -> None:
    folder, alone = make_run(root, 6), make_run(root, 6)
    services = [_service(root, folder), _service(root, folder)]
    while any([service.tick() for service in services]):
        pass
    _exhaust(_service(root, alone))
    assert folder.frames() == alone.frames()
    assert np.array_equal(folder.frame(5).arms[1].xy, alone.frame(5).arms[1].xy)


def test_a_damaged_frame_starts_the_map_anew_and_keeps_no_other_from_being_filled_in(root: Path) -> None:
    folder = make_run(root, 2)
    _exhaust(_service(root, folder))
    (folder.path / "layout" / "000001.safetensors").write_bytes(b"no")
    extend(folder, 2, 6)
    _exhaust(_service(root, folder))
    assert folder.frames() == list(range(6)) and folder.frame(2).arms[0].drift == 0
    (folder.path / "layout" / "000003.safetensors").write_bytes(b"no")
    folder.db.write("DELETE FROM frames WHERE k IN (2, 4)")
    _exhaust(_service(root, folder))
    assert folder.frames() == list(range(6))


def test_a_run_deleted_under_way_leaves_nothing_behind(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(root, 4)
    session = Session(RunFolder.open(root, folder.id))
    assert session.advance(Always("pca"))
    add = session.folder.add_frame

    def delete_first(frame: object) -> None:
        session.close()
        folder.delete()
        add(frame)  # type: ignore[arg-type]

    monkeypatch.setattr(session.folder, "add_frame", delete_first)
    with pytest.raises((RunError, FileNotFoundError)):
        session.advance(Always("pca"))
    assert not folder.path.exists()
    service = _service(root, folder)
    assert not service.tick()


def test_read_only_runs_are_never_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(root, 3)
    # the tests may run as a user whom permissions do not stop
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert not _service(root, folder).tick()
    assert folder.frames() == []
    assert not (folder.path / "layout").exists()


@pytest.mark.parametrize("name", ["../../etc", "0" * 26, "", "x" * 500])
def test_a_name_that_is_no_run_does_nothing(root: Path, name: str) -> None:
    service = LayoutService(root, Always("pca"))
    service.watch(name)
    assert not service.tick()
    assert list(root.iterdir()) == []


def test_a_run_that_nobody_watches_any_more_rests(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "ACTIVE_SECONDS", -1.0)
    clock = [0.0]
    folder = make_run(root, 5)
    service = LayoutService(root, Always("pca"), now=lambda: clock[0])
    service.watch(folder.id)
    assert service.tick()
    clock[0] = WATCH_SECONDS + 1
    assert not service.tick()
    service.watch(folder.id)
    assert service.tick()
    assert folder.frames() == [0, 1]


@pytest.mark.usefixtures("umap_ready")
def test_a_run_shows_pca_until_umap_is_ready_and_never_goes_back(root: Path) -> None:
    folder, finished = make_run(root, 2, phase="running"), make_run(root, 4)
    _exhaust(_service(root, finished, method=None))
    assert finished.frames() == [0] and finished.frame(0).arms[0].method == "pca", "of a finished run the first alone"
    assert [folder.frame(k).arms[0].method for k in folder.frames()] == ["pca", "pca"]
    extend(folder, 2, 3)
    _exhaust(_service(root, method="umap"))
    assert folder.frame(2).arms[1].method == "umap"
    extend(folder, 3, 4)
    _exhaust(_service(root, method=None))
    assert folder.frames() == [0, 1, 2]
    set_phase(folder, "finished")
    _exhaust(_service(root, method="umap"))
    assert folder.frames() == [0, 1, 2, 3]


def test_a_run_that_is_only_read_is_not_taken_for_one_that_trains(root: Path) -> None:
    folder = make_run(root, 1)
    folder.db.close()
    os.utime(folder.path / "run.db", (1e9, 1e9))
    assert folder.state().phase == "finished"  # reading makes an empty journal that is as young as can be
    service = _service(root)
    assert not service.tick()
    assert folder.frames() == []
    folder.db.close()


def test_what_was_passed_over_is_filled_in_once_training_has_ended(root: Path) -> None:
    folder = make_run(root, 25, phase="running")
    with alive(folder):
        _exhaust(_service(root, folder))
        extend(folder, 25, 33)
        _exhaust(_service(root, folder))
        assert folder.frames() == [0, 24, 32]
        set_phase(folder, "finished")
    service = _service(root, folder)
    order = []
    while service.tick():
        order += [k for k in folder.frames() if k not in (0, 24, 32, *order)]
    assert folder.frames() == list(range(33))
    assert order == [k for k in range(33) if k not in (0, 24, 32)]
    limits = [folder.frame(k).limit for k in folder.frames()]
    assert limits == sorted(limits)


def test_a_process_that_was_away_fills_in_while_training_goes_on_but_seldom(root: Path) -> None:
    folder, clock = make_run(root, 10, phase="running"), [0.0]
    session = Session(folder, now=lambda: clock[0])
    with alive(folder):
        for expected in ([0, 9], [0, 1, 9], [0, 1, 2, 9]):
            for _ in range(6):
                session.advance(Always("pca"))
            assert folder.frames() == expected
            clock[0] += 3.0


@pytest.mark.usefixtures("umap_ready")
def test_a_map_drawn_afterwards_lies_between_its_neighbours(root: Path) -> None:
    folder = make_run(root, 9)
    _exhaust(_service(root, folder, method="umap"))
    folder.db.write("DELETE FROM frames WHERE k = 4")
    (folder.path / "layout" / "000004.safetensors").unlink()
    _exhaust(_service(root, folder, method="umap"))
    assert folder.frames() == list(range(9))
    before, middle, after = (folder.frame(k) for k in (3, 4, 5))
    assert middle.arms[0].method == "umap" and before.limit <= middle.limit <= after.limit
    away, whole = (drift(_xy(one), _xy(before)) for one in (middle, after))
    assert away < 2 * max(whole, 0.2)


def _linked(path: Path) -> None:
    path.rename(path.parents[2] / "outside")
    path.symlink_to(path.parents[2] / "outside")


def _piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("harm", "k"),
    [(lambda path: path.write_bytes(b""), 0), (Path.unlink, 2), (_linked, 1), (_piped, 1), (lambda _: None, 9)],
    ids=["empty", "gone", "a link", "a pipe", "whole"],
)
def test_a_run_whose_trainer_died_is_filled_in_and_damaged_snapshots_are_passed_over(
    harm: Callable[[Path], object], k: int, root: Path
) -> None:
    folder = make_run(root, 4, phase="running")
    harm(folder.embeddings_path(k))
    _exhaust(_service(root, folder))
    assert folder.frames() == [one for one in range(4) if one != k]


def _xy(frame: Frame) -> np.ndarray:
    return unpack(frame.arms[0].xy, frame.limit)


@pytest.mark.usefixtures("umap_ready")
def test_a_finished_run_gets_a_refined_map_and_another_one_when_asked(root: Path) -> None:
    finished, stopped = make_run(root, 2), make_run(root, 2, phase="stopped")
    service = _service(root, finished, stopped, method="umap")
    _exhaust(service)
    assert finished.refined_frame() == (REFINED + 1, 10) and stopped.refined_frame() is None
    assert finished.frames() == [0, 1] and finished.newest_frame() == finished.newest_map() == 1
    last, better = finished.frame(1), finished.frame(REFINED + 1)
    assert (better.step, better.seconds) == (last.step, last.seconds)
    assert np.array_equal(better.arms[0].neighbours, last.arms[0].neighbours)
    assert np.array_equal(finished.embeddings(REFINED + 1)[0], finished.embeddings(1)[0])
    stopped.map_numbers.wish(1)
    _exhaust(service)
    assert stopped.refined_frame() == (REFINED + 1, 10)
    # resumed: the refined map goes, and the next frame follows from the last one that was live
    stopped.rewind(10)
    assert stopped.refined_frame() is None and not stopped.frame_path(REFINED + 1).exists()
    assert not stopped.map_numbers.wished(1) and {one.k for one in stopped.map_numbers.after()} == {0, 1}
    extend(stopped, 2, 3)
    _exhaust(service)
    assert stopped.frames() == [0, 1, 2] and stopped.refined_frame() is None


def test_what_an_older_version_drew_is_refined_only_when_asked(root: Path) -> None:
    folder = make_run(root, 2)
    _exhaust(_service(root, folder))
    folder.db.write("DROP TABLE IF EXISTS map_measures")
    session = Session(folder)
    session.advance(Always("umap"))
    assert not session.refine(Always("umap")) and folder.map_numbers.after() == []
    assert folder.frame(1).arms[0].measures == {}


@pytest.mark.usefixtures("umap_ready")
def test_labels_that_arrive_after_the_first_frame_are_measured_from_then_on(root: Path) -> None:
    folder = make_run(root, 1, phase="running")
    service = _service(root, method="umap")
    _exhaust(service)
    labels = np.stack([np.arange(60) % 10, np.arange(60) % 2], axis=1).astype(np.int32)
    tree = Hierarchy(levels=("fine", "coarse"), names=(tuple("abcdefghij"), ("x", "y")))
    folder.write_probe(Probe(labels=labels, rows=np.arange(60), hierarchy=tree, data_title="t"), [])
    extend(folder, 1, 2)
    _exhaust(service)
    first, second = (folder.frame(k).arms[0].measures for k in (0, 1))
    want = LabelPairs(labels[:, 1]).measure(
        unit_rows(folder.embeddings(1)[0]), unpack(folder.frame(1).arms[0].xy, folder.frame(1).limit)
    )
    key = maps.at_level(maps.CONTINUITY, 1)
    assert key not in first and want is not None and second[key] == want.continuity
