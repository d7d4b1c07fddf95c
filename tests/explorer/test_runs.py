"""Start, pause, resume, stop, delete and survive, with real processes that keep the trainer's contract; the queue."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.server.queue import Job, next_up, ordered, wait
from explorer.server.visitors import digest
from explorer.settings import Limits
from tests.synthetic import make_run
from trainers.errors import RunError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.records import RunState


def jobs(*owners: str, minutes: float | None = 2.0) -> list[Job]:
    return [Job(id=f"{i:026d}", owner=owner, since=float(i), minutes=minutes) for i, owner in enumerate(owners)]


def test_first_come_first_served_and_an_owner_at_the_cap_holds_nobody_up():
    waiting = jobs("a", "b", "c")
    assert [job.id for job in next_up(waiting[::-1], [], 2, None)] == [waiting[0].id, waiting[1].id]
    resumed = Job(id="0" * 26, since=100.0)
    assert ordered([resumed, *jobs("a", "b")])[-1] is resumed
    assert [job.owner for job in next_up(jobs("a", "a", "b"), jobs("a"), 3, 1)] == ["b"]


def test_a_run_of_several_gpus_gets_them_at_once_or_waits_and_is_not_passed():
    first, large, small = Job(id="1", since=1.0), Job(id="2", since=2.0, slots=4), Job(id="3", since=3.0)
    assert next_up([large, small], [first], 4, None) == []
    assert next_up([large, small], [], 4, None) == [large]
    assert next_up([small], [first], 4, None) == [small]
    assert wait([large], [first], 4, "2").minutes is None
    assert wait([large], [Job(id="1", minutes=4.0)], 4, "2").minutes == 1.0


def test_the_estimate_is_the_work_ahead_spread_over_the_slots():
    waiting, training = jobs("a", "b", "c"), [Job(id="9" * 26, minutes=4.0)]
    found = wait(waiting, training, 2, waiting[2].id)
    assert found is not None
    assert (found.position, found.minutes) == (3, (2 + 2 + 4) / 2)
    assert wait(waiting, [Job(id="9" * 26, minutes=None)], 1, waiting[0].id).minutes is None, "nobody knows"
    assert wait(waiting, [], 1, waiting[0].id).minutes == 0.0, "a slot is free"
    assert wait(waiting, [], 1, "7" * 26) is None, "it does not wait"


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=4), st.integers(1, 4))
def test_no_start_passes_the_slots_or_the_cap(waiting: list[str], training: list[str], slots: int):
    busy = [Job(id=f"T{i}", owner=owner) for i, owner in enumerate(training)]
    started = next_up(jobs(*waiting), busy, slots, 1)
    assert len(started) <= max(0, slots - len(busy))
    owners = [job.owner for job in started]
    assert len(owners) == len(set(owners)) and not set(owners) & set(training)


def test_one_trains_and_the_others_wait_their_turn(bench):
    b = bench(how="1")
    first, second, third = (b.runs.start(MetricLearningConfig(minutes=5.0), "") for _ in range(3))
    b.until(first, "running")
    assert [b.runs.position(run) for run in (first, second, third)] == [None, 1, 2]
    place = b.runs.wait(third)
    assert place is not None
    assert 9.0 < place.minutes <= 10.0
    b.until(second, "running", "finished")
    assert b.phase(first) == "finished" and b.phase(third) == "queued"
    assert "left the queue" in b.runs.stop(third, "")
    assert b.phase(third) == "stopped" and b.runs.position(third) is None


def test_pause_resume_stop(bench):
    b = bench()
    run = b.runs.start(MetricLearningConfig(), "one browser")
    b.until(run, "running")
    b.runs.pause(run, "another browser of the same machine")
    b.until(run, "paused")
    b.runs.resume(run, "")
    b.until(run, "running")
    b.runs.stop(run, "")
    b.until(run, "stopped")
    before = b.runs.status(run)["step"]
    b.wait(lambda: not b.scheduler.is_busy(run))
    b.how = "0.1"
    b.runs.resume(run, "")
    assert b.runs.status(run)["step"] == before > 0
    b.until(run, "finished")


def test_stop_after_the_end_is_no_stop(bench):
    b = bench(how="0")
    run = b.runs.start(MetricLearningConfig(), "")
    b.scheduler.tick()
    b.until(run, "finished", ticking=False)
    folder = b.runs.find(run)
    b.wait(lambda: not folder.is_alive(), ticking=False)
    assert b.scheduler.is_busy(run)  # its end is not noted yet
    with pytest.raises(RunError, match="this one is finished"):
        b.runs.stop(run, "")
    assert b.phase(run) == "finished"


def test_ending_one_trainer_notes_the_end_of_the_others(bench):
    b = bench(how="0", max_parallel=2)
    first, second = (b.runs.start(MetricLearningConfig(), "") for _ in range(2))
    b.scheduler.tick()
    b.until(first, "finished", ticking=False)
    b.until(second, "finished", ticking=False)
    b.how = "30"
    for run in (first, second):
        b.wait(lambda run=run: not b.scheduler.is_busy(run))
    third = b.runs.start(MetricLearningConfig(), "")
    b.until(third, "running")


def test_a_waiting_run_whose_folder_vanished_blocks_nobody(bench, caplog):
    b = bench(how="0.1")
    gone, kept = (b.runs.start(MetricLearningConfig(), "") for _ in range(2))
    shutil.rmtree(b.settings.runs / gone)
    b.until(kept, "finished")
    assert not b.scheduler.is_busy(gone) and gone in caplog.text
    assert not (b.settings.runs / gone).exists()


def test_the_thread_of_the_queue_survives_whatever_happens(bench, monkeypatch, caplog):
    b = bench(how="0.1")
    real, failures = b.scheduler.tick, iter([ValueError("odd"), RuntimeError("odder")])

    def tick():
        for failure in failures:
            raise failure
        real()

    monkeypatch.setattr(b.scheduler, "tick", tick)
    run = b.runs.start(MetricLearningConfig(), "")
    b.scheduler.begin()
    b.until(run, "finished", ticking=False)
    assert "odder" in caplog.text


def test_a_trainer_that_dies_early_leaves_its_last_words(bench):
    b = bench(how="dies")
    run = b.runs.start(MetricLearningConfig(), "")
    b.until(run, "failed")
    assert "CUDA driver version is insufficient" in (b.runs.status(run)["error"] or "")
    b.how = "0.1"
    b.runs.resume(run, "")
    b.until(run, "finished")


def test_nothing_is_lost_when_the_program_ends(bench):
    b = bench()
    first, second = (b.runs.start(MetricLearningConfig(), "") for _ in range(2))
    b.until(first, "running")
    b.scheduler.close()
    assert b.phase(first) == "interrupted"
    b.how = "0.1"
    b.open()
    assert b.runs.position(second) == 1
    b.until(second, "finished")
    assert b.phase(first) == "interrupted"
    b.runs.resume(first, "")
    b.until(first, "finished")


def test_a_detached_trainer_outlives_the_program_and_keeps_its_slot(bench):
    b = bench(detach=True)
    first, second = (b.runs.start(MetricLearningConfig(), "") for _ in range(2))
    b.until(first, "running")
    b.scheduler.close()
    folder = RunFolder.open(b.settings.runs, first)
    step = folder.state().step
    b.wait(lambda: folder.state().step > step, ticking=False)
    assert b.phase(first) == "running"
    b.open()
    b.scheduler.tick()
    assert b.phase(second) == "queued"
    b.runs.stop(first, "")
    b.until(first, "stopped")
    b.until(second, "running")
    b.runs.stop(second, "")
    b.until(second, "stopped")


def test_delete(bench):
    b = bench()
    run = b.runs.start(MetricLearningConfig(), "")
    with pytest.raises(RunError, match="stop it before deleting"):
        b.runs.delete(run, "")
    b.until(run, "running")
    with pytest.raises(RunError, match="stop it before deleting"):
        b.runs.delete(run, "")
    b.runs.stop(run, "")
    b.wait(lambda: not b.scheduler.is_busy(run))
    b.runs.delete(run, "")
    assert not (b.settings.runs / run).exists()
    with pytest.raises(RunError, match="There is no run"):
        b.runs.status(run)


def test_on_a_public_page_only_the_owner_controls_a_run(bench):
    b = bench(public=True)
    run = b.runs.start(MetricLearningConfig(), "mine")
    assert b.runs.find(run).owner == digest("mine")
    for act in (b.runs.pause, b.runs.resume, b.runs.stop, b.runs.delete):
        for token in ("theirs", "", "nobody"):
            with pytest.raises(RunError, match="Only the visitor who started"):
                act(run, token)
    b.runs.stop(run, "mine")
    assert b.phase(run) == "stopped"


def test_public_limits(bench):
    b = bench(public=True, limits=Limits(queue=3))
    with pytest.raises(RunError, match="needs an owner"):
        b.runs.start(MetricLearningConfig(), "")
    with pytest.raises(RunError, match="10 minutes at most; got 60"):
        b.runs.start(MetricLearningConfig(minutes=60), "a")
    with pytest.raises(RunError, match="got no limit"):
        b.runs.start(MetricLearningConfig(minutes=None, steps=10), "a")
    for _ in range(2):
        b.runs.start(MetricLearningConfig(), "a")
    with pytest.raises(RunError, match="2 of your runs wait"):
        b.runs.start(MetricLearningConfig(), "a")
    b.runs.start(MetricLearningConfig(), "b")
    with pytest.raises(RunError, match="3 runs wait already"):
        b.runs.start(MetricLearningConfig(), "c")


def test_a_visitor_trains_one_run_at_a_time_and_blocks_nobody(bench):
    b = bench(public=True, max_parallel=2)
    first, second, other = (b.runs.start(MetricLearningConfig(), token) for token in ("a", "a", "b"))
    b.until(first, "running")
    b.until(other, "running")
    assert b.phase(second) == "queued"


def test_a_run_that_overstays_is_stopped(bench):
    b = bench(public=True, limits=Limits(wall_minutes=0.001))
    run = b.runs.start(MetricLearningConfig(), "a")
    b.until(run, "stopped")


def test_a_recorded_run_is_shown_and_never_changed(bench, tmp_path: Path):
    made = RunFolder.create(tmp_path / "recorded", MetricLearningConfig())
    made.db.set_state(RunState(phase="finished", step=9))
    made.db.close()
    b = bench()
    assert b.runs.status(made.id)["step"] == 9
    assert [(run["id"], run["recorded"]) for run in b.runs.listing()] == [(made.id, True)]
    for act in (b.runs.pause, b.runs.stop, b.runs.delete, b.runs.resume):
        with pytest.raises(RunError, match="recorded run"):
            act(made.id, "")


def test_the_status_is_plain_json_and_names_its_numbers(bench):
    b = bench()
    run = b.runs.start(MetricLearningConfig(), "")
    status = b.runs.status(run)
    assert status["queue_position"] == 1
    assert status["losses"] == ["smooth_ap", "happier"]
    assert status["metrics"] == [{}, {}] and status["measures"] == {}
    assert json.loads(json.dumps(status)) == status
    folder = make_run(b.settings.runs, points=48, frames=2)
    folder.db.close()
    status = b.runs.status(folder.id)
    assert set(status["measures"]) == {key for numbers in status["metrics"] for key in numbers}
    assert status["measures"]["R_at_1"] == {"title": "R@1", "unit": "share", "better": "up"}
    assert status["measures"]["loss"]["better"] == "down"


def test_the_status_warns_of_batches_that_do_not_suit_a_loss(bench):
    b = bench()
    odd = Choice(name="contextual", parameters={"k": 5})
    said = b.runs.status(b.runs.start(MetricLearningConfig(losses=(odd,)), ""))["advice"]
    assert len(said) == 1 and "k is 5, with 4 images per class" in said[0]
    for other in (Choice(name="of_another_version"), Choice(name="contextual", parameters={"gone": 1})):
        folder = RunFolder.create(b.settings.runs, MetricLearningConfig(losses=(other,)))
        folder.db.close()
        assert b.runs.status(folder.id)["advice"] == []
