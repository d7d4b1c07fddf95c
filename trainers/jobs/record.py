"""Which job trains a run: ``job.json`` in its folder."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from trainers.publishing.upload import REPOSITORY
from trainers.runs import RunFolder
from trainers.runs.json_record import read_json, write_json

NAME = "job.json"
_BYTES = 2**14
_Text = Annotated[str, Field(max_length=200)]


class JobRecord(BaseModel):
    """The last job of a run; ``hourly``: the price of an hour when it was submitted, in US dollars."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    version: Literal[1] = 1
    id: Annotated[str, Field(pattern=r"^[\w.-]{1,100}$")]
    owner: _Text
    url: _Text
    repository: Annotated[str, Field(pattern=f"^{REPOSITORY.pattern}$")]
    flavor: _Text
    seconds: Annotated[int, Field(gt=0)]
    hourly: Annotated[float, Field(ge=0)]


def write_record(folder: RunFolder, record: JobRecord) -> None:
    """Write which job trains a run from now on."""
    write_json(folder, NAME, record)


def read_record(folder: RunFolder) -> JobRecord | None:
    """Read which job trains a run; None: none ever did.

    Raises:
        RunError: it cannot be understood.
    """
    return read_json(folder, NAME, JobRecord, _BYTES, "Delete it, and submit the run again.")
