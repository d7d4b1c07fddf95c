"""Errors of the libraries as one sentence that says what to do."""

from __future__ import annotations

import errno
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from types import FrameType
from typing import Any

from trainers.data.hub_requests import quiet, throttled, too_slow
from trainers.errors import DataError, brief

DATASET, MODEL = "dataset", "model"
"""What a source is, in words."""
_AT_HAND = {DATASET: "a drawn world or a folder", MODEL: "a model that is here: `--encoder conv4` needs no download"}
_NO_NETWORK = ("Couldn't reach", "offline", "ConnectError", "Name or service not known", "Max retries", "timed out")
_OFFLINE = {
    "ConnectionError",
    "ConnectError",
    "TimeoutException",
    "OfflineModeIsEnabled",
    "LocalEntryNotFoundError",
}


@contextmanager
def explained(source: str, what: str = DATASET) -> Iterator[None]:
    """Silence the libraries inside; what they raise becomes a :class:`DataError` about ``source``.

    Args:
        what: it is, :data:`DATASET` or :data:`MODEL`.
    """
    with quiet():
        try:
            yield
        except Exception as error:
            raise explain(error, source, what) from error


def explain(error: BaseException, source: str, what: str = DATASET) -> DataError:
    """Turn an error of ``datasets``, ``huggingface_hub`` or the system into a :class:`DataError`."""
    chain = causes(error)
    said = next((cause for cause in chain if isinstance(cause, DataError)), None)
    if said is not None:
        return said
    text = " ".join(str(cause) for cause in chain)
    kinds = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    return (
        _of_this_machine(chain, text, source)
        or _of_the_hub(chain, text, source)
        or _of_the_source(chain, kinds, text, source, what)
        or _of_the_content(text, source)
        or DataError(f"{_file_of(chain, source)} cannot be read: {brief(chain[-1])}")
    )


def _of_this_machine(chain: list[BaseException], text: str, source: str) -> DataError | None:
    if any(isinstance(cause, OSError) and cause.errno == errno.ENOSPC for cause in chain) or "Not enough disk" in text:
        return DataError(f"The disk is full, so {source!r} cannot be prepared. Free some space and try again.")
    if any(isinstance(cause, MemoryError) for cause in chain):
        return DataError(f"{source!r} does not fit in memory. Choose a smaller dataset.")
    return None


def _of_the_hub(chain: list[BaseException], text: str, source: str) -> DataError | None:
    """Explain an answer of the Hub that is about no dataset."""
    answer = _answer(chain)
    status = getattr(answer, "status_code", None)
    if answer is not None and status == 429:
        return throttled(answer.headers)
    if status is not None and status >= 500:
        return DataError(
            f"The Hugging Face Hub has a fault (its answer was {status}), so {source!r} cannot be read now. Try again "
            "in some minutes."
        )
    if status == 401 and "Invalid credentials" in text:
        return DataError(
            "The Hugging Face Hub does not know the token of this machine. Log in again with `hf auth login`, or "
            "correct or remove HF_TOKEN."
        )
    return None


def _of_the_source(chain: list[BaseException], kinds: set[str], text: str, source: str, what: str) -> DataError | None:
    """Explain what is the matter with the dataset or model, or with the way to it."""
    if "scripts are no longer supported" in text:
        return DataError(
            f"{source!r} needs its own loading script; scripts are not run. Choose a dataset stored as files."
        )
    if "GatedRepoError" in kinds or "gated dataset" in text:
        return DataError(
            f"{source!r} is gated: its owner grants access. Ask for it on the {what}'s page, then log in with "
            "`hf auth login` or set HF_TOKEN."
        )
    if "Revision '" in text or "RevisionNotFoundError" in kinds:
        return DataError(f"{source!r} has no such revision. Leave the revision empty for the newest.")
    if getattr(_answer(chain), "status_code", None) == 403:
        return DataError(
            f"The Hugging Face Hub gives no access to a file of {source!r}. Ask its owner, or choose another."
        )
    configs = re.search(r"(?:pick one among the available configs|Available): \[(.*?)\]", text, re.DOTALL)
    if configs:
        names = ", ".join(re.findall(r"'([^']*)'", configs.group(1))[:30])
        return DataError(f"{source!r} has several subsets. Choose one of: {names}.")
    if kinds & {"ReadTimeout", "PoolTimeout"}:
        return too_slow(source)
    if kinds & _OFFLINE or any(words in text for words in _NO_NETWORK):
        named = f"the model {source!r}" if what == MODEL else repr(source)
        return DataError(
            f"The Hugging Face Hub cannot be reached, and {named} is not on this machine yet. "
            f"Check the network, or choose {_AT_HAND[what]}."
        )
    if "DatasetNotFoundError" in kinds or "RepositoryNotFoundError" in kinds or "doesn't exist on the Hub" in text:
        return DataError(f"{source!r} is not on the Hub, or private. Check the name; private {what}s need HF_TOKEN.")
    if kinds & {"DataFilesNotFoundError", "EmptyDatasetError"} or "any data file" in text:
        return DataError(f"{source!r} holds no images or tables that can be read.")
    return None


def _of_the_content(text: str, source: str) -> DataError | None:
    """Explain what does not fit together in the files."""
    schema = re.search(r"Schema at index \d+ was different:(.*)", text, re.DOTALL)
    if schema:
        return DataError(
            f"The files of {source!r} have different columns, or columns of different types: "
            f"{' '.join(schema[1].split())[:300]}. Give all files the same columns."
        )
    label = re.search(r"Invalid string class label (.*)", text)
    if label:
        return DataError(
            f"{source!r} has files or rows of the class {label[1].strip()[:80]!r}, which is not among the classes that "
            "its card or its other files name. Correct the card, or put every file in the folder of its class."
        )
    if "should be in WebDataset format" in text:
        return DataError(
            f"The tar files of {source!r} are no WebDataset: its first images have different fields. Give every image "
            "the same (0.png and 0.cls, 1.png and 1.cls), or unpack the files and give the folder."
        )
    return None


def _file_of(chain: list[BaseException], source: str) -> str:
    """Name the dataset, and where it can be told the file that a reader of ``datasets`` had open."""
    for error in reversed(chain):
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if str(frame.f_globals.get("__name__")).startswith("datasets.") and (name := file_in(frame)):
                return f"{name!r} of {source!r}"
    return repr(source)


def file_in(frame: FrameType | None) -> str:
    """Return the name of the file that a reader of ``datasets`` has open; empty: it cannot be told."""
    known = frame.f_locals if frame else {}
    return next((_short(known[name]) for name in ("file", "filepath") if isinstance(known.get(name), str)), "")


def _short(path: str) -> str:
    """Return the name of a file, of one in an archive that of both."""
    inner, _, outer = path.partition("::")
    return f"{_short(outer)}/{PurePosixPath(inner).name}" if outer else PurePosixPath(inner).name


def causes(error: BaseException) -> list[BaseException]:
    """Return an error and those that led to it, the last first."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain


def status_of(error: BaseException) -> int | None:
    """Return the status of the answer that an error or what led to it is about; None: it is about none."""
    return getattr(_answer(causes(error)), "status_code", None)


def _answer(chain: list[BaseException]) -> Any:
    answers = [getattr(cause, "response", None) for cause in chain]
    return next((answer for answer in answers if answer is not None), None)
