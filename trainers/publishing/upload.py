"""The upload of files to a repository of the Hub, in one commit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainers.data import access
from trainers.data.hf_errors import causes, status_of
from trainers.data.hf_logging import ThrottledError, online, quiet
from trainers.errors import UserError, brief

REPOSITORY = re.compile(r"[\w][\w.-]{0,95}/[\w][\w.-]{0,95}", re.ASCII)
"""Name of a repository, ``owner/name``."""
_AGAIN = 3  # times that a commit is tried when somebody else has committed meanwhile


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where something is pushed to, and in whose name.

    Attributes:
        name: of the repository, ``owner/name``; it is made if it is not there.
        private: it is made as a private one.
        token: of whoever uploads; None: the one that this machine is logged in with.
    """

    name: str
    private: bool = False
    token: str | None = field(default=None, repr=False)


def upload(files: Mapping[str, Path], target: Target, *, message: str, kind: str) -> str:
    """Make the repository if it is not there, and upload the files in one commit; returns the address of the commit.

    Args:
        kind: of repository, ``model`` or ``dataset``.

    Raises:
        UserError: the name is none, there is no token, or the Hub refuses; with what to do.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    to, api = target.name, HfApi(token=check_target(target))
    with quiet():
        try:
            api.create_repo(to, private=target.private, exist_ok=True, repo_type=kind)
            for again in range(_AGAIN):
                operations: list[Any] = [CommitOperationAdd(name, str(path)) for name, path in files.items()]
                try:
                    made: Any = api.create_commit(to, operations, commit_message=message, repo_type=kind)
                    return str(made.commit_url)
                except Exception as error:
                    if status_of(error) != 412 or again == _AGAIN - 1:
                        raise
        except Exception as error:  # the client and its transport raise many kinds
            raise _refused(error, to) from error
    raise AssertionError("a commit returns or raises")


def check_target(target: Target) -> str:
    """Return the token to upload with, before anything is made for it.

    Raises:
        UserError: the name is none, there is no token, or the Hub cannot be reached.
    """
    if REPOSITORY.fullmatch(target.name) is None:
        raise UserError(f"A repository as owner/name was needed; got {target.name!r:.100}.")
    token = token_of(target.token)
    if not online():
        raise UserError("The Hugging Face Hub cannot be reached, so nothing was uploaded. Check the network.")
    return token


def token_of(given: str | None = None) -> str:
    """Return the token to write with: the one given, else that of this machine, never used in a visitor's name.

    Raises:
        UserError: there is none.
    """
    from huggingface_hub import get_token

    public = access.public()
    token = given or (None if public else get_token())
    if not token:
        todo = "sign in with Hugging Face on this page" if public else "run `hf auth login`, or set HF_TOKEN"
        raise UserError(f"The Hub takes uploads from those who are logged in: {todo}.")
    return token


def _refused(error: BaseException, to: str) -> UserError:
    throttled = next((cause for cause in causes(error) if isinstance(cause, ThrottledError)), None)
    if throttled is not None:
        return throttled
    status = status_of(error)
    if status == 401:
        again = "Sign in again" if access.public() else "Log in again with `hf auth login`, or correct HF_TOKEN"
        return UserError(f"The Hub does not know this token. {again}.")
    if status == 403:
        advice = "Choose a name of your own" if access.public() else "Make one with write access to your repositories"
        return UserError(f"This token may not write to {to!r}. {advice}.")
    if status == 412:
        return UserError(f"Others are committing to {to!r} at the same time. Try again.")
    if status is not None and status >= 500:
        return UserError(
            f"The Hugging Face Hub has a fault (its answer was {status}). Try again in some minutes: what has been "
            "uploaded is not sent again."
        )
    return UserError(f"Nothing was committed to {to!r}: {brief(error)}")
