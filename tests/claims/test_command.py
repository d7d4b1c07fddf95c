"""The verb ``claims``: the table in every form, what is judged without training, what goes on, what is refused."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.tabs.claims.board import origin
from tests.claims.world import claim_of
from tests.made_up_plan import make_plan
from tests.tiny import tiny_config, write_images
from trainers.claims import catalogue, runs, tables
from trainers.claims.base import Claim, Difference, Side
from trainers.claims.catalogue import CLAIMS
from trainers.claims.measured import LEAST_SEEDS, SEEN, VERDICTS
from trainers.claims.results import ClaimResult, commit, read, versions, write
from trainers.claims.tables import HEAD, as_csv, as_json, words
from trainers.cli.main import main
from trainers.errors import RunError
from trainers.plans.config import SweepConfig
from trainers.runs.label import Label, write_label

MADE_UP = claim_of(Difference(metric="HAP", first=Side(arm="HAPPIER"), second=Side(arm="Smooth-AP")))
GAINS = {"HAPPIER": 0.05}


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Claim:
    """The only claim there is."""
    monkeypatch.setattr(catalogue, "CLAIMS", {MADE_UP.name: MADE_UP})
    return MADE_UP


def written_and_read(claim: Claim, result: ClaimResult, folder: Path) -> ClaimResult:
    write(result, folder)
    again = read(claim, folder)
    assert again is not None
    return again


def called(folder: Path, *words: str) -> list[str]:
    return ["claims", *words, "--runs", str(folder / "runs"), "--results", str(folder / "results")]


def test_the_table_has_every_claim_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(HEAD[0].upper()) and f"\n{len(CLAIMS)} claims, " in text
    assert main(["claims", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == list(CLAIMS) and {one["verdict"] for one in listed} <= set(VERDICTS)
    assert main(["claims", "--csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(dict.fromkeys(line["claim"] for line in lines)) == list(CLAIMS)
    assert main(["claims", "--latex"]) == 0
    assert capsys.readouterr().out.count(r" \\") == len(CLAIMS) + 1
    assert main(["claims", "--markdown"]) == 0
    shown = capsys.readouterr().out
    assert all(f"| `{name}` |" in shown for name in CLAIMS)


def test_finished_runs_are_judged_and_kept(tmp_path: Path, made_up: Claim, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").mkdir()
    plan = make_plan(tmp_path / "runs", made_up.plan(), gains=GAINS)  # type: ignore[misc]
    assert main(called(tmp_path, made_up.name)) == 0
    said = capsys.readouterr().out
    assert said.startswith("1 claim; its runs are finished.") and "made_up: Seen. H-AP, HAPPIER − Smooth-AP: " in said
    assert f"runs of {plan.id}" in said
    result = read(made_up, tmp_path / "results")
    assert result is not None and result.verdict(made_up) == SEEN and result.seeds == (0, 1, 2)
    assert result.minutes == pytest.approx(3 * 4 / 60)
    assert (result.commit, result.versions) == ("", ""), "nobody knows which program trained them"


@pytest.mark.parametrize(
    ("lost", "on", "seeds"),
    [
        ((1,), "It stands on seeds 0 and 2 of 3. Without a result: seed 1; seed 1, Smooth-AP alone; ", "2 of 3 (0, 2)"),
        ((0, 2), "It stands on seed 1 of 3. Without a result: seed 0; ", "1 of 3 (1)"),
        ((), "", "3"),
    ],
)
def test_a_result_lists_the_seeds_that_it_stands_on(
    lost: tuple[int, ...],
    on: str,
    seeds: str,
    tmp_path: Path,
    made_up: Claim,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "runs").mkdir()
    plan = make_plan(
        tmp_path / "runs",
        made_up.plan(),  # type: ignore[misc]
        stand=lambda run: "failed" if run.seed in lost else "finished",
        gains=GAINS,
    )
    assert main(called(tmp_path, made_up.name)) == 0
    said = capsys.readouterr().out
    assert said.count(f"python -m trainers resume {plan.id} trains them on") == bool(lost)
    result = read(made_up, tmp_path / "results")
    assert result is not None and result.stands_on == tuple(seed for seed in (0, 1, 2) if seed not in lost)
    assert result.lacking.startswith(on) and words(made_up, result).endswith(result.lacking) and on in said
    assert as_json(made_up, result)["result"]["stands_on"] == list(result.stands_on)
    assert tables.rows({made_up.name: result}, {made_up.name: made_up})[0][5] == seeds


@pytest.mark.parametrize("git", [True, False])
def test_a_result_says_which_program_began_its_runs(
    git: bool, tmp_path: Path, made_up: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    plan = make_plan(tmp_path / "runs", made_up.plan(), gains=GAINS)  # type: ignore[misc]
    with monkeypatch.context() as without:
        if not git:
            without.setenv("PATH", str(tmp_path))
        runs.mark(made_up, plan)
    result = written_and_read(made_up, runs.result(made_up, plan), tmp_path)
    assert result.commit == (commit() if git else "") and result.versions == versions()
    assert re.fullmatch(r"rankscope \S+, Python 3\.\S+, torch \S+, numpy \S+", result.versions)
    said = origin(as_json(made_up, result)["result"])
    assert (f"commit {commit()}, {versions()}, {result.made}." in said) if git else ("commit" not in said)
    table = list(csv.DictReader(io.StringIO(as_csv({made_up.name: result}, {made_up.name: made_up}))))
    assert [(line["commit"], line["versions"]) for line in table] == [(result.commit, result.versions)]


def test_a_result_that_an_older_program_wrote_is_read(tmp_path: Path, made_up: Claim) -> None:
    (tmp_path / "runs").mkdir()
    plan = make_plan(tmp_path / "runs", made_up.plan(), gains=GAINS)  # type: ignore[misc]
    write_label(plan.path, Label(note="commit 01234567+, code 0123456789abcdef"))
    path = write(runs.result(made_up, plan), tmp_path)
    old = json.loads(path.read_text())
    del old["versions"], old["stands_on"]
    path.write_text(json.dumps(old | {"parts": "0123456789abcdef"}))
    result = read(made_up, tmp_path)
    assert result is not None and (result.commit, result.versions) == ("01234567+", "")
    assert "commit 01234567+, 20" in origin(as_json(made_up, result)["result"])


def test_what_cannot_be_run_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(called(tmp_path, "roadmapp")) == 1
    assert "roadmap" in capsys.readouterr().err
    lacking = next(claim for claim in CLAIMS.values() if claim.plan is None)
    assert main(called(tmp_path, lacking.name)) == 1
    assert lacking.lacking in (said := capsys.readouterr().err) and lacking.recipe in said


def test_a_folder_of_results_that_is_none_is_refused_before_anything_is_trained(
    tmp_path: Path, made_up: Claim, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(called(tmp_path, "--csv")) == 1
    assert "A folder of results was needed" in capsys.readouterr().err
    (tmp_path / "results").write_text("a file")
    for names in ((), (made_up.name,)):
        assert main(called(tmp_path, *names)) == 1
        assert "--results" in capsys.readouterr().err and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:100],
        lambda _: "[]",
        lambda _: "[" * 100_000,
        lambda text: text.replace('"minutes": ', '"minutes": "long", "x": '),
        lambda text: text.replace('"seeds": [', '"seeds": ["x", '),
        lambda text: text.replace('"numbers": {', '"numbers": 3, "x": {'),
    ],
)
def test_a_damaged_result_is_a_sentence(tmp_path: Path, made_up: Claim, damage: Callable[[str], str]) -> None:
    (tmp_path / "runs").mkdir()
    path = write(runs.result(made_up, make_plan(tmp_path / "runs", made_up.plan())), tmp_path / "results")  # type: ignore[misc]
    path.write_text(damage(path.read_text()))
    with pytest.raises(RunError, match=rf"^The result {path.name} cannot be read \([^\n]+\. Delete it"):
        read(made_up, path.parent)


@pytest.mark.long
def test_runs_begun_by_another_program_go_on_and_again_trains_them_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    images = write_images(tmp_path / "images", groups=2)
    config = SweepConfig(run=tiny_config(images, "smooth_ap", "happier", probe_size=20), seeds=(0, 1, 2))
    claim = dataclasses.replace(MADE_UP, plan=lambda: config)
    monkeypatch.setattr(catalogue, "CLAIMS", {claim.name: claim})
    (tmp_path / "runs").mkdir()
    old = make_plan(tmp_path / "runs", config, "interrupted", lambda run: "planned" if run.seed else "finished", GAINS)
    write_label(old.path, Label(note="commit 01234567, code 0123456789abcdef"))
    for again, begun, plans in (((), "01234567", 1), (("--again",), commit(), 2)):
        assert main(called(tmp_path, claim.name, *again)) == 0
        assert ("begun by commit 01234567; --again" in capsys.readouterr().out) != bool(again)
        result = read(claim, tmp_path / "results")
        assert result is not None and result.commit == begun and result.seeds == (0, 1, 2)
        assert old.state().phase == "finished" and len(list((tmp_path / "runs").iterdir())) == plans * 4


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_the_shortest_claim_that_ships_is_made_again_into_its_interval(tmp_path: Path) -> None:
    made = {name: result for name, claim in CLAIMS.items() if claim.begins is None and (result := read(claim))}
    name, shipped = min(made.items(), key=lambda pair: pair[1].minutes)
    assert main(called(tmp_path, name)) == 0
    again = read(CLAIMS[name], tmp_path / "results")
    assert again is not None and again.verdict(CLAIMS[name]) == shipped.verdict(CLAIMS[name])
    for one, before in zip(again.measured, shipped.measured, strict=True):
        assert one.numbers.seeds >= LEAST_SEEDS and before.numbers.low <= one.numbers.mean <= before.numbers.high
