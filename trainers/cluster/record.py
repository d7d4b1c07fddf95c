"""Which cluster was given a run, and has not been told yet that all of it is here: ``cluster.json`` in its folder."""

from __future__ import annotations

import hmac
import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainers.errors import RunError
from trainers.runs import RunFolder
from trainers.runs.files import write_bytes
from trainers.runs.regular import read_regular

NAME = "cluster.json"
FORGET = "--forget-cluster"
"""Flag of ``resume`` that says that the cluster of a run is gone."""
_BYTES = 2**10


class ClusterRecord(BaseModel):
    """The address of the cluster, whose actors are named after the run.

    Attributes:
        proof: of the address and the run, by the cluster's token. A folder of somebody else cannot name a cluster that
            is then told this machine's token.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    version: Literal[1] = 1
    address: Annotated[str, Field(pattern=r"^[0-9A-Za-z_.:\[\]-]{1,260}$")]
    proof: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]

    def is_of(self, folder: RunFolder) -> bool:
        """Return whether it was written for this run by somebody with the token that this machine has."""
        return bool(self.proof) and hmac.compare_digest(self.proof, _proof(folder.id, self.address))


def write_record(folder: RunFolder, address: str) -> None:
    """Write that a cluster has the run from now on."""
    record = ClusterRecord(address=address, proof=_proof(folder.id, address))
    write_bytes(folder.path / NAME, record.model_dump_json(indent=1).encode(), home=folder.path, durable=True)


def read_record(folder: RunFolder) -> ClusterRecord | None:
    """Read which cluster has the run; None: none.

    Raises:
        RunError: it cannot be understood.
    """
    try:
        return ClusterRecord.model_validate_json(read_regular(folder.path / NAME, _BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        todo = "Delete it if no Ray cluster trains the run."
        raise RunError(f"{NAME} of run {folder.id} cannot be read. {todo}") from error


def has_record(folder: RunFolder) -> bool:
    """Return whether a cluster has the run, as far as its folder says; it never raises."""
    return os.path.lexists(folder.path / NAME)


def forget(folder: RunFolder) -> None:
    """Write that no cluster has the run any more."""
    (folder.path / NAME).unlink(missing_ok=True)


def _proof(run_id: str, address: str) -> str:
    token = _token()
    return hmac.new(token, f"{run_id} {address}".encode(), "sha256").hexdigest() if token else ""


def _token() -> bytes:
    """Return the token where Ray looks for it; empty: there is none."""
    if given := os.environ.get("RAY_AUTH_TOKEN"):
        return given.strip().encode()
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    try:
        return path.read_bytes().strip()
    except OSError:
        return b""
