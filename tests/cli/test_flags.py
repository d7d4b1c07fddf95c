"""Flags of the command line: grouped as the page's form, with defaults and choices; near misses; JSON."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.tiny import write_images
from trainers.cli import main as command
from trainers.cli.main import main
from trainers.config import BUDGET
from trainers.kinds import OWN
from trainers.parameters import flat


@dataclass
class Flag:
    """A flag as the help shows it: its names, whether it takes a value, and what is said of it."""

    names: list[str]
    valued: bool
    text: str


def help_of(verb: str) -> dict[str, list[Flag]]:
    """Read the help of a verb, flags by the title of their section."""
    with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit):
        main([verb, "--help"])
    sections: dict[str, list[Flag]] = {}
    for line in out.getvalue().splitlines():
        if re.fullmatch(r"\S.*:", line):
            flags = sections.setdefault(line[:-1], [])
        elif line.startswith("  -"):
            called, _, text = line.strip().partition("  ")
            names = re.findall(r"(?:^|, )(--?[\w-]+)", called)
            flags.append(Flag(names, not called.endswith(names[-1]), text.strip()))
        elif line.startswith(" " * 20):
            flags[-1].text += line.strip()
    return sections


Helps = dict[str, dict[str, list[Flag]]]


@pytest.fixture(scope="module")
def helps() -> Iterator[Helps]:
    """The help of every verb, on lines that are never broken."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "5000")
        verbs = re.findall(r"^    (\w+)", command.whole_parser().format_help(), re.MULTILINE)
        assert set(verbs) >= {"train", "sweep", "claims"}
        yield {verb: help_of(verb) for verb in verbs}


@pytest.mark.parametrize("kind", OWN.values(), ids=list(OWN))
def test_flags_are_grouped_by_the_sections_of_the_form(kind: Any, helps: Helps) -> None:
    specs = {name: spec for name, spec in flat(kind.config) if kind.offers(name)}
    flag = {name: f"--{spec.rule.flag or spec.name.replace('_', '-')}" for name, spec in specs.items()}
    groups = {title: [one.names[0] for one in flags] for title, flags in helps[kind.verb].items()}
    first = [name for section in kind.sections if not section.folded for name in section.names]
    assert [one for one in groups["options"] if one in flag.values()] == [
        flag[name] for name in dict.fromkeys((*first, *BUDGET))
    ]
    for section in kind.sections:
        if section.folded:
            names = [name for name in section.names if name not in BUDGET and kind.offers(name)]
            assert groups[section.title] == [flag[name] for name in names]
    assert set(flag.values()) <= {one for flags in groups.values() for one in flags}


def test_every_flag_with_a_value_says_its_default_and_every_verb_prints_json(helps: Helps) -> None:
    for verb, sections in helps.items():
        flags = [flag for section in sections.values() for flag in section]
        assert "--json" in {name for flag in flags for name in flag.names}, verb
        for flag in flags:
            assert not flag.valued or ("default: " in flag.text and flag.text.endswith("]")), (verb, flag)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("trian", "There is no command 'trian'. Did you mean 'train'?"),
        ("train --loses smooth_ap", "There is no flag '--loses'. Did you mean '--losses'?"),
        ("sweep pretrain --metod simclr", "There is no flag '--metod'. Did you mean '--method'?"),
        ("train --optimiser adm", "--optimiser: one of adamw, adam, sgd, lars, rmsprop was needed; got 'adm'."),
        ("train --steps many", "--steps: a whole number from 1 to 10000000 was needed; got 'many'."),
        ("losses smoth_ap", "Did you mean 'smooth_ap'?"),
    ],
)
def test_what_is_nearly_right_is_proposed(words: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main(words.split()) == 1
    except SystemExit as left:
        assert left.code == 2
    assert sentence in capsys.readouterr().err


def test_registries_are_tables_entries_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["losses"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "TITLE", "PARAMETERS"] and any(row.startswith("happier ") for row in rows)
    assert main(["losses", "happier"]) == 0
    assert "alpha" in (said := capsys.readouterr().out) and "PARAMETER " in said and "smooth_ap" not in said
    assert main(["losses", "happier", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert one["name"] == "happier" and {"name", "default", "accepts", "help"} == set(one["parameters"][0])


def test_a_run_and_its_tables_are_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = "--steps 2 --classes-per-batch 4 --images-per-class 3 --encoder small_conv:width=8 --dim 16 --threads 1"
    runs, images = ["--runs", str(tmp_path / "runs")], tmp_path / "images"
    write_images(images)
    assert main(["train", "--data", str(images), *small.split(), *runs, "--losses", "smooth_ap", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["phase"] == "finished" and 0 <= values["arms"][0]["numbers"]["R_at_1"] <= 1
    assert main(["resume", values["id"], *runs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == values
    assert main(["compare", values["id"], *runs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]
    assert main(["export", values["id"], "--out", str(tmp_path / "a.safetensors"), *runs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == (tmp_path / "a.safetensors").stat().st_size
