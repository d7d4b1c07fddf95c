"""Opening folders and Hub datasets: a key of their content, the splits as tables, and bounds on what is unpacked.

A few kilobytes of a table or an archive can stand for terabytes.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from trainers.config import DataChoice
from trainers.data import access, cache, settings
from trainers.data.hf_errors import explained, file_in
from trainers.data.labelled import archive_names, files, folders, packed
from trainers.data.labelled.table import MOST_ROWS, ArrowTable, Splits, SplitTable
from trainers.data.names import composed
from trainers.errors import DataError
from trainers.progress import Progress

_ROWS_AT_ONCE = 200  # of a parquet file; `datasets` takes a whole row group, which can be all of a file
_HANDED_ON = 16_000_000  # bytes that are gathered before they are written
_PIECES = 50
_READ = 1 << 20


def bound(builder: Any, source: str) -> Any:
    """Make a builder read a bounded number of rows at a time, rows in all, and bytes in all.

    Rows beyond :data:`trainers.data.labelled.table.MOST_ROWS` of a split are not read; whoever looks sees that there
    were more. More bytes than the largest download raise a DataError while they are read.
    """
    if hasattr(builder, "_get_pipeline_from_tar"):
        archive_names.correct(builder, source)
    if getattr(builder.config, "batch_size", _ROWS_AT_ONCE) is None:
        builder.config.batch_size = _ROWS_AT_ONCE
    for name, cut in (("_generate_tables", _cut_tables), ("_generate_examples", _cut_examples)):
        inner = getattr(builder, name, None)
        if inner is not None:
            setattr(builder, name, cut(inner, _meter(source), source))
    builder._split_generators = _checking_archives(builder._split_generators, source)
    return builder


def check_files(builder: Any, home: str, source: str) -> None:
    """Refuse a dataset whose card names data files that are not its own: it could name any file of this machine.

    Args:
        home: how the names of its own files begin.

    Raises:
        DataError: with the name of the file.
    """
    for paths in (builder.config.data_files or {}).values():
        for path in paths:
            inner = str(path).rsplit("::", 1)[-1]
            if not inner.startswith(home) or ".." in inner[len(home) :].split("/"):
                raise not_its_own(source)


def not_its_own(source: str) -> DataError:
    """Return the error for a dataset that names files elsewhere."""
    return DataError(f"{source!r} names files that are not its own, so it is not read. Choose another dataset.")


def _checking_archives(inner: Callable[..., Any], source: str) -> Callable[..., Any]:
    """Wrap a generator of splits so that its archives are measured before they are unpacked to the disk."""

    def bounded(manager: Any, *args: Any, **kwargs: Any) -> Any:
        extract = manager.extract

        def measured(paths: Any, *more: Any, **others: Any) -> Any:
            left = settings.download_bytes()
            for path in _flat(paths):
                if Path(path).is_file():
                    check_zip(Path(path), source)
                    left -= check_archive(Path(path), source, left)
            return extract(paths, *more, **others)

        manager.extract = measured
        return inner(manager, *args, **kwargs)

    return bounded


def check_zip(path: Path, source: str) -> None:
    """Refuse a file that is called a zip file and is none, such as a page that says why it was not sent.

    Raises:
        DataError: with its name.
    """
    if path.suffix.lower() == ".zip" and not zipfile.is_zipfile(path):
        raise DataError(f"{path.name!r} of {source!r} is not a readable zip file. Fetch it or pack it again.")


def _flat(paths: Any) -> Iterator[str]:
    if isinstance(paths, (str, Path)):
        yield str(paths)
    else:
        for path in paths.values() if isinstance(paths, dict) else paths:
            yield from _flat(path)


def _meter(source: str) -> Callable[[int], None]:
    """Return a function that counts the bytes read of a source and raises when they are too many."""
    limit, taken = settings.download_bytes(), 0

    def take(count: int) -> None:
        nonlocal taken
        taken += count
        if taken > limit:
            raise too_large(source, limit)

    return take


def too_large(source: str, limit: int) -> DataError:
    """Return the error for a dataset that unpacks to more than may be downloaded."""
    return DataError(
        f"{source!r} unpacks to more than {limit / settings.GB:g} GB, the limit here. Choose a smaller dataset or "
        "subset, or raise RANKSCOPE_DOWNLOAD_GB."
    )


def _cut_tables(inner: Callable[..., Any], take: Callable[[int], None], source: str) -> Callable[..., Iterator[Any]]:
    import pyarrow

    def bounded(*args: Any, **kwargs: Any) -> Iterator[Any]:
        room, held = MOST_ROWS + 1, 0
        waiting: list[Any] = []  # handed on together: writing has a cost for every piece and column
        names: list[str] = []  # of columns
        tables = inner(*args, **kwargs)
        for key, table in tables:
            part = table.slice(0, room)
            take(part.nbytes)
            names = names or part.column_names
            if more := [name for name in part.column_names if name not in names]:
                raise _other_columns(file_in(getattr(tables, "gi_frame", None)), source, names, more)
            if waiting and part.schema != waiting[0].schema:
                yield key, pyarrow.concat_tables(waiting)
                waiting, held = [], 0
            room, held = room - len(part), held + part.nbytes
            waiting.append(part)
            if held > _HANDED_ON or len(waiting) >= _PIECES or room <= 0:
                yield key, pyarrow.concat_tables(waiting)
                waiting, held = [], 0
            if room <= 0:
                return
        if waiting:
            yield key, pyarrow.concat_tables(waiting)

    return bounded


def _other_columns(file: str, source: str, names: list[str], more: list[str]) -> DataError:
    """Return the error for a file with columns that those before it lack."""
    which = f"{file!r} of {source!r}" if file else f"A file of {source!r}"
    return DataError(
        f"{which} has columns that the files before it have not: {', '.join(more)[:200]} beside "
        f"{', '.join(names)[:200]}. Give all files the same columns, or keep those of other columns elsewhere."
    )


def _cut_examples(inner: Callable[..., Any], take: Callable[[int], None], _source: str) -> Callable[..., Iterator[Any]]:
    def bounded(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for number, (key, example) in enumerate(inner(*args, **kwargs)):
            if number > MOST_ROWS:
                return
            take(_held(example))
            yield key, example

    return bounded


def _held(value: Any) -> int:
    """Count the bytes of texts and files in an example."""
    if isinstance(value, (bytes, str)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_held, value.values()))
    return sum(map(_held, value)) if isinstance(value, (list, tuple)) else 8


def check_archive(path: Path, source: str, limit: int) -> int:
    """Return the bytes that an archive unpacks to, 0 for other files; read without writing anything.

    Raises:
        DataError: more than ``limit``.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
    else:
        total = _unpacked_size(path, limit)
    if total > limit:
        raise too_large(source, limit)
    return total


