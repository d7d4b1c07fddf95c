"""Every kind of run, and one from another folder: it trains, pauses, is killed, resumes, and is listed and exported."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait
from trainers.errors import ParameterError
from trainers.kinds import KINDS, check
from trainers.metrics.names import describe_any
from trainers.parameters import flat, parse_text, specs
from trainers.runs.identity import read_config

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("kind")
ENV = {**os.environ, "RANKSCOPE_KINDS": str(FOLDER), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
SHARED = ("trainers", "explorer", "assets")
OWN = (
    "trainers/kinds/{}/",
    "explorer/page/kinds/{}.py",
    "explorer/tabs/object_removal/",
    "trainers/claims/plans.py",
    "trainers/recipes/",
)
"""Where a kind may be named: its folder, its file in the page, the view made for one, the plans of the claims, and the
recipes of the papers, each of which is of one kind."""


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_kind_says_all_that_is_asked_of_it(kind) -> None:
    config = kind.config()
    check(config)
    assert read_config(config.to_json()) == config
    assert config.arms == len(kind.arms(config)) >= 1
    titles = [arm.title for arm in kind.arms(config)]
    assert len(set(titles)) == len(titles)
    assert kind.run_title(config, "data") and kind.summary(config, "data") and kind.line(config)
    assert {name for section in kind.sections for name in section.names} <= set(dict(flat(kind.config)))
    assert all(spec.rule.help.endswith(".") for spec in specs(kind.config)), "each setting needs one sentence of help"
    shown = (*kind.measures.numbers, *kind.measures.headline, *kind.measures.whole)
    assert all(describe_any(key).title for key in shown)
    assert kind.footprint(config).total > 0
    with pytest.raises(ParameterError, match="budget"):
        check(dataclasses.replace(config, minutes=None, steps=None, epochs=None))


@pytest.mark.parametrize("name", list(KINDS))
def test_no_shared_file_names_a_kind(name: str) -> None:
    # a name that is an English word, and the name of a loss too, counts where it can only be the kind's
    mark = re.compile(rf"\b{name}\b" if "_" in name else rf"kind\W+{name}\b|kinds[./]{name}\b")
    builds_on = [one for one, kind in KINDS.items() if isinstance(kind, type(KINDS[name]))]
    allowed = tuple(place.format(one) for one in builds_on for place in OWN)
    files = [path for root in SHARED for path in (ROOT / root).rglob("*") if path.suffix in (".py", ".js", ".css")]
    named = [str(path.relative_to(ROOT)) for path in files if mark.search(path.read_text())]
    assert not [path for path in named if not path.startswith(allowed)]


def test_a_setting_written_as_text_is_read_or_refused() -> None:
    written = {spec.name: spec for spec in specs(KINDS["metric_learning"].config)}
    loss, other = parse_text(written["losses"], " supcon:temperature=0.2  smooth_ap ")
    assert (loss.name, dict(loss.parameters), other.name) == ("supcon", {"temperature": 0.2}, "smooth_ap")
    assert parse_text(written["data"], " my images ").source == "my images"
    assert parse_text(written["sampler"], "m_per_class") == "m_per_class"
    for name in ("losses", "encoder", "sampler", "data"):
        with pytest.raises(ParameterError, match="needs a value; got nothing"):
            parse_text(written[name], "  ")


def command(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "trainers", *words]
    return subprocess.run(line, env=ENV, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload]


def trainer(folder: Path) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "trainers.worker", str(folder)]
    return subprocess.Popen(line, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)


def inside(runs: Path, code: str) -> str:
    """What a program prints that knows the kind; ``runs`` and ``Path`` are there."""
    begin = f"from pathlib import Path\nruns = Path({str(runs)!r})\n"
    done = subprocess.run([sys.executable, "-c", begin + code], env=ENV, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


WEIGHTS = """
import trainers.kinds
from trainers.runs import list_runs
import hashlib
for folder in sorted(list_runs(runs), key=lambda one: one.id):
    tensors, about = folder.read_checkpoint()
    assert tensors["arm0/state/queue"].abs().sum()
    assert sorted(folder.newest("stage/encoder and head", "stage/head alone").values()) == [0, 0, 1, 1]
    mark = hashlib.sha256(b"".join(name.encode() + t.numpy().tobytes() for name, t in sorted(tensors.items())))
    print(folder.id, folder.state().phase, about["step"], about["stage"][0], mark.hexdigest())
