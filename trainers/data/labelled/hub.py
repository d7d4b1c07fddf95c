"""Hub datasets: checked by name and size before anything is downloaded, read from the local copy afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from trainers.data import access, cache, settings
from trainers.data.hf_errors import explained
from trainers.data.hub_requests import LOOK_SECONDS, BackgroundStep, offline, online, quiet, within
from trainers.data.labelled import files, folders, packed
from trainers.data.labelled.download import Download, Shards
from trainers.data.labelled.opening import OpenedDataset, as_said, make_builder, prepared_splits, read_card
from trainers.data.labelled.repository import MANY, RemoteFolder, Repository, repository
from trainers.data.labelled.table import ArrowTable, Splits
from trainers.errors import DataError
from trainers.progress import Progress, silent
from trainers.runs.atomic_files import write_bytes

_NOTED_COMMIT = 40  # digits of a commit; a shorter revision is the name of a branch or a tag


def _about(name: str, subset: str | None) -> Path | None:
    root = settings.cache_folder()
    return None if root is None else root / "hub" / f"{cache.content_key((name, subset))}.json"


def note(opened: OpenedDataset, name: str, subset: str | None) -> None:
    """Note what a dataset of which a part was read is called, for times without a network."""
    path = _about(name, subset)
    if path is not None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, json.dumps([opened.key, opened.title, opened.licence, opened.revision]).encode())


def noted(name: str, subset: str | None, revision: str | None) -> OpenedDataset | None:
    """Return a dataset of which a part was read before; its decoded images may be here, its files are not read again.

    None: it was not read here, or at another commit.
    """
    path = _about(name, subset)
    try:
        key, title, licence, sha = map(str, json.loads(path.read_bytes() if path is not None else "[]"))
    except (OSError, ValueError, TypeError):
        return None
    if revision is not None and len(revision) == _NOTED_COMMIT and sha != revision:
        return None

    def read(_progress: Progress) -> Splits:
        raise DataError(
            f"The Hub cannot be reached, and of {name!r} other images are on this machine than these settings ask for. "
            "Try again when there is a network, or take the settings that it was read with."
        )

    return OpenedDataset(key=key, title=title, licence=licence, revision=sha, read=read)


def is_here(name: str, subset: str | None) -> bool:
    """Return whether a dataset was read on this machine, so that it can be without a network; nothing is opened."""
    from huggingface_hub import constants

    kept = Path(os.environ.get("HF_DATASETS_CACHE") or Path(constants.HF_HOME, "datasets"))
    owner, _, own = name.rpartition("/")
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", own)).lower()
    prepared = kept.expanduser() / "___".join(filter(None, (owner, words)))  # as `datasets` names the folder
    return any(prepared.glob("*/*/*/dataset_info.json")) or noted(name, subset, None) is not None


WHOLE_BYTES = 200_000_000
"""Up to which a dataset is fetched whole."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_POLL_SECONDS = 0.5
_ARCHIVE_SECONDS = 60.0  # for the names in all zip files
_MOST_LOOKED_INTO = 4  # zip files that tell whether they hold images
_MOST_SPLITS = 16  # that are looked at before a download
_SAMPLE_BATCH = 20
_SAMPLE_BYTES = 64_000_000  # of one split


def open_hub(
    name: str,
    subset: str | None,
    revision: str | None,
    progress: Progress = silent,
    encoding: str | None = None,
    *,
    metadata: bool = False,
) -> OpenedDataset:
    """Open a Hub dataset; without a network, from what is on the disk already.

    Args:
        encoding: as of :func:`trainers.data.labelled.opening.open_folder`.
        metadata: as of :func:`trainers.data.labelled.opening.open_folder`.
        progress: called while the Hub is waited for; what it raises ends the wait.

    Raises:
        DataError: unknown, private, gated, with several subsets, in need of a script, or not reachable.
    """
    import datasets.packaged_modules

    if name in datasets.packaged_modules._PACKAGED_DATASETS_MODULES:
        raise DataError(f"{name!r} is a file format, not a dataset. Give a Hub id such as uoft-cs/cifar100.")
    connected = online()
    repo = within(LOOK_SECONDS, name, lambda: repository(name, revision), progress) if connected else None
    if repo is not None and _plain(repo, progress, metadata=metadata):
        return _open_files(repo, subset, encoding)
    pinned = revision if repo is None else repo.sha or revision
    make = partial(make_builder, remote(name), f"hf://datasets/{name}@", subset, pinned, None)
    with nullcontext() if connected else offline():
        try:
            builder = within(LOOK_SECONDS, name, make, progress) if connected else make()
        except DataError:
            if connected or (known := noted(name, subset, revision)) is None:
                raise
            return known
    here = builder.hash if _COMMIT.fullmatch(builder.hash) else ""
    if not connected and revision is not None and _COMMIT.fullmatch(revision) and here != revision:
        raise DataError(
            f"The Hub cannot be reached, and {name!r} is on this machine at another commit than {revision[:12]}. Try "
            "again when there is a network, or leave the revision empty to read what is here."
        )
    card = _card(name, pinned) if connected else {}
    shards = None if repo is None else _shards(builder, repo)
    opened = OpenedDataset(
        key=f"{name}/{builder.config_id}/{builder.hash}",
        title=card.get("pretty_name") or name.split("/")[-1],
        licence=card.get("license") or builder.info.license or "unknown",
        revision=here if repo is None else repo.sha,
        read=lambda progress: _read(builder, name, repo, progress),
        sample=None if _prepared(builder) else partial(_sample, builder, name),
        refuse=lambda: _refuse(builder, name, repo),
    )
    if shards is None:
        return opened

    def part(*asked: Any) -> Splits:
        splits = shards.read(*asked)
        note(opened, name, subset)
        return splits

    return replace(opened, part=part, refuse=lambda: None)


