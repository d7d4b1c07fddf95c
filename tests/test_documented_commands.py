"""Every command that README.md and docs/ print is taken by the real parser, with its losses, encoders and sources."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainers.cli.main import whole_parser
from trainers.cli.start import configuration
from trainers.config import EncoderConfig
from trainers.errors import UserError
from trainers.image_text.models import MODELS
from trainers.kinds import KINDS, check
from trainers.parameters import Choice, entry, parse_choice
from trainers.plans import PLANS
from trainers.retrieval.galleries import GALLERIES
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.reranking import RERANKINGS

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
PLACES = re.compile(r"^(path/to/\S+|PATH/\S+|photos)$")
"""What stands for images of the reader's own."""
CHOICES = {"model": MODELS, "gallery": GALLERIES, "index": INDEXES, "rerank": RERANKINGS}
PROGRAM = ["python", "-m", "trainers"]


def printed(text: str) -> Iterator[str]:
    """Give the commands of a page's blocks for a shell, one line each, without comments and without values of loops."""
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|; do |; done", re.sub(r"\s#\s.*", "", line)):
                command = re.sub(r"\$\w+", "0", part).strip()
                if "python" in command.split():
                    yield command[command.index("python") :]


COMMANDS = [pytest.param(command, id=f"{page.stem}-{command:.70}") for page in PAGES
            for command in printed(page.read_text(encoding="utf-8"))]  # fmt: skip
_IN_TEXT = re.compile(r"`python -m trainers ([^`]+)`")
IN_TEXT = sorted({(page.name, found) for page in PAGES for found in _IN_TEXT.findall(page.read_text("utf-8"))})


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 80 and len(IN_TEXT) > 10


@pytest.mark.parametrize("command", COMMANDS)
def test_a_printed_command_is_taken(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(command)
    if words[:3] != PROGRAM:
        assert words[1] == "app.py" or importlib.util.find_spec(words[2]) is not None
        return
    if words[3:] == ["--help"]:
        return
    took = taken(words[3:])
    assert took is None, f"{took}\n{capsys.readouterr().err}"


@pytest.mark.parametrize(("page", "words"), IN_TEXT)
def test_a_command_in_the_text_has_its_verb_and_its_flags(
    page: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *rest = shlex.split(words)
    with pytest.raises(SystemExit, match="0"):
        whole_parser().parse_args([verb, "--help"])
    known = capsys.readouterr().out
    assert all(word in known for word in rest if word.startswith("--")), page


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ('train --losses roadmap --encoder "timm:model=resnet50;pooling=gem;layer_norm=true"', "name of a timm model"),
        ("train --losses roadmap smoothap", "smoothap"),
        ("train --losses roadmap --warmth 3", "--warmth"),
        ("retrieve RUN --row 3 --gallery probes", "probes"),
    ],
)
def test_a_wrong_command_is_not_taken(command: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert why in f"{taken(shlex.split(command))} {capsys.readouterr().err}"


def taken(words: list[str]) -> str | None:
    """Return why a command is refused, as far as that needs no run and no images; None: it is taken."""
    scenes = "finetune" in words
    words = [re.sub(r"^ID(_\w+)?(?=:|$)", RUN_ID, word).replace(":ARM", ":1") for word in words]
    words = [("drawn_scenes" if scenes else "drawn") if PLACES.match(word) else word for word in words]
    try:
        arguments = whole_parser().parse_args(words)
    except SystemExit:
        return "it cannot be parsed"
    try:
        if hasattr(arguments, "kind") and hasattr(arguments, "plan"):
            config = configuration(arguments, KINDS[arguments.kind], PLANS.get(arguments.plan))
            if isinstance(config.single, EncoderConfig):
                _check_backbone(config.single.encoder)
            check(config)
        for name, entries in CHOICES.items():
            _checked(getattr(arguments, name, None), name, entries)
    except UserError as error:
        return None if "is not on this machine" in str(error) else str(error)  # weights that a user downloads
    return None


def _check_backbone(encoder: Choice) -> None:
    """Refuse a name that is no model of timm, which a run finds out when it builds the model."""
    timm = pytest.importorskip("timm")
    name = encoder.parameters.get("model", "resnet18") if encoder.name.startswith("timm") else "resnet18"
    if not timm.is_model(name.split(".")[0]):
        raise UserError(f"{name!r} is not the name of a timm model.")


def _checked(written: Any, name: str, entries: Any) -> None:
    for text in [written] if isinstance(written, str) else written or ():
        if isinstance(text, str):
            chosen, parameters = parse_choice(text, entries)
            entry(entries, chosen, name).checked(parameters)
