"""Requests to the Hub about jobs, with the user's own token; what it refuses is said in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from trainers.data.hf_errors import causes, status_of
from trainers.data.hf_logging import ThrottledError, online, quiet
from trainers.errors import UserError, brief
from trainers.jobs.hardware import Hardware, printable, read_hardware
from trainers.publishing.upload import token_of

SECRET = "HF_TOKEN"
"""Name of the secret with the token; the Hub's client in the job reads it."""
ENDED = frozenset({"COMPLETED", "CANCELED", "ERROR", "DELETED"})
"""Stages of a job that trains no more."""
_KNOWN = {
    401: "The Hub does not know this token. Log in again with `hf auth login`, or correct HF_TOKEN.",
    402: "The Hub asks for payment before it starts jobs. Add credit or a payment method in the billing settings of "
    "your account on the Hub, or choose a cheaper --flavor or a shorter --timeout.",
    403: "This token or account may not do that. Make a token that may start jobs and write to your repositories, and "
    "see on the Hub whether your account may use jobs.",
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job as the Hub describes it; ``seconds``: how long it has run, None: it has not begun, or is not said."""

    id: str
    owner: str
    url: str
    stage: str
    message: str
    seconds: int | None

    @property
    def ended(self) -> bool:
        """Whether it trains no more."""
        return self.stage in ENDED


class JobsClient:
    """The user's account as far as jobs go.

    Raises:
        UserError: nobody is logged in, strangers use this machine, or the Hub cannot be reached.
    """

    def __init__(self) -> None:
        from huggingface_hub import HfApi

        self.token = token_of()
        if not online():
            raise UserError("The Hugging Face Hub cannot be reached, so no job can be asked for. Check the network.")
        self._api: Any = HfApi(token=self.token)

    def user(self) -> str:
        """Return the name of the account that the token belongs to."""
        with self._asked("The account"):
            return str(self._api.whoami()["name"])

    def hardware(self) -> list[Hardware]:
        """List the hardware that jobs can have, with its price now."""
        with self._asked("The list of hardware"):
            entries = [read_hardware(entry) for entry in self._api.list_jobs_hardware()]
        return [entry for entry in entries if entry is not None]

    def start(self, owner: str, command: list[str], *, image: str, flavor: str, seconds: int, run: str) -> Job:
        """Start a job; the token goes as a secret, which the Hub encrypts and shows nobody."""
        with self._asked("The job"):
            return _read(
                self._api.run_job(
                    image=image,
                    command=command,
                    secrets={SECRET: self.token},
                    flavor=flavor,
                    timeout=seconds,
                    labels={"name": f"rankscope-{run[-6:]}", "rankscope": run},
                    namespace=owner,
                )
            )

    def job(self, job: str, owner: str) -> Job:
        """Ask how a job is."""
        with self._asked("The job", missing=job):
            return _read(self._api.inspect_job(job_id=job, namespace=owner))

    def last_lines(self, job: str, owner: str, count: int) -> list[str]:
        """Return the last lines of a job's log, without what a terminal would obey."""
        with self._asked("The log of the job", missing=job):
            text = list(self._api.fetch_job_logs(job_id=job, namespace=owner, tail=count)) if count else []
        lines = [line for part in text for line in str(part).splitlines()]
        return [printable(line) for line in lines[-count:]]

    def cancel(self, job: str, owner: str) -> None:
        """End a job."""
        with self._asked("The job", missing=job):
            self._api.cancel_job(job_id=job, namespace=owner)

    def delete_repository(self, name: str) -> None:
        """Delete a dataset repository, if it is there."""
        with self._asked("The repository"):
            self._api.delete_repo(name, repo_type="dataset", missing_ok=True)

    @contextmanager
    def _asked(self, what: str, missing: str = "") -> Iterator[None]:
        """Turn what the client and its transport raise into sentences, without the token."""
        with quiet():
            try:
                yield
            except Exception as error:  # they raise many kinds
                raise self._refused(error, what, missing) from None

    def _refused(self, error: BaseException, what: str, missing: str) -> UserError:
        if throttled := next((cause for cause in causes(error) if isinstance(cause, ThrottledError)), None):
            return throttled
        status = status_of(error)
        if status in _KNOWN:
            return UserError(_KNOWN[status])
        if status == 404 and missing:
            return UserError(f"The Hub knows no job {missing!r} of this account. See your jobs on the Hub.")
        if status is not None and status >= 500:
            return UserError(f"The Hugging Face Hub has a fault (its answer was {status}). Try again in some minutes.")
        why = brief(error).replace(self.token, "***")
        return UserError(f"{what} was refused or not answered by the Hub: {why}")


def _read(info: Any) -> Job:
    durations = info.durations
    return Job(
        id=str(info.id),
        owner=printable(info.owner.name),
        url=printable(info.url),
        stage=printable(getattr(info.status.stage, "value", info.status.stage)),
        message=printable(info.status.message or ""),
        seconds=None if durations is None else durations.running_secs,
    )