def _plain(repo: Repository, progress: Progress, *, metadata: bool) -> bool:
    """Return whether a repository is read with our own readers of folders."""
    plain = repo.plain(metadata=metadata)
    if plain is False or _needs_card(repo):
        return False
    if plain is None:
        return within(LOOK_SECONDS, repo.name, partial(_packs, repo), progress)
    return True


def _packs(repo: Repository) -> bool:
    """Return whether the zip files of a repository hold images."""
    folder = RemoteFolder(repository=repo)
    zips = [file for file in folder.listed((".zip",))][:_MOST_LOOKED_INTO]
    return any(True for file in zips for _ in folder.opened(file).files())


def _needs_card(repo: Repository) -> bool:
    """Return whether the card says which tables are read, or names the classes of one."""
    if not repo.tables or "README.md" not in repo.files:
        return False
    card = _card(repo.name, repo.sha)
    return "configs" in card or "classes" in card


def _open_files(repo: Repository, subset: str | None, encoding: str | None) -> OpenedDataset:
    """Open a repository of image files, or of zip files of them, with our own readers of folders."""
    if subset is not None:
        raise DataError(f"{repo.name!r} has no subsets, so {subset!r:.60} is none of them; leave the subset out.")
    card = _card(repo.name, repo.sha)
    sizes = {path: repo.files[path] for path in repo.wanted}
    refuse = partial(_refuse_size, repo.name, sum(sizes.values()), _copy(repo.name))

    def here(progress: Progress) -> Splits:
        """Fetch everything, and read it as the folder that it is; what is there already is not fetched again."""
        refuse()
        several = len(repo.images)
        if several > MANY:
            progress(f"{repo.name} has {several:,} loose images, a request each; one zip or parquet file is faster", 0)
        Download(repo, sizes, _copy(repo.name), progress).run()
        copy = files.Folder(path=_copy(repo.name) / "snapshots" / repo.sha, encoding=encoding)
        splits = as_said(card, folders.tables(*packed.with_zips(copy, copy.opened)))
        note(opened, repo.name, None)
        return splits

    def listed(_rows: int) -> Splits:
        """Read the names of the files and the tables; images are fetched as they are looked at."""
        folder = RemoteFolder(repository=repo, encoding=encoding)
        looked = partial(packed.with_zips, folder, folder.opened)
        return as_said(card, folders.tables(*within(_ARCHIVE_SECONDS, repo.name, looked)))

    opened = OpenedDataset(
        key=f"{repo.name}/{repo.sha}",
        title=card.get("pretty_name") or repo.name.split("/")[-1],
        licence=card.get("license") or "unknown",
        revision=repo.sha,
        read=here,
        sample=listed,
        refuse=refuse,
    )
    return opened


def fetched_folder(name: str, revision: str | None) -> Path | None:
    """Return the folder of a dataset that was fetched as image files at a commit; None: it was not."""
    if revision is None or not _COMMIT.fullmatch(revision):
        return None
    folder = _copy(name) / "snapshots" / revision
    return folder if folder.is_dir() and files.Folder(path=folder).kind() == "images" else None


def remote(name: str) -> str:
    """Return the id as ``datasets`` takes it, so written that it never opens a folder of that name."""
    return f"hf://datasets/{name}" if Path(name).exists() else name


def _sample(builder: Any, name: str, rows: int) -> Splits:
    """Stream the first rows of each split: enough to see the columns, without the download."""

    def look() -> tuple[int, dict[str, ArrowTable | None]]:
        with explained(name):
            streams = builder.as_streaming_dataset()
            # rows of a WebDataset may have their columns in another order, and those of one batch need one
            batch = 1 if "webdataset" in type(builder).__module__ else _SAMPLE_BATCH
            return len(streams), {
                str(split): head(streams[split], rows, batch) for split in list(streams)[:_MOST_SPLITS]
            }

    count, heads = within(LOOK_SECONDS, name, look)
    notes = (f"Only the first {_MOST_SPLITS} of {count} splits were looked at.",) * (count > len(heads))
    return Splits(tables={split: table for split, table in heads.items() if table is not None}, notes=notes)


