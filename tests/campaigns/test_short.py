"""The campaigns in their short form, seeded: the same trials every time."""

from __future__ import annotations

import pytest
import torch

from tests.campaigns import cuda, damage, kill
from tests.campaigns._page import empty_page
from tests.campaigns.soak import Sample, Soak, verdicts
from tests.markers import placed
from tests.programs import Tally, markdown


@pytest.mark.long
def test_killed_trainers_come_to_what_was_never_interrupted() -> None:
    tally = kill.campaign(kills=10, plans=1, seed=0)
    assert tally.total >= 12
    assert tally.failed == 0, tally.markdown()


@pytest.mark.long
def test_damaged_folders_are_read_with_a_sentence_and_deleted() -> None:
    tally = damage.campaign(folders=24, seed=0)
    assert tally.total == 24
    assert tally.failed == 0, tally.markdown()


@pytest.mark.parametrize(
    ("pages", "files", "held", "said"),
    [
        ([500, 900, 1000, 1040, 1000], 68, 0, []),
        ([500, 900, 1000, 1060, 1000], 68, 0, ["memory grew"]),
        ([500, 900, 1000, 1000, 990], 68, 3, ["3 files of runs"]),
        ([500, 900, 1000, 1000, 990], 69, 0, ["69 descriptors were open, 68 are allowed"]),
    ],
)
def test_a_soak_is_judged_by_memory_after_minute_ten_and_by_files(
    pages: list[int], files: int, held: int, said: list[str]
) -> None:
    samples = [Sample(5.0 * number, 1, 0, 1, size, 0, files, 9) for number, size in enumerate(pages)]
    found = verdicts([*samples, Sample(22.0, 1, 0, 1, 990, 0, 20, held)], viewers=2)
    assert len(found) == len(said) and all(words in one for words, one in zip(said, found, strict=True))


@pytest.mark.long
def test_a_short_soak_is_understood_and_downloads() -> None:
    with empty_page() as (page, _):
        found = Soak(page)
        found.visit(0.7, 4, 4.0, 0.1)
    assert found.errors == []
    assert {"start", "run", "retrieval", "objects"} <= set(found.asked)
    assert found.samples[-1].runs >= 1


def test_what_is_tried_on_a_gpu_can_be_tried_without_one() -> None:
    tally = cuda.campaign("cpu", ["memories", "metrics", "missing"]).tally
    assert tally.total > 40
    assert tally.failed == 0, tally.markdown()


@pytest.mark.long
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_comes_to_what_the_cpu_comes_to() -> None:
    tally = cuda.campaign("cuda", list(cuda.PARTS)).tally
    assert tally.failed == 0, tally.markdown()


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
