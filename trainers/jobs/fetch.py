"""The way back of a run that a job trains: from its repository into the folder of the runs."""

from __future__ import annotations

from trainers.errors import RunError
from trainers.jobs.record import JobRecord
from trainers.jobs.repository import opened
from trainers.jobs.submission import family
from trainers.publishing.upload import Target
from trainers.runs import RunFolder, list_runs


def fetch(folder: RunFolder, record: JobRecord, token: str) -> RunFolder:
    """Replace a run, and those of a plan, by what its job copied to the repository; returns the new one.

    Raises:
        UserError: the repository cannot be read or holds a run of this folder that is no part
            of this one, or the run here was trained further.
    """
    root = folder.path.parent
    with opened(Target(name=record.repository, private=True, token=token)) as repository:
        manifests = repository.fetch()
        if folder.id not in [manifest.id for manifest in manifests]:
            raise RunError(f"{record.repository!r} holds no copy of run {folder.id}.")
        known, here = {run.id for run in family(folder)}, {run.id for run in list_runs(root)}
        strange = [manifest.id for manifest in manifests if manifest.id in here - known]
        if strange:
            raise RunError(
                f"{record.repository!r} holds run {strange[0]}, which is here and is no part of {folder.id}."
            )
        folder.db.close()
        for manifest in manifests:
            repository.restore(manifest, root)
    return RunFolder.open(root, folder.id)
