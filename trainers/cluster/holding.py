"""Whether a cluster still has a run that was given to one, so that nobody trains it twice."""

from __future__ import annotations

from trainers.cluster.address import use
from trainers.cluster.questions import has_run
from trainers.cluster.record import FORGET, forget, read_record
from trainers.distributed.launch import processes
from trainers.errors import RunError, UserError
from trainers.runs import RunFolder

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
