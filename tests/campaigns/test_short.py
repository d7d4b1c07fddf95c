"""The campaigns in their short form, seeded: the same trials every time."""

from __future__ import annotations

import dataclasses

import pytest

from tests.campaigns import damage, fuzz, kill
from tests.campaigns._table import Tally, markdown, placed
from tests.campaigns.soak import MEGABYTE, Sample, verdicts


@pytest.mark.long
def test_killed_trainers_come_to_what_was_never_interrupted() -> None:
    tally = kill.campaign(kills=10, plans=1, pages=0, layouts=0, seed=0)
    assert tally.total >= 12
    assert tally.failed == 0, tally.markdown()


@pytest.mark.long
def test_damaged_folders_are_read_with_a_sentence_and_deleted() -> None:
    tally = damage.campaign(folders=24, seed=0)
    assert tally.total == 24
    assert tally.failed == 0, tally.markdown()


@pytest.mark.long
def test_malformed_requests_are_refused() -> None:
    tally = fuzz.campaign(count=135, seed=0)
    assert tally.total == 136
    assert tally.failed == 0, tally.markdown()


def sample(minute: float, page: int, held: int = 0) -> Sample:
    return Sample(
        minute=minute, requests=1, errors=0, runs=1, page=page * MEGABYTE, data=0, maps=0, files=20, held=held
    )


@pytest.mark.parametrize(
    ("pages", "held", "said"),
    [
        ([500, 900, 1000, 1040, 1000], 0, []),
        ([500, 900, 1000, 1060, 1000], 0, ["memory grew"]),
        ([500, 900, 1000, 1000, 990], 3, ["3 files of runs"]),
    ],
)
def test_a_soak_is_judged_by_memory_after_minute_ten_and_by_files(pages: list[int], held: int, said: list[str]) -> None:
    samples = [sample(5 * number, size) for number, size in enumerate(pages)]
    last = dataclasses.replace(samples[-1], minute=22.0, held=held)
    found = verdicts([*samples, last])
    assert len(found) == len(said) and all(words in one for words, one in zip(said, found, strict=True))


def test_a_table_takes_the_place_between_its_markers() -> None:
    tally = Tally(name="kill", head="killed")
    tally.note("start")
    tally.note("start", ["it went wrong", "badly"])
    assert tally.rows() == [("start", 2, 1), ("all", 2, 1)]
    assert "- start: it went wrong; badly" in tally.markdown()
    page = placed("a\n<!-- kill -->\nold\n<!-- /kill -->\nb\n", "kill", markdown(("x",), [("y",)]))
    assert page == "a\n<!-- kill -->\n| x |\n| --- |\n| y |\n<!-- /kill -->\nb\n"
    with pytest.raises(ValueError, match="markers"):
        placed("a", "kill", "")


def test_chained_stack_traces_count_once() -> None:
    one = "Traceback (most recent call last):\n  File\nValueError: one\n"
    chain = f"{one}\nDuring handling of the above exception, another exception occurred:\n\n{one}"
    assert len(fuzz.traces(f"INFO\n{chain}INFO\n{one}")) == 2
