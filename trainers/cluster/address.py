"""The Ray cluster on which runs are placed: its address, and joining it."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
from typing import Any

from trainers import HOME
from trainers.errors import UserError, brief

VARIABLE = "RANKSCOPE_RAY"
"""Environment variable with the address of the cluster, for this program and those that it starts."""
NAMESPACE = "rankscope"
MODE, TOKEN = "RAY_AUTH_MODE", "token"
ANSWER_SECONDS = 5.0
_ADDRESS = re.compile(r"auto|([\w.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\]):([0-9]{1,5})", re.ASCII)


def address() -> str:
    """Return the address of the cluster; empty: runs train on this machine."""
    return os.environ.get(VARIABLE, "")


def use(given: str) -> None:
    """Have runs placed on the cluster at an address from now on.

    Args:
        given: ``auto``, for the cluster that this machine belongs to, or ``HOST:PORT``.

    Raises:
        UserError: it is no address, Ray is not installed, or whoever reaches the cluster could run code in it.
    """
    if _ADDRESS.fullmatch(given) is None:
        raise UserError(f"The address of a Ray cluster is auto or HOST:PORT; got {given!r:.60}.")
    if importlib.util.find_spec("ray") is None:
        raise UserError("Ray is needed to place runs on a cluster, and it is not installed. Run: pip install ray")
    if os.environ.get(MODE) != TOKEN:
        raise UserError(
            "Runs are placed only on clusters that ask for a token: without it whoever reaches their ports can run "
            f"code. Set {MODE}={TOKEN} here and where `ray start` is called, and the same token in RAY_AUTH_TOKEN or "
            "~/.ray/auth_token."
        )
    os.environ[VARIABLE] = given


def connected() -> Any:
    """Join the cluster, and return the module ``ray``. Its machines get this program's package ``trainers``,
    and what this machine allows strangers.

    Raises:
        UserError: it cannot be joined.
    """
    use(address())
    _check_answers(address())
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    from trainers.data.access import ACCESS
    from trainers.plugins import FAILED
    from trainers.plugins import VARIABLE as PLUGINS

    package = HOME / __name__.partition(".")[0]
    try:
        ray.init(
            address=address(),
            namespace=NAMESPACE,
            log_to_driver=False,
            configure_logging=False,
            runtime_env={
                "py_modules": [str(package)],
                "excludes": ["**/__pycache__", "assets/recorded", "docs"],
                "env_vars": {name: os.environ[name] for name in (*ACCESS, PLUGINS, FAILED) if name in os.environ},
            },
        )
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise UserError(
            f"The Ray cluster at {address()} cannot be joined: {brief(error).rstrip('.')}. Its token in RAY_AUTH_TOKEN "
            "or ~/.ray/auth_token and its versions of Ray and Python have to be those of this machine."
        ) from error
    return ray


def _check_answers(given: str) -> None:
    """Refuse an address at which nobody answers, for which Ray would wait for minutes."""
    match = _ADDRESS.fullmatch(given)
    if match is None or match[1] is None:
        return
    try:
        socket.create_connection((match[1].strip("[]"), int(match[2])), ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"Nothing answers at {given}. Start the cluster with `ray start`, or give --ray its address."
        ) from error