def _unpacked_size(path: Path, limit: int) -> int:
    import bz2
    import gzip
    import lzma

    with path.open("rb") as file:
        start = file.read(6)
    kinds = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
    opened = next((opener for magic, opener in kinds if start.startswith(magic)), None)
    total = 0
    if opened is not None:
        with opened(path, "rb") as stream:
            while total <= limit and (part := stream.read(_READ)):
                total += len(part)
    return total


_READ_AS = 2  # counts ways in which `datasets` was made to read files; its working copies of an older way are not used


@dataclass(frozen=True, kw_only=True)
class OpenedDataset:
    """A dataset that exists and may be read.

    Attributes:
        key: changes whenever the content may have.
        title, licence: as its own card says.
        revision: the commit of the Hub that is read; empty: it is no dataset of the Hub, or the Hub was not asked.
        read: gives the splits; slow, may download.
        sample: gives so many rows of each split without a download; None where reading needs none.
        part: reads as much as the cap of a choice needs, with its levels; None: it is read whole.
        refuse: raises what reading would refuse before it begins; quick, for those who only look.
    """

    key: str
    title: str
    licence: str
    read: Callable[[Progress], Splits]
    sample: Callable[[int], Splits] | None = None
    part: Callable[[DataChoice, tuple[str, ...] | None, Progress], Splits] | None = None
    refuse: Callable[[], object] = lambda: None
    revision: str = ""


def open_folder(
    folder: Path, subset: str | None, encoding: str | None = None, *, metadata: bool = False
) -> OpenedDataset:
    """Open a plain image folder, a zip file, or any folder that ``datasets.load_dataset`` reads.

    Args:
        encoding: of names in a zip file that does not say it; None: it is found.
        metadata: images with ``metadata.csv`` or the like are read by ``datasets`` too, as columns of any kind.

    Raises:
        DataError: it holds nothing that can be read.
    """
    scan, card = packed.scan(folder, encoding, metadata=metadata), read_card(folder / "README.md")
    source, images = scan.source, scan.files
    if source is None and folder.suffix.lower() != ".zip":
        raise DataError(f"{folder.name!r} is one file. Give the folder that holds a sub-folder of images per class.")
    if source is None:
        raise DataError(f"{folder.name!r} is no zip file, or a part of it is missing. Make or download it again.")
    if scan.kind is None:
        raise DataError(f"{folder.name!r} holds no images or tables of images that can be read.")
    read: Callable[[Progress], Splits]
    saved = any((folder / name).exists() for name in ("dataset_dict.json", "state.json"))
    if subset is not None and (scan.kind == "images" or saved):
        raise DataError(f"{folder.name!r} has no subsets, so {subset!r:.60} is none of them; leave the subset out.")
    if scan.kind == "images":
        key, read = files.content_key_of(source, images), lambda _: as_said(card, folders.tables(source, images))
    elif saved:
        key, read = files.content_key_of(source, files.in_order(source.listed(None))), lambda _: _saved(folder)
    else:
        # where `datasets` puts its working copy: an entry of the disk cache, or without one its own cache
        root = settings.cache_folder()
        arrow = None if root is None else root / "arrow" / cache.content_key([str(folder.resolve()), _READ_AS])
        builder = make_builder(str(folder), f"{folder.resolve().as_posix()}/", subset, None, arrow)
        key = cache.content_key((str(folder.resolve()), builder.config_id, builder.hash))
        read = partial(_prepared, builder, folder, arrow)
    title = card.get("pretty_name") or composed(folder.stem)
    return OpenedDataset(key=key, title=title, licence=card.get("license") or "unknown", read=read)