"""
SHOWN = """
import json
from explorer.exports import EXPORTS
from explorer.tabs.live import view
from explorer.tabs.live.first_run import start
from explorer.tabs.runs import run_list
from explorer.server.library import Library
from tests.explorer.page import Line
library = Library(runs, runs / "none")
(card,) = run_list.runs(library, Line())
run = library.get(card["id"])
about = view.about(run)
for name in ("run.zip", "metrics.csv", "curves.html", "embeddings.parquet"):
    export = EXPORTS[name]
    if export.chunks is not None:
        (runs / name).write_bytes(b"".join(export.chunks(run, False)))
    else:
        export.write(library, run, runs / name)
    assert (runs / name).stat().st_size > 500, name
assert "R_at_1" in (runs / "metrics.csv").read_text()
print(json.dumps({"title": card["title"], "arms": [a["title"] for a in about["arms"]], "headline": [*card["numbers"]],
                  "numbers": [n["key"] for n in about["measures"]["numbers"]], "points": about["points"]}))
"""


TRAINED = """
import contextlib, sys
from trainers.cli.main import main
at = ("--runs", str(runs))
assert main(["toy", "--rates", "0.02", "0.2", "--steps", "12", "--snapshot-steps", "6", *at]) == 0
with contextlib.redirect_stderr(sys.stdout):
    assert main(["toy", "--clusters", "1", *at]) == 1
assert main(["list", *at]) == 0
"""


def test_a_kind_from_another_folder_trains_and_is_listed(tmp_path: Path) -> None:
    text = inside(tmp_path, TRAINED).strip()
    assert "whole test set, 60 points" in text and "rate 0.2" in text
    assert "\nrankscope: A run: clusters needs a whole number from 2 to 20; got 1" in text
    last = text.splitlines()[-1]
    assert "finished" in last and "rate_0.02 vs rate_0.2 on 5 clusters" in last


@pytest.mark.long
def test_it_is_shown_and_exported(tmp_path: Path) -> None:
    shown = json.loads(inside(tmp_path, TRAINED + SHOWN).splitlines()[-1])
    assert shown["title"] == "rate 0.02 vs rate 0.2 on Clusters" and shown["points"] == 60
    assert shown["arms"] == ["rate 0.02", "rate 0.2"] and shown["numbers"] == ["R_at_1"]


@pytest.mark.long
def test_it_is_paused_killed_and_resumed_to_the_same_weights_in_its_second_stage(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    flags = ("--steps", "30", "--head-steps", "2000", "--snapshot-steps", "1000")
    assert command("toy", *flags, "--runs", str(whole)).returncode == 0
    make = "from trainers.kinds import KINDS\nfrom trainers.runs import RunFolder\n"
    settings = "steps=30, head_steps=2000, snapshot_steps=1000"
    path = Path(inside(broken, f"{make}print(RunFolder.create(runs, KINDS['toy'].config({settings})).path)").strip())
    process = trainer(path)
    wait((path / "ckpt" / "last.safetensors").exists)  # written when the second stage begins
    assert command("send", path.name, "pause", "--runs", str(broken)).returncode == 0
    with process:  # closes its standard input
        process.send_signal(signal.SIGKILL)
    _, phase, step, stage, _ = inside(broken, WEIGHTS).split()
    assert int(step) >= 30 and stage == "1" and phase in ("running", "paused", "interrupted")
    done = command("resume", path.name, "--runs", str(broken))
    assert done.returncode == 0, done.stderr
    results = [inside(runs, WEIGHTS).split()[1:] for runs in (whole, broken)]
    assert results[0] == results[1] and results[0][:3] == ["finished", "2030", "1"]
