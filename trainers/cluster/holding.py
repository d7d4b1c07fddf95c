"""Which cluster was given a run, and whether it still has it, so that nobody trains the run twice.

That a cluster has it is written in ``cluster.json`` in the run's folder until all of it is here. A cluster is asked by
a process of its own, ``python -m trainers.cluster.holding``.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainers.cluster.address import VARIABLE, address, connected, use
from trainers.distributed.launch import processes
from trainers.errors import RunError, UserError
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
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

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

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


SECONDS = 120.0
"""Most that an answer takes, of which Ray needs several to be loaded and to join, and a minute on a busy machine."""


def slots() -> int:
    """Ask the cluster how many runs can train at once.

    Raises:
        UserError: it cannot be asked.
    """
    return int(_asked(address()))


def has_run(at: str, run_id: str) -> bool:
    """Ask the cluster at an address whether it trains a run, or keeps what has become of it.

    Raises:
        UserError: it cannot be asked.
    """
    return bool(_asked(at, run_id))


def _asked(at: str, *words: str) -> Any:
    """Ask by a process of its own: Ray stays out of this program."""
    from trainers.training.executor import program_environment

    command = [sys.executable, "-m", "trainers.cluster.holding", *words]
    told = {**program_environment(), VARIABLE: at}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=told, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise UserError(f"It gave no answer in {SECONDS:g} seconds.") from error
    if done.returncode:
        raise UserError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "The cluster gave no answer.")
    return json.loads(done.stdout.splitlines()[-1])


_TOKEN = "Its address was not written with the token of this machine, in RAY_AUTH_TOKEN or ~/.ray/auth_token."


def cluster_with(folder: RunFolder) -> str:
    """Return the address of the cluster that has a run; empty: none has it, and its folder says so from now on.

    Raises:
        RunError: the cluster gives no answer, and may have it.
    """
    record = read_record(folder)
    if record is None:
        return ""
    try:
        if not record.is_of(folder):
            raise UserError(_TOKEN)
        if has_run(record.address, folder.id):
            return record.address
    except UserError as error:
        raise RunError(
            f"The Ray cluster at {record.address} was given run {folder.id} and may still train it. If it is gone: "
            f"python -m trainers resume {folder.id} {FORGET}. It cannot be asked: {error}"
        ) from error
    forget(folder)
    return ""


def joined(folder: RunFolder) -> bool:
    """Have this program follow a run on the cluster that has it; False: none has it, and it is trained here.

    Raises:
        RunError: the cluster cannot be asked, or several processes were started to train the run.
    """
    if folder.is_alive() or not (address := cluster_with(folder)):
        return False
    if processes() > 1:
        raise RunError(
            f"Run {folder.id} trains on the Ray cluster at {address}. Follow it in one process: "
            f"python -m trainers resume {folder.id} --ray {address}"
        )
    use(address)
    return True


def check_not_there(folder: RunFolder) -> None:
    """Check that no cluster that answers has a run, so that its folder may be deleted.

    Raises:
        RunError: one has it.
    """
    try:
        address = cluster_with(folder)
    except RunError:
        return
    if address:
        raise RunError(
            f"The Ray cluster at {address} has run {folder.id} and may still train it. Resume it, and stop it there, "
            "before deleting it."
        )


def release(folder: RunFolder) -> None:
    """Have a run trained here from now on if its cluster gives no answer; somebody says that it is gone.

    Raises:
        RunError: a process follows it there.
    """
    if folder.is_alive():
        raise RunError(f"Run {folder.id} is being followed by another process; stop it first.")
    try:
        cluster_with(folder)
    except RunError:
        forget(folder)


def keeper_name(run_id: str) -> str:
    """Return the name of the actor that keeps a run that has ended; the one that trains it has the run's id."""
    return f"{run_id}-ended"


def actor_of(ray: Any, run_id: str) -> Any:
    """Return the actor that keeps the run, as it has ended, or trains it; None: the cluster has none."""
    for name in (keeper_name(run_id), run_id):
        with contextlib.suppress(ValueError):
            return ray.get_actor(name)
    return None


def main(argv: list[str]) -> int:
    """Print what is asked of a cluster: the number of GPUs, or of processors where there are none; with the id of a
    run, whether there is its actor.
    """
    try:
        ray = connected()
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    there = ray.cluster_resources()
    answer = actor_of(ray, argv[0]) is not None if argv else int(there.get("GPU", 0) or there.get("CPU", 0))
    print(json.dumps(answer))
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
