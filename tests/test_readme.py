"""The README and docs/: tables are the registries', map and links are right, and the parser takes every command."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples import examples
from tests.make.tables import stale
from trainers.cli.main import whole_parser
from trainers.cli.start import configuration
from trainers.config import EncoderConfig
from trainers.errors import UserError
from trainers.image_text.models import MODELS
from trainers.kinds import KINDS, check
from trainers.losses import LOSSES
from trainers.parameters import Choice, entry, parse_choice
from trainers.plans import PLANS
from trainers.retrieval.galleries import GALLERIES
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.reranking import RERANKINGS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TEXTS = {page: page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))}
README, LOSSES_PAGE, INTERNALS = (
    TEXTS[page] for page in (ROOT / "README.md", DOCS / "losses.md", DOCS / "internals.md")
)
DATA = ("assets/models", "assets/recorded")  # what lies below bears the names of models and of runs


# ------------------------------------------------------------------- tables


def test_the_tables_are_what_the_registries_say() -> None:
    assert [path.name for path in stale()] == [], "run `python -m tests.make.tables`"


def test_names_in_the_text_exist() -> None:
    claimed = re.findall(r"`([a-z_]+)`", LOSSES_PAGE[: LOSSES_PAGE.index("`python -m trainers losses` lists")])
    assert claimed and set(claimed) <= set(LOSSES)


def test_every_default_that_is_not_the_papers_is_named() -> None:
    """The exceptions stand in a list of their own, and they are those whose descriptor says so."""
    said = LOSSES_PAGE[LOSSES_PAGE.index("five exceptions") : LOSSES_PAGE.index("`python -m trainers losses` lists")]
    named = {LOSSES[name].alias_of or name for name in re.findall(r"`([a-z_]+)`", said)}
    assert {name for name, loss in LOSSES.items() if loss.follows_code and loss.alias_of is None} <= named
    pairs = {name for name, loss in LOSSES.items() if hasattr(loss.parameters, "mean_over")}
    assert {name for name in named if not LOSSES[name].follows_code} == pairs - {"calibration"}


# --------------------------------------------------------- length, map, links


def test_the_readme_is_short_and_begins_with_what_spaces_reads() -> None:
    assert len(README.splitlines()) <= 120
    front = README.split("---\n")[1]
    assert README.startswith("---\n") and "sdk: gradio" in front and "app_file: app.py" in front


def test_the_readmes_map_names_every_package_and_no_other() -> None:
    assert sorted(mapped(README)) == sorted({"assets/", "docs/", "tests/"} | folders(1, "trainers", "explorer"))


def test_the_map_of_the_internals_names_every_folder_and_no_other() -> None:
    """One of a tab that is added need not be on it."""
    shown, there = mapped(INTERNALS), {"docs/", "tests/"} | folders(2, "trainers", "explorer", "assets")
    tabs = {folder.name for folder in (ROOT / "explorer" / "tabs").iterdir() if folder.is_dir()}
    assert set(shown) <= there and len(shown) == len(set(shown))
    assert there - set(shown) <= {f"{place}/{tab}/" for tab in tabs for place in ("explorer/tabs", "assets")}


@pytest.mark.parametrize("page", [README, INTERNALS], ids=["README", "internals"])
def test_every_folder_on_the_map_has_a_purpose(page: str) -> None:
    assert not [line for line in map_lines(page) if len(line.split(maxsplit=1)) < 2]


def map_lines(page: str) -> list[str]:
    """The lines of a page's map."""
    return re.search(r"## Map(?: of the code)?\n\n```\n(.*?)```", page, re.DOTALL)[1].splitlines()


def mapped(page: str) -> list[str]:
    """The folders on the map of a page, with their parents and a closing slash."""
    paths, above = [], []
    for line in map_lines(page):
        name = line.split()[0]
        if name.endswith("/"):
            depth = (len(line) - len(line.lstrip())) // 2
            above = [*above[:depth], name]
            paths.append("".join(above))
    return paths


def folders(levels: int, *roots: str) -> set[str]:
    """So many levels of the folders below ``roots`` that hold a file, and the roots themselves."""
    files = [path for root in roots for path in (ROOT / root).rglob("*") if path.is_file()]
    kept = {path.relative_to(ROOT).parent for path in files if "__pycache__" not in path.parts}
    shown = {Path(*folder.parts[:depth]) for folder in kept for depth in range(1, levels + 2)}
    return {f"{folder.as_posix()}/" for folder in shown if folder.parent.as_posix() not in DATA}


def test_links_lead_somewhere() -> None:
    for page, text in TEXTS.items():
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
            place = page.parent / target if target else page
            assert place.exists(), f"{page.name} links to {target}"
            if anchor:
                heads = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
                known = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
                assert anchor in known, f"{page.name} links to {target}#{anchor}"


def test_every_page_is_in_the_index() -> None:
    index = TEXTS[DOCS / "README.md"]
    assert [page.name for page in TEXTS if page.name != "README.md" and f"({page.name})" not in index] == []


def test_the_modules_that_pages_name_exist() -> None:
    for page, text in TEXTS.items():
        for name in re.findall(r"python -m ((?:trainers|explorer|tests)[\w.]*)", text):
            folder = ROOT / name.replace(".", "/")
            assert folder.with_suffix(".py").exists() or (folder / "__main__.py").exists(), (page.name, name)


def test_the_files_that_pages_name_exist() -> None:
    for page, text in TEXTS.items():
        named = re.findall(r"`((?:trainers|explorer|assets|tests|docs)/[\w/.-]+)`", text)
        assert [name for name in named if not (ROOT / name).exists() and name not in examples()] == [], page.name


# ------------------------------------------------------------------- commands

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


COMMANDS = [pytest.param(command, id=f"{page.stem}-{command:.70}") for page, text in TEXTS.items()
            for command in printed(text) if "my_loss.py" not in command]  # fmt: skip
"""Those with the file of `extending.md`, which is not there, are executed in `tests/plugins`."""
_IN_TEXT = re.compile(r"`python -m trainers ([^`]+)`")
IN_TEXT = sorted({(page.name, found) for page, text in TEXTS.items() for found in _IN_TEXT.findall(text)})


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
