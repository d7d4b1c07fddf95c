"""Hub datasets: checked by name and size before anything is downloaded, read from the local copy afterwards."""

from __future__ import annotations

import shutil
import threading
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from trainers.data import access, settings
from trainers.data.hf_errors import explain, explained
from trainers.data.hf_logging import offline, online, quiet
from trainers.data.labelled.opening import OpenedDataset, make_builder, prepared_splits, read_card
from trainers.data.labelled.table import ArrowTable, Splits
from trainers.errors import DataError
from trainers.progress import Progress

_POLL_SECONDS = 0.5
_MOST_SPLITS = 16  # that are looked at before a download
_SAMPLE_BATCH = 20
_SAMPLE_BYTES = 64_000_000  # of one split


def open_hub(name: str, subset: str | None, revision: str | None) -> OpenedDataset:
    """Open a Hub dataset; without a network, from what is on the disk already.

    Raises:
        DataError: unknown, private, gated, with several subsets, in need of a script, or not reachable.
    """
    import datasets.packaged_modules

    if name in datasets.packaged_modules._PACKAGED_DATASETS_MODULES:
        raise DataError(f"{name!r} is a file format, not a dataset. Give a Hub id such as uoft-cs/cifar100.")
    connected = online()
    with nullcontext() if connected else offline():
        builder = make_builder(remote(name), f"hf://datasets/{name}@", subset, revision, None)
    card = _card(name, revision) if connected else {}
    return OpenedDataset(
        key=f"{name}/{builder.config_id}/{builder.hash}",
        title=card.get("pretty_name") or name.split("/")[-1],
        licence=card.get("license") or builder.info.license or "unknown",
        read=lambda progress: _read(builder, name, connected, progress),
        sample=None if _prepared(builder) else lambda rows: _sample(builder, name, rows),
        refuse=lambda: _refuse(builder, name, connected),
    )


def remote(name: str) -> str:
    """Return the id as ``datasets`` takes it, so written that it never opens a folder of that name."""
    return f"hf://datasets/{name}" if Path(name).exists() else name


def _sample(builder: Any, name: str, rows: int) -> Splits:
    """Stream the first rows of each split: enough to see the columns, without the download."""
    with explained(name):
        streams = builder.as_streaming_dataset()
        heads = {str(split): _head(streams[split], rows) for split in list(streams)[:_MOST_SPLITS]}
    notes = (f"Only the first {_MOST_SPLITS} of {len(streams)} splits were looked at.",) * (len(streams) > len(heads))
    return Splits(tables={split: table for split, table in heads.items() if table is not None}, notes=notes)


def _head(stream: Any, rows: int) -> ArrowTable | None:
    """Read the first rows as they are stored: what is nested in them is not decoded, no path in them is opened."""
    import datasets
    import pyarrow

    parts: list[Any] = []
    left, taken = rows, 0
    for part in stream.with_format("arrow").iter(batch_size=_SAMPLE_BATCH):
        parts.append(part.slice(0, left))
        left, taken = left - len(part), taken + part.nbytes
        if left <= 0 or taken > _SAMPLE_BYTES:
            break
    if not parts:
        return None
    table = pyarrow.concat_tables(parts)
    features = stream.features or datasets.Features.from_arrow_schema(table.schema)
    return ArrowTable(datasets.Dataset(table, info=datasets.DatasetInfo(features=features)))


def _read(builder: Any, name: str, connected: bool, progress: Progress) -> Splits:
    import datasets.config

    if not _prepared(builder):
        size = _refuse(builder, name, connected)
        _download(builder, name, size, progress)
    # Files that rows may name: those of this dataset's own copy, and archives unpacked from it.
    roots = (Path(builder.cache_dir), _copy(name), Path(datasets.config.HF_DATASETS_CACHE) / "downloads")
    with explained(name):
        return prepared_splits(builder, roots)


def _copy(name: str) -> Path:
    """Return the folder where ``huggingface_hub`` keeps the files of a dataset."""
    import huggingface_hub.constants

    return Path(huggingface_hub.constants.HF_HUB_CACHE) / f"datasets--{name.replace('/', '--')}"


def _prepared(builder: Any) -> bool:
    return (Path(builder.cache_dir) / "dataset_info.json").is_file()


def _refuse(builder: Any, name: str, connected: bool) -> int:
    """Return the bytes still to be downloaded, as far as is known; refuse more than is allowed or has room."""
    if not connected or _prepared(builder):
        return 0
    size = _listed_size(builder, name)
    limit = settings.download_bytes()
    if size > limit:
        raise DataError(
            f"{name!r} is a download of {size / settings.GB:.1f} GB; the limit here is {limit / settings.GB:g} GB. "
            "Choose a smaller dataset or subset, or raise RANKSCOPE_DOWNLOAD_GB."
        )
    folder = Path(builder.cache_dir)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if 2 * size > free:  # the files and their prepared copy
        raise DataError(
            f"{name!r} needs about {2 * size / settings.GB:.1f} GB of disk; {free / settings.GB:.1f} GB are free. "
            "Free some space or choose a smaller dataset."
        )
    return size


def _listed_size(builder: Any, name: str) -> int:
    """Return the bytes of the files of this subset, from the Hub's list of files: what a card says may be wrong."""
    from huggingface_hub import HfApi

    listed = (path for paths in (builder.config.data_files or {}).values() for path in paths)
    named = [str(path).rsplit("::", 1)[-1].split("@")[-1] for path in listed]
    wanted = {path.partition("/")[2] for path in named}
    revision = next((path.partition("/")[0] for path in named), None)
    with explained(name):
        hub = HfApi(token=access.token())
        siblings = hub.dataset_info(name, revision=revision, files_metadata=True).siblings or []
    sizes = {file.rfilename: file.size or 0 for file in siblings}
    if not wanted <= sizes.keys():
        raise DataError(f"{name!r} names files that are not in it, so their size is unknown. Choose another dataset.")
    return sum(sizes[path] for path in wanted)


def _download(builder: Any, name: str, size: int, progress: Progress) -> None:
    """Run the download in a thread so that ``progress`` can report it and can stop the wait for it."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            builder.download_and_prepare(verification_mode="no_checks")
        except BaseException as error:
            failed.append(error)

    words = f" of {size / settings.GB:.2f} GB" if size else ""
    with quiet():
        worker = threading.Thread(target=work, daemon=True, name="download")
        worker.start()
        while worker.is_alive():
            got = sum(map(_size, (_copy(name) / "blobs").glob("*")))
            progress(f"Downloading {name}: {got / settings.GB:.2f} GB{words}", min(0.99, got / size) if size else 0.0)
            worker.join(_POLL_SECONDS)
    if failed:
        raise explain(failed[0], name) from failed[0]


def _size(path: Path) -> int:
    with suppress(OSError):  # a part that was just renamed
        return path.stat().st_size
    return 0


def _card(name: str, revision: str | None) -> dict[str, str]:
    from huggingface_hub import hf_hub_download

    with quiet():
        try:
            path = hf_hub_download(name, "README.md", repo_type="dataset", revision=revision, token=access.token())
        except Exception:  # without a card the licence is unknown
            return {}
    return read_card(Path(path))
