"""The private dataset repository of a run that a job trains: the copy of the run, those of a plan's runs, the program.

program.tar.gz             what the job trains with
runs/<id>/manifest.json    copies of runs, in the form of :mod:`trainers.runs.copies`
         /<sha256>
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trainers.data.hf_errors import explained
from trainers.errors import RunError
from trainers.progress import Progress, silent
from trainers.publishing.push import send
from trainers.publishing.upload import Target
from trainers.runs import RunFolder
from trainers.runs.copies import MANIFEST, Manifest, kept_ids, read_manifest, restore, stamp_of, write_copy
from trainers.runs.files import write_bytes
from trainers.runs.lock import RunLock
from trainers.runs.scratch import scratch

RUNS = "runs"
_KEPT_HERE = ("label.json", "owner", "job.json")  # written beside the run while the job trained it


class Repository:
    """The repository of one run.

    Args:
        target: its name, and the token of its owner.
        staging: folder for copies on their way, on a disk of this machine.
    """

    def __init__(self, target: Target, staging: Path) -> None:
        self.target = target
        self._copies = staging / RUNS
        self._copies.mkdir(parents=True, exist_ok=True)
        self._sent: dict[str, Manifest] = {}

    def push(self, folders: list[RunFolder], more: Mapping[str, Path], progress: Progress = silent) -> str | None:
        """Bring the copies of runs in the repository up to date, in one commit; returns the commit.

        Args:
            more: further files, by their names in the repository.

        Returns:
            None where the repository holds everything already.

        Raises:
            UserError: a run cannot be read, or the Hub refuses.
            OSError: a file of a run has gone meanwhile.
        """
        files, gone, manifests = dict(more), set[str](), dict(self._sent)
        for folder in folders:
            before = self._sent.get(folder.id)
            if before is not None and before.stamp == stamp_of(folder.path):
                continue
            after = write_copy(folder, self._copies)
            manifests[folder.id] = after
            old, new = (_contents(manifest) for manifest in (before, after))
            gone |= {self._named(folder.id, name) for name in old - new}
            names = [*sorted(new - old), MANIFEST]
            files |= {self._named(folder.id, name): self._copies / folder.id / name for name in names}
        if not files:
            return None
        steps = ", ".join(
            f"{run} at step {manifest.step}" for run, manifest in manifests.items() if manifest != self._sent.get(run)
        )
        message = f"Run {steps}" if len(folders) == 1 else f"{len(folders)} runs"
        done = send(files, self.target, progress, message=message, kind="dataset", gone=sorted(gone))
        self._sent = manifests
        return done.url.rpartition("/")[2]

    def fetch(self) -> list[Manifest]:
        """Fetch the copies of all runs; returns what they hold.

        Raises:
            UserError: the repository cannot be read, or holds what is no copy of a run.
        """
        from huggingface_hub import HfApi

        name, token = self.target.name, self.target.token
        with explained(name):
            api = HfApi(token=token)
            sha = api.dataset_info(name).sha
            api.snapshot_download(
                name,
                repo_type="dataset",
                revision=sha,
                allow_patterns=f"{RUNS}/*",
                local_dir=self._copies.parent,
            )
        manifests = [read_manifest(self._copies / run) for run in kept_ids(self._copies)]
        self._sent = {manifest.id: manifest for manifest in manifests if manifest is not None}
        return list(self._sent.values())

    def restore(self, manifest: Manifest, root: Path) -> RunFolder:
        """Make a run of its fetched copy, in the place of an older one with its id.

        Raises:
            RunError: the copy is damaged, or the run here is being trained, or was trained further.
            OSError: the run cannot be written.
        """
        path = root / manifest.id
        if not path.exists():
            restore(manifest, self._copies, root)
            return RunFolder.open(root, manifest.id)
        old = RunFolder.open(root, manifest.id)
        if (step := old.state().step) > manifest.step:
            raise RunError(
                f"The run {old.id} is at step {step} here and at step {manifest.step} in {self.target.name!r}, so it "
                "was not replaced. Give --runs another folder to fetch it into."
            )
        with scratch(root) as spare, _locked(old):
            restore(manifest, self._copies, spare)
            for name in _KEPT_HERE:
                if (old.path / name).is_file():
                    write_bytes(spare / old.id / name, (old.path / name).read_bytes())
            old.db.close()
            (spare / "before").mkdir()
            path.rename(spare / "before" / old.id)
            (spare / old.id).rename(path)
        return RunFolder.open(root, manifest.id)

    def _named(self, run: str, name: str) -> str:
        return f"{RUNS}/{run}/{name}"


@contextmanager
def opened(target: Target) -> Iterator[Repository]:
    """Yield a repository whose copies on their way are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="rankscope-") as staging:
        yield Repository(target, Path(staging))


def _contents(manifest: Manifest | None) -> set[str]:
    return set() if manifest is None else {entry.sha256 for entry in manifest.files.values()}


@contextmanager
def _locked(folder: RunFolder) -> Iterator[None]:
    lock = RunLock(folder.path)
    if not lock.acquire():
        raise RunError(f"The run {folder.id} is being trained on this machine; stop it before fetching it.")
    try:
        yield
    finally:
        lock.release()
