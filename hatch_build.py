"""Builds the wheel: everything lies below one package ``rankscope``, and ``trainers`` is ``rankscope.trainers`` there.

The commands that messages name begin with ``rankscope`` in place of ``python -m trainers``.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

FOLDERS = ("trainers", "explorer", "assets", "docs")
RENAMED = {"rankscope.py": "__init__.py", "app.py": "app.py"}
LEFT_OUT = ("__pycache__", "screens", "*.pyc", "*.pyi", ".*")
COMMANDS = (".py", ".md", ".js", ".toml")
"""Endings of the files that may name a command."""
_NAMES = "trainers|explorer"
_IMPORTS = re.compile(rf"^(\s*)from ({_NAMES}|app)(?=[. ])", re.MULTILINE)
_WHOLE = re.compile(rf"^(\s*)import ({_NAMES})$", re.MULTILINE)
_QUOTED = re.compile(rf"([\"'`])({_NAMES})(?=\.[a-z_])")


def renamed(text: str) -> str:
    """Return the code of a module with the names that it has in the wheel."""
    text = _IMPORTS.sub(r"\1from rankscope.\2", text)
    text = _WHOLE.sub(r"\1import rankscope.\2 as \2", text)
    return spoken(_QUOTED.sub(r"\1rankscope.\2", text))


def spoken(text: str) -> str:
    """Return a text with the commands that the wheel has."""
    return text.replace("python -m trainers", "rankscope").replace("python app.py", "rankscope")


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Collects the files of the wheel in a folder of its own."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling."""
        if version == "editable":
            return
        root, self._made = Path(self.root), tempfile.TemporaryDirectory()
        made = Path(self._made.name)
        for path in self._files(root):
            name = path.relative_to(root).as_posix()
            target = made / RENAMED.get(name, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix in COMMANDS:
                text = path.read_text(encoding="utf-8")
                target.write_text(renamed(text) if path.suffix in (".py", ".md") else spoken(text), encoding="utf-8")
            else:
                target.write_bytes(path.read_bytes())
        (made / "py.typed").touch()
        build_data["force_include"][str(made)] = "rankscope"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """See hatchling."""
        if version != "editable":
            self._made.cleanup()

    def _files(self, root: Path) -> list[Path]:
        every = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.is_file()]
        return [*(root / name for name in RENAMED), *(path for path in every if not _left_out(path.relative_to(root)))]


def _left_out(path: Path) -> bool:
    return any(part.match(mark) for part in (path, *path.parents) for mark in LEFT_OUT)


class CustomMetadataHook(MetadataHookInterface):
    """Takes the requirements from ``requirements.txt``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """See hatchling."""
        lines = (Path(self.root) / "requirements.txt").read_text(encoding="utf-8").splitlines()
        bare = [line.partition("  #")[0].strip() for line in lines]
        metadata["dependencies"] = [line for line in bare if line and not line.startswith("#")]
