"""Uploads of runs to the Hub and downloads of files from it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from trainers.data import access
from trainers.data.hf_errors import causes, status_of
from trainers.data.hub_requests import LOOK_SECONDS, BackgroundStep, ThrottledError, online, quiet, within
from trainers.data.labelled.repository import Repository, fetched, repository
from trainers.data.sources import check_reference, divided
from trainers.errors import DataError, UserError, brief
from trainers.kinds import kind_of
from trainers.progress import Progress
from trainers.publishing.card import named, write_model
from trainers.publishing.comparison import MEGABYTE, MOST_BYTES, RUNS, write_comparison
from trainers.runs import RunFolder

_FETCH_SECONDS = 120.0


def fetch(source: str, progress: Progress) -> tuple[Path, Repository]:
    """Fetch a comparison, ``owner/name`` or ``owner/name@revision``: its file of the runs.

    Args:
        progress: called while the Hub is waited for; what it raises ends the wait.

    Raises:
        DataError: it is no comparison, too large, missing, private, gated or throttled; or the Hub cannot be reached.
    """
    name, revision = divided(source)
    if REPOSITORY.fullmatch(name) is None:
        raise DataError(f"A dataset of the Hub as owner/name was needed; got {source[:120]!r}.")
    check_reference(None, revision)
    if not online():
        raise DataError("The Hugging Face Hub cannot be reached. Check the network, then open the comparison again.")
    known = within(LOOK_SECONDS, name, lambda: repository(name, revision), progress)
    if RUNS not in known.files:
        todo = "Its card names the id; what an earlier version of this program pushed is pushed again."
        raise DataError(f"{name!r} is no comparison of this program: it has no {RUNS}. {todo}")
    if (size := known.files[RUNS]) > MOST_BYTES:
        most = MOST_BYTES // MEGABYTE
        raise DataError(f"{RUNS} of {name!r} has {size / MEGABYTE:,.0f} MB; {most} MB can be opened.")
    progress(f"Fetching {RUNS} of {name}", 0.3)
    return within(_FETCH_SECONDS, name, partial(fetched, known, RUNS), progress), known


REPOSITORY = re.compile(r"[\w][\w.-]{0,95}/[\w][\w.-]{0,95}", re.ASCII)
"""Name of a repository, ``owner/name``."""
_AGAIN = 3  # times that a commit is tried when somebody else has committed meanwhile


@dataclass(frozen=True, kw_only=True)
class PushTarget:
    """Where something is pushed to, and in whose name.

    Attributes:
        name: of the repository, ``owner/name``; it is made if it is not there.
        private: it is made as a private one.
        token: of whoever uploads; None: the one that this machine is logged in with.
    """

    name: str
    private: bool = False
    token: str | None = field(default=None, repr=False)


def upload(files: Mapping[str, Path], target: PushTarget, *, message: str, kind: str) -> str:
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


def check_target(target: PushTarget) -> str:
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


_LAST_REQUEST_SECONDS = 15.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """What was uploaded: the address of its commit, and its files with their bytes together."""

    url: str
    files: tuple[str, ...]
    bytes: int


def push(folder: RunFolder, target: PushTarget, progress: Progress, *, arm: int = 0) -> Pushed:
    """Write the files and upload them in one commit.

    Args:
        progress: called while it lasts; what it raises ends it, and nothing is committed unless it already was.
        arm: of a run, from 0.

    Raises:
        UserError: there is nothing to push yet, or the Hub refuses; with what to do.
    """
    check_target(target)
    plans = kind_of(folder.config).plans
    with tempfile.TemporaryDirectory(prefix="rankscope-") as scratch:
        progress("Writing the files", 0.1)
        to = Path(scratch)
        if plans:
            files, message = write_comparison(folder, target.name, to), f"Comparison {folder.id}"
        else:
            files, message = write_model(folder, arm, target.name, to), named(folder, arm)
        return _send(files, target, message, "dataset" if plans else "model", progress)


def _send(files: Mapping[str, Path], target: PushTarget, message: str, kind: str, progress: Progress) -> Pushed:
    """Upload files in a thread of its own, so that ``progress`` can stop it as long as nothing is committed."""
    size = sum(path.stat().st_size for path in files.values())
    step = BackgroundStep(lambda: upload(files, target, message=message, kind=kind))
    try:
        while not step.ended(_POLL_SECONDS):
            progress(f"Uploading {len(files)} files, {size / 1e6:.1f} MB, to {target.name}", 0.5)
    except BaseException:
        step.give_up()
        if not (step.ended(_LAST_REQUEST_SECONDS) and step.succeeded):
            raise
        # the commit was being made already, so that it is told
    return Pushed(url=step.result(), files=tuple(sorted(files)), bytes=size)