def make_builder(path: str, home: str, subset: str | None, revision: str | None, folder: Path | None) -> Any:
    """Make a builder of ``datasets`` that reads a bounded amount, and only the dataset's own files.

    Args:
        home: how the names of its own files begin.
        folder: where its working copy is put; None: in the cache of ``datasets``.

    Raises:
        DataError: as :func:`trainers.data.hf_errors.explain` puts it, or it names other files.
    """
    import datasets

    source = path.removeprefix("hf://datasets/")
    with explained(source):
        made = datasets.load_dataset_builder(
            path,
            name=subset,
            revision=revision,
            cache_dir=None if folder is None else str(folder),
            token=access.token(),
        )
    check_files(made, home, source)
    return bound(made, source)


def prepared_splits(builder: Any, roots: tuple[Path, ...]) -> Splits:
    """Return the splits of a builder whose files are prepared, but for empty ones, which ``datasets`` cannot open."""
    splits = builder.info.splits or {}
    full = {name: builder.as_dataset(split=name) for name, split in splits.items() if split.num_examples}
    return Splits(tables=_tables(full, roots))


def _tables(dataset: Any, roots: tuple[Path, ...]) -> dict[str, SplitTable]:
    """Return the splits of a ``DatasetDict`` or a ``Dataset``; empty ones are left out."""
    splits = dataset if isinstance(dataset, dict) else {"all": dataset}
    return {str(name): ArrowTable(split, roots) for name, split in splits.items() if len(split)}


def read_card(path: Path) -> dict[str, str]:
    """Read ``license`` and ``pretty_name`` of a README's YAML header; several licences are joined.

    ``configs`` is there if it says more of which files are read than their names do, ``classes`` if it names classes.
    """
    from huggingface_hub import metadata_load

    try:
        values = (metadata_load(path) if path.is_file() else None) or {}
    except Exception:  # a broken card must not keep the images from being read
        values = {}
    licence = values.get("license")
    if isinstance(licence, list) and licence:
        values["license"] = ", ".join(map(str, licence))
    known = {name: value for name, value in values.items() if isinstance(value, str)}
    states = {"configs": _says_more(values.get("configs")), "classes": "class_label" in str(values)}
    return known | {name: "stated" for name, stated in states.items() if stated}


def as_said(card: Mapping[str, str], splits: Splits) -> Splits:
    """Say of files that are read as a folder what the card has to say that is not used."""
    said = ("The card says which files are of which split; the names of the folders are used, not that.",)
    return replace(splits, notes=(*splits.notes, *said)) if "configs" in card else splits


def _says_more(configs: Any) -> bool:
    """Return whether a card chooses files otherwise than by splits that the names of the files say too."""
    if not (isinstance(configs, list) and "data_" in str(configs)):
        return False
    listed = configs[0].get("data_files") if len(configs) == 1 and isinstance(configs[0], dict) else None
    if not isinstance(listed, list) or "data_dir" in configs[0]:
        return True
    return not all(isinstance(each, dict) and str(each.get("split")) in str(each.get("path")) for each in listed)


def _saved(folder: Path) -> Splits:
    import datasets

    _check_saved(folder)
    with explained(str(folder)):
        return Splits(tables=_tables(datasets.load_from_disk(str(folder)), (folder,)))


def _check_saved(folder: Path) -> None:
    """Refuse a saved dataset whose list of data files, or of splits, leads out of it or cannot be read."""
    home = folder.resolve()
    try:
        splits = [folder] if (folder / "state.json").is_file() else []
        if (folder / "dataset_dict.json").is_file():
            names = json.loads((folder / "dataset_dict.json").read_text("utf-8"))["splits"]
            splits += [folder / name for name in names]
        inside = all(path == folder or home in path.resolve().parents for path in splits)
        for split in splits if inside else ():  # what lies elsewhere is not even looked at
            listed = json.loads((split / "state.json").read_text("utf-8"))["_data_files"]
            inside = inside and all(home in (split / file["filename"]).resolve().parents for file in listed)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise DataError(
            f"The list of files of {folder.name!r} cannot be read ({type(error).__name__}). Save the dataset again."
        ) from error
    if not inside:
        raise not_its_own(folder.name)


def _prepared(builder: Any, folder: Path, arrow: Path | None, _progress: Progress) -> Splits:
    with explained(str(folder)), nullcontext() if arrow is None else cache.in_use(arrow):
        builder.download_and_prepare(verification_mode="no_checks")
        splits = prepared_splits(builder, (folder, Path(builder.cache_dir)))
        if arrow is not None:
            for table in splits.tables.values():
                cache.hold(arrow, table)
        return splits