def head(stream: Any, rows: int, batch: int = _SAMPLE_BATCH) -> ArrowTable | None:
    """Read the first rows as they are stored: what is nested in them is not decoded, no path in them is opened."""
    import datasets
    import pyarrow

    parts: list[Any] = []
    left, taken = rows, 0
    for part in stream.with_format("arrow").iter(batch_size=batch):
        parts.append(part.select(parts[0].column_names if parts else part.column_names).slice(0, left))
        left, taken = left - len(part), taken + part.nbytes
        if left <= 0 or taken > _SAMPLE_BYTES:
            break
    if not parts:
        return None
    table = pyarrow.concat_tables(parts, promote_options="permissive")  # a column that is empty at first has no type
    features = stream.features or datasets.Features.from_arrow_schema(table.schema)
    return ArrowTable(datasets.Dataset(table, info=datasets.DatasetInfo(features=features)))


def _read(builder: Any, name: str, repo: Repository | None, progress: Progress) -> Splits:
    import datasets.config

    if not _prepared(builder):
        sizes = _refuse(builder, name, repo)
        if repo is not None:
            Download(repo, sizes, _copy(name), progress).run()
        _prepare(builder, name, progress)
    # Files that rows may name: those of this dataset's own copy, and archives unpacked from it.
    snapshot = _copy(name) / "snapshots" / ("" if repo is None else repo.sha)
    roots = (Path(builder.cache_dir), snapshot, _copy(name), Path(datasets.config.HF_DATASETS_CACHE) / "downloads")
    with explained(name):
        return prepared_splits(builder, roots)


def _shards(builder: Any, repo: Repository) -> Shards | None:
    """Return the files of a dataset of which a part may be read: several parquet files that take long to fetch."""
    if "parquet" not in type(builder).__module__:
        return None
    sizes = _listed_sizes(builder, repo)
    files = {
        str(split): [path for path in sizes if any(str(file).endswith(f"/{path}") for file in paths)]
        for split, paths in builder.config.data_files.items()
    }
    if sum(sizes.values()) < WHOLE_BYTES or all(len(paths) < 2 for paths in files.values()):
        return None
    return Shards(
        repository=repo,
        files=files,
        features=builder.info.features,
        rows={name: split.num_examples for name, split in (builder.info.splits or {}).items()},
        copy=_copy(repo.name),
        prepare=lambda made, progress: _prepare(made, repo.name, progress),
        refuse=lambda size: _refuse_size(repo.name, size, Path(builder.cache_dir)),
    )


def _copy(name: str) -> Path:
    """Return the folder where ``huggingface_hub`` keeps the files of a dataset."""
    import huggingface_hub.constants

    return Path(huggingface_hub.constants.HF_HUB_CACHE) / f"datasets--{name.replace('/', '--')}"


def _prepared(builder: Any) -> bool:
    return (Path(builder.cache_dir) / "dataset_info.json").is_file()


def _refuse(builder: Any, name: str, repo: Repository | None) -> Mapping[str, int]:
    """Return the files to download with their bytes; refuse more than is allowed or has room."""
    if repo is None or _prepared(builder):
        return {}
    sizes = _listed_sizes(builder, repo)
    _refuse_size(name, sum(sizes.values()), Path(builder.cache_dir))
    return sizes


def _refuse_size(name: str, size: int, folder: Path) -> None:
    limit = settings.download_bytes()
    if size > limit:
        raise DataError(
            f"{name!r} is a download of {size / settings.GB:.1f} GB; the limit here is {limit / settings.GB:g} GB. "
            "Choose a smaller dataset or subset, or raise RANKSCOPE_DOWNLOAD_GB."
        )
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if 2 * size > free:  # the files and their prepared copy
        raise DataError(
            f"{name!r} needs about {2 * size / settings.GB:.1f} GB of disk; {free / settings.GB:.1f} GB are free. "
            "Free some space or choose a smaller dataset."
        )


def _listed_sizes(builder: Any, repo: Repository) -> dict[str, int]:
    """Return the bytes of the files of this subset, from the Hub's list of files: what a card says may be wrong."""
    listed = (path for paths in (builder.config.data_files or {}).values() for path in paths)
    named = [str(path).rsplit("::", 1)[-1].split("@")[-1] for path in listed]
    wanted = dict.fromkeys(path.partition("/")[2] for path in named)
    if not wanted.keys() <= repo.files.keys():
        raise DataError(
            f"{repo.name!r} names files that are not in it, so their size is unknown. Choose another dataset."
        )
    return {path: repo.files[path] for path in wanted}


def _prepare(builder: Any, name: str, progress: Progress) -> None:
    """Let ``datasets`` read the files, in a thread so that ``progress`` can stop the wait for it."""

    def work() -> None:
        with explained(name):
            builder.download_and_prepare(verification_mode="no_checks")

    step = BackgroundStep(work)
    try:
        while not step.ended(_POLL_SECONDS):
            progress(f"Reading the files of {name}", 0.99)
    finally:
        step.give_up()
    step.result()


def _card(name: str, revision: str | None) -> dict[str, str]:
    from huggingface_hub import hf_hub_download

    with quiet():
        try:
            path = hf_hub_download(name, "README.md", repo_type="dataset", revision=revision, token=access.token())
        except Exception:  # without a card the licence is unknown
            return {}
    return read_card(Path(path))
