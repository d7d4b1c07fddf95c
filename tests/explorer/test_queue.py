"""The queue as pure functions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from explorer.server.queue import Job, next_up, ordered, wait


def jobs(*owners: str, minutes: float | None = 2.0) -> list[Job]:
    return [Job(id=f"{i:026d}", owner=owner, since=float(i), minutes=minutes) for i, owner in enumerate(owners)]


def test_first_come_first_served():
    waiting = jobs("a", "b", "c")
    assert [job.id for job in next_up(waiting[::-1], [], 2, None)] == [waiting[0].id, waiting[1].id]


def test_a_resumed_run_joins_at_the_end():
    old = Job(id="0" * 26, since=100.0)
    assert ordered([old, *jobs("a", "b")])[-1] is old


def test_an_owner_at_the_cap_holds_nobody_up():
    waiting = jobs("a", "a", "b")
    started = next_up(waiting, jobs("a"), 3, 1)
    assert [job.owner for job in started] == ["b"]


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


def test_an_unknown_budget_ahead_makes_an_unknown_wait():
    waiting = jobs("a", "b")
    found = wait(waiting, [Job(id="9" * 26, minutes=None)], 1, waiting[0].id)
    assert found is not None
    assert found.minutes is None


def test_a_run_with_a_free_slot_waits_for_nothing():
    waiting = jobs("a")
    assert wait(waiting, [], 1, waiting[0].id).minutes == 0.0


def test_who_does_not_wait_has_no_place():
    assert wait(jobs("a"), [], 1, "7" * 26) is None


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=4), st.integers(1, 4))
def test_no_start_passes_the_slots_or_the_cap(waiting: list[str], training: list[str], slots: int):
    busy = [Job(id=f"T{i}", owner=owner) for i, owner in enumerate(training)]
    started = next_up(jobs(*waiting), busy, slots, 1)
    assert len(started) <= max(0, slots - len(busy))
    owners = [job.owner for job in started]
    assert len(owners) == len(set(owners))
    assert not set(owners) & set(training)
