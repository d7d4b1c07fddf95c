"""Flags of the command line: grouped as the page's form, with defaults and choices; near misses; JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.synthetic import make_run
from tests.tiny import write_images
from trainers.cli import main as command
from trainers.cli.main import main
from trainers.cli.parser import Parser
from trainers.config import BUDGET
from trainers.kinds import OWN
from trainers.parameters import flat


def verbs() -> dict[str, Parser]:
    """Every verb's parser by name, with its flags."""
    parser = command.whole_parser()
    (action,) = (action for action in parser._actions if action.dest == "command")
    for one in action.choices.values():
        one.format_help()
    return dict(action.choices)


VERBS = verbs()


def flags_of(parser: Any) -> list[str]:
    return [flag for action in parser._actions for flag in action.option_strings]


@pytest.mark.parametrize("kind", OWN.values(), ids=list(OWN))
def test_flags_are_grouped_by_the_sections_of_the_form(kind: Any) -> None:
    specs = dict(flat(kind.config))
    flag = {name: f"--{spec.rule.flag or spec.name.replace('_', '-')}" for name, spec in specs.items()}
    groups = {group.title: group for group in VERBS[kind.verb]._action_groups}
    first = [name for section in kind.sections if not section.folded for name in section.names]
    plain = [option for action in groups["options"]._group_actions for option in action.option_strings]
    assert [option for option in plain if option in flag.values()] == [
        flag[name] for name in dict.fromkeys((*first, *BUDGET))
    ]
    for section in kind.sections:
        if section.folded:
            shown = [action.option_strings[0] for action in groups[section.title]._group_actions]
            assert shown == [flag[name] for name in section.names if name not in BUDGET]
    assert set(flag.values()) <= set(flags_of(VERBS[kind.verb]))


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_with_a_value_says_its_default_and_every_verb_prints_json(verb: str) -> None:
    parser = VERBS[verb]
    assert "--json" in flags_of(parser)
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.option_strings and action.nargs != 0:
            text = formatter._expand_help(action)
            assert "default: " in text and text[0] != " " and text.endswith("]"), (verb, text)


def test_choices_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "default: m_per_class; of m_per_class, two_super_classes]" in said
    assert "of conv4, timm_frozen, timm, small_conv; `python -m trainers encoders` describes them]" in said


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
    told = json.loads(capsys.readouterr().out)
    assert told["phase"] == "finished" and 0 <= told["arms"][0]["numbers"]["R_at_1"] <= 1
    assert main(["resume", told["id"], *runs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told
    assert main(["compare", told["id"], *runs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]
    assert main(["export", told["id"], "--out", str(tmp_path / "a.safetensors"), *runs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == (tmp_path / "a.safetensors").stat().st_size


def test_mistakes_are_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path, points=60, frames=2)
    assert main(["mistakes", folder.id, "--runs", str(tmp_path), "--json"]) == 0
    tables = {table["title"]: table for table in json.loads(capsys.readouterr().out)["tables"]}
    severities = tables["Results by the finest level that agrees"]
    shares = [cell for row in severities["rows"] for cell in row if isinstance(cell, float)]
    assert shares and all(0 <= share <= 1 for share in shares)
