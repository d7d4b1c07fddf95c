"""Which process of how many this one is, as torchrun, accelerate or srun say in its environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from trainers.errors import UserError

_FIRST_PORT, _PORTS = 20_000, 20_000
_SIZES = tuple(f"{of}{what}" for of in ("", "LOCAL_", "GROUP_", "ROLE_") for what in ("RANK", "WORLD_SIZE"))
_TOLD = frozenset({*_SIZES, "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT", "SLURM_PROCID", "SLURM_LOCALID"})
_TOLD_FROM = ("TORCHELASTIC_", "SLURM_STEP_")
"""Names of what launchers set, and beginnings of such names."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One process of several.

    Attributes:
        rank, world: its number from 0, and how many there are.
        local: its number on this machine.
        address, port: where the first one listens.
    """

    rank: int
    world: int
    local: int
    address: str
    port: int

    @property
    def leader(self) -> int:
        """Rank of the first process on this machine."""
        return self.rank - self.local


def launched(environment: Mapping[str, str] = os.environ) -> Launch | None:
    """Read the environment; None: this process trains alone.

    Raises:
        UserError: something is missing or is no number.
    """
    slurm = "WORLD_SIZE" not in environment and "SLURM_STEP_NUM_TASKS" in environment
    names = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID") if slurm else ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    if int(environment.get(names[1], "1") or 1) < 2:
        return None
    try:
        rank, world, local = (int(environment[name]) for name in names)
        port = environment.get("MASTER_PORT") or (_slurm_port(environment) if slurm else environment["MASTER_PORT"])
        address = environment.get("MASTER_ADDR") or (_slurm_host(environment) if slurm else environment["MASTER_ADDR"])
        return Launch(rank=rank, world=world, local=local, address=address, port=int(port))
    except (KeyError, ValueError) as error:
        raise UserError(
            f"Several processes need {', '.join(names)}, MASTER_ADDR and MASTER_PORT in their environment, which "
            f"torchrun, accelerate launch and srun set; got {error}. Start them with one of these."
        ) from error


def processes() -> int:
    """Return how many processes were started to train one run."""
    launch = launched()
    return 1 if launch is None else launch.world


def alone(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what a launcher says in it: for a process that trains a run of its own."""
    return {name: value for name, value in environment.items() if not (name in _TOLD or name.startswith(_TOLD_FROM))}


def _slurm_port(environment: Mapping[str, str]) -> int:
    """Return a port that two steps on one machine do not share, as a rule."""
    return _FIRST_PORT + (int(environment["SLURM_JOB_ID"]) * 7 + int(environment["SLURM_STEP_ID"])) % _PORTS


def _slurm_host(environment: Mapping[str, str]) -> str:
    """Return the name of the machine with the step's first process."""
    nodes = environment["SLURM_STEP_NODELIST"]
    if environment.get("SLURM_STEP_NUM_NODES", "1") == "1":
        return "127.0.0.1"
    listed = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=False)
    if not listed.stdout.strip():
        raise ValueError(f"no host names of {nodes!r} from scontrol; set MASTER_ADDR")
    return listed.stdout.split()[0]
