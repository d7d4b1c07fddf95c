"""The seeds of a plan as they are written on the command line, on the page and in the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.page.api import configured
from explorer.page.form import Form
from explorer.page.form.plans import planned
from explorer.page.kinds import PAGES
from trainers.cli.main import main, whole_parser
from trainers.cli.start import configuration
from trainers.errors import ParameterError
from trainers.kinds import KINDS
from trainers.plans import PLANS
from trainers.plans.config import FIRST, SweepConfig, sweep_of
from trainers.runs import list_runs

KIND = KINDS[FIRST]
FORM = Form(kind=KIND, page=PAGES[FIRST])
FLAGS = [
    ("3", (0, 1, 2)),
    ("1", (0,)),
    ("20", tuple(range(20))),
    ("4,7,9", (4, 7, 9)),
    ("4,", (4,)),
    ("0 1 2", (0, 1, 2)),
    ("4, 7, 9", (4, 7, 9)),
    ("7 4,9", (7, 4, 9)),
    ("4;7", (4, 7)),
    ("2000000000,0", (2_000_000_000, 0)),
]
VALUES: list[tuple[Any, tuple[int, ...]]] = [
    (3, (0, 1, 2)),
    (2.0, (0, 1)),
    ("3", (0, 1, 2)),
    (" 4, 7,9 ", (4, 7, 9)),
    ("4,", (4,)),
    ("4，7", (4, 7)),
    ([3], (3,)),
    ([4, 7, 9], (4, 7, 9)),
]
WRONG: list[Any] = ["0", "21", "1234", "-1", "3.0", "a", "1,b", "", ",", 0, 21]


@pytest.mark.parametrize(("written", "seeds"), FLAGS)
@pytest.mark.parametrize("verb", ["sweep", "fair"])
def test_flags(verb: str, written: str, seeds: tuple[int, ...]) -> None:
    arguments = whole_parser().parse_args([verb, "--losses", "supcon", "--seeds", *written.split(" ")])
    assert sweep_of(configuration(arguments, KIND, PLANS[arguments.plan])).seeds == seeds


@pytest.mark.parametrize(("written", "seeds"), VALUES)
def test_page_and_api_and_python(written: Any, seeds: tuple[int, ...]) -> None:
    of_page = planned(FORM, {}, "sweep", {"seeds": written}, [])
    assert sweep_of(of_page).seeds == seeds
    assert sweep_of(configured("sweep", {"seeds": written})).seeds == seeds
    assert SweepConfig(seeds=written if not isinstance(written, list) else tuple(written)).seeds == seeds


@pytest.mark.parametrize("written", WRONG)
def test_what_is_neither_is_refused_with_both_spellings(written: Any) -> None:
    said = r"their number, 1 to 20 \(3 for the seeds 0, 1 and 2\), or one by one with commas \(4,7,9; .* 4,\); got "
    with pytest.raises(ParameterError, match=said):
        planned(FORM, {}, "sweep", {"seeds": written}, [])
    with pytest.raises(ParameterError, match=said):
        configured("sweep", {"seeds": written})


def test_a_command_with_a_number_of_no_plan_makes_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--data", "drawn", "--seeds", "0", "--runs", str(tmp_path)]) == 1
    assert "got 0." in capsys.readouterr().err and not list_runs(tmp_path)


def test_a_plan_says_what_is_trained() -> None:
    sweep, fair = PLANS["sweep"], PLANS["fair_comparison"]
    assert sweep.trained(SweepConfig(seeds=(4, 7, 9), vary={"dim": [16, 32]})) == "6 runs, seeds 4, 7 and 9"
    assert sweep.trained(SweepConfig(seeds=(5,))) == "1 run, seed 5"
    assert fair.trained(fair.config(seeds=2, trials=2)).endswith(", seeds 0 and 1 after the search")
