"""The campaigns in their short form, seeded: the same trials every time."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.campaigns import damage, faults, fuzz, kill
from tests.campaigns._page import LivePage
from tests.campaigns._table import Tally
from tests.campaigns._viewer import MADE, ON_DISK
from tests.campaigns._viewer import Tally as Requests
from tests.campaigns.soak import MEGABYTE, Sample, Soak, late, verdicts
from tests.markers import placed
from tests.programs import markdown


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
    assert tally.total == 135 + fuzz.HALF_SENT + 1
    assert tally.failed == 0, tally.markdown()


def sample(minute: float, page: float, held: int = 0, files: int = 20) -> Sample:
    size = round(page * MEGABYTE)
    return Sample(minute=minute, requests=1, errors=0, runs=1, page=size, data=0, maps=0, files=files, held=held)


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
    found = verdicts([*samples, last], viewers=2)
    assert len(found) == len(said) and all(words in one for words, one in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("each", "files", "said"),
    [
        (0.0, [20] * 61, []),
        (0.6, [20] * 61, ["0.60 MB more"]),
        (0.0, [20 + n // 4 for n in range(61)], ["descriptors more"]),
        (0.0, [20] * 45 + [69] + [20] * 15, ["69 descriptors were open, 68 are allowed"]),
    ],
)
def test_an_hours_soak_is_judged_by_growth_a_minute(each: float, files: list[int], said: list[str]) -> None:
    samples = [sample(minute, 1000 + each * minute, files=files[minute]) for minute in range(1, 61)]
    found = verdicts([*samples, sample(62, 900)], viewers=2)
    assert len(found) == len(said) and all(words in one for words, one in zip(said, found, strict=True))


def test_a_soak_is_judged_by_its_downloads() -> None:
    tally = Requests()
    for seconds in (*[0.2] * 96, *[9.0] * 4):
        tally.note(MADE, seconds)
        tally.note(ON_DISK, seconds)
    assert late(tally) == [] and tally.rows()[0] == (MADE, "100", "0.20", "0.20", "9.00")
    for _ in range(3):
        tally.note(ON_DISK, 30.0)
    assert len(late(tally)) == 1 and ON_DISK in late(tally)[0]


@pytest.mark.long
def test_a_short_soak_is_understood_and_downloads(tmp_path: Path) -> None:
    with LivePage(tmp_path / "runs") as page:
        found = Soak(tmp_path / "runs", page)
        found.visit(0.7, 4, 4.0, 0.1)
    assert found.tally.errors == []
    assert {"poll", "frame", MADE, ON_DISK, "search", "API"} <= set(found.tally.requests)
    assert found.samples[-1].runs >= 1


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
    assert fuzz.traces("INFO\n/queue/data: RuntimeError: it has begun (responses.py:1)\n") != []


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.name)
def test_the_text_of_a_fault_is_found_once_and_its_tests_are_there(fault: faults.Fault) -> None:
    (path,) = faults.places(fault)
    compile(faults.faulty(fault, (faults.ROOT / path).read_text(encoding="utf-8")), path, "exec")
    assert fault.tests and set(fault.tests) <= set(faults.tracked("tests/*"))
