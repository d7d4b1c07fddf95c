"""A small record in a run folder: a pydantic model in a JSON file of its own."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from trainers.errors import RunError
from trainers.runs.files import write_bytes
from trainers.runs.folder import RunFolder
from trainers.runs.regular import read_regular

R = TypeVar("R", bound=BaseModel)


def write_json(folder: RunFolder, name: str, record: BaseModel) -> None:
    """Write a record to the file ``name``, durably."""
    write_bytes(folder.path / name, record.model_dump_json(indent=1).encode(), home=folder.path, durable=True)


def read_json(folder: RunFolder, name: str, model: type[R], most: int, todo: str) -> R | None:
    """Read a record from the file ``name`` of at most ``most`` bytes; None: there is none.

    Raises:
        RunError: it cannot be understood; ``todo`` says what to do.
    """
    try:
        return model.model_validate_json(read_regular(folder.path / name, most))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise RunError(f"{name} of run {folder.id} cannot be read. {todo}") from error
