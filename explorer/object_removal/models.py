"""The image-text models: those of the menu, and the arms of fine-tuning runs. The last few stay loaded."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from explorer.server.cache import Cache
from explorer.server.http import GoneError
from explorer.server.library import Library, Run
from explorer.titles import arm_titles
from trainers.data import access
from trainers.errors import DataError, RunError, UserError
from trainers.hf_transformers import is_folder
from trainers.image_text.base import ImageTextModel, ModelDescriptor
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import parse_choice
from trainers.runs.damage import reading

LOADED = 3
PIECE = 256
"""Captions encoded before the image of a visitor may come between."""
BATCH = 64
"""Images encoded before the same."""
UNTRAINED = "This model is not trained yet: train it first, under Fine-tune this model, on originals alone."
STRANGER = "This small model knows the drawn scenes only; it does not know photographs."
_RUN = re.compile(r"run:([0-9A-HJKMNP-TV-Z]{26}):([0-9])")
_LISTED = 24
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Known:
    """A model that can be asked for.

    Attributes:
        name: as requests name it.
        missing: None, or what to install or point to.
        natural_images: it was trained on photographs.
        trained: false: it has random weights before it is trained here.
        learning_rate: what suits its fine-tuning; None if it cannot be fine-tuned.
    """

    name: str
    title: str
    sentence: str
    missing: str | None = None
    natural_images: bool = True
    trainable: bool = False
    trained: bool = True
    learning_rate: float | None = None

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "ready": self.missing is None}


class Loaded:
    """A model in memory; one thread at a time uses it."""

    def __init__(self, known: Known, model: ImageTextModel) -> None:
        self.known = known
        self._model = model.eval().requires_grad_(False)
        self._lock = threading.Lock()
        self.digest = weights_digest(model)

    @property
    def side(self) -> int:
        """Side of the square images it takes, pixels."""
        return self._model.side

    @property
    def weights(self) -> int:
        """How many it has."""
        return sum(weight.numel() for weight in self._model.parameters())

    @property
    def context(self) -> int:
        """Most tokens of a caption."""
        return self._model.context

    def pictures(self, pictures: Sequence[np.ndarray]) -> Tensor:
        """Unit embeddings float32 ``[N, D]`` of images uint8 ``[H, W, 3]`` of any size."""
        return self.images(torch.stack([squash(picture, self.side) for picture in pictures]))

    def images(self, images: Tensor) -> Tensor:
        """Unit embeddings float32 ``[N, D]`` of images uint8 ``[N, 3, side, side]``."""
        with self._lock:
            return encode_images(self._model, images)

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Unit embeddings float32 ``[N, D]`` of captions."""
        with self._lock:
            return encode_texts(self._model, texts)

    def with_model(self, work: Callable[[ImageTextModel], T]) -> T:
        """Do something else with the model while nobody else uses it."""
        with self._lock:
            return work(self._model)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens that each caption needs."""
        with self._lock:
            return self._model.lengths(texts)


class Models:
    """Lists models and loads them.

    Args:
        library: knows the fine-tuning runs.
        public: no files of this machine by a visitor's word.
        menu: the models by name.
    """

    def __init__(self, library: Library, *, public: bool = False, menu: Mapping[str, ModelDescriptor] = MODELS) -> None:
        self._library = library
        self._public = public
        self._menu = menu
        self._loaded: Cache[Loaded] = Cache(limit=LOADED)
        self._loading = threading.Lock()

    def listed(self) -> list[Known]:
        """Models of the menu, then the newest fine-tuned ones."""
        own = [_known(descriptor, descriptor.name) for descriptor in self._menu.values()]
        found: list[Known] = []
        for folder in self._library.folders():
            if len(found) >= _LISTED:
                break
            try:
                with reading(folder.id):
                    found += self._arms(self._library.get(folder.id))
            except RunError:
                continue  # a damaged run hides no other
        return own + found

    def known(self, name: str) -> Known:
        """What is known of a model before it is loaded.

        Raises:
            GoneError: there is no such model or run.
        """
        match = _RUN.fullmatch(name)
        if match is not None:
            with reading(match.group(1), passed=UserError):
                arms = self._arms(self._library.get(match.group(1)))
            found = next((arm for arm in arms if arm.name == name), None)
            if found is None:
                raise GoneError("This run has no model that can be asked: it has no such arm or no checkpoint yet.")
            return found
        descriptor, parameters = self._parsed(name)
        return _known(descriptor, name, parameters)

    def get(self, name: str) -> Loaded:
        """The model, loaded now if need be; that may take minutes where weights are downloaded.

        Raises:
            GoneError: there is no such model or run.
            UserError: it cannot be had here; the message says why.
        """
        known = self.known(name)
        if known.missing is not None:
            raise DataError(known.missing)
        with self._loading:  # memory: never two at once
            return self._loaded.get((name, self.version(name)), lambda: Loaded(known, self._made(name)))

    def _made(self, name: str) -> ImageTextModel:
        match = _RUN.fullmatch(name)
        if match is None:
            descriptor, parameters = self._parsed(name)
            build = partial(descriptor.build, parameters)
        else:
            from trainers.kinds.finetuning.loop import arm_model

            build = partial(arm_model, self._library.get(match.group(1)).folder, int(match.group(2)))
        try:
            return build()
        except UserError:
            raise
        except Exception as error:
            raise DataError(f"The model {name[:80]!r} cannot be loaded ({type(error).__name__}: {error}).") from error

    def choice(self, name: str) -> tuple[str, dict[str, Any]]:
        """Name and parameters of a model of the menu, as a run's configuration has them.

        Raises:
            GoneError: there is no such model.
            DataError: it is an arm of a run, which cannot be trained on.
        """
        if _RUN.fullmatch(name):
            raise DataError("A fine-tuned model cannot be fine-tuned again here. Choose the model that it came from.")
        descriptor, parameters = self._parsed(name)
        return descriptor.name, parameters

    def shipped(self, name: str) -> Path | None:
        """File of the weights that a model of the menu ships with; None: it does not, or is not on the menu."""
        descriptor = self._menu.get(name)
        return None if descriptor is None else descriptor.shipped

    def version(self, name: str) -> int:
        """A run that trains on writes other weights under the same name."""
        match = _RUN.fullmatch(name)
        return 0 if match is None else _checkpoint_time(self._library.get(match.group(1)))

    def _parsed(self, text: str) -> tuple[ModelDescriptor, dict[str, Any]]:
        """A model of the registry as :func:`trainers.parameters.parse_choice` reads it."""
        descriptor = self._menu.get(text.partition(":")[0])
        if descriptor is None:
            raise GoneError(f"There is no model {text[:80]!r}; there are {', '.join(self._menu)}.")
        if ":" in text and self._public:  # anybody could have anything downloaded
            raise DataError("On a public page only the models of the list can be asked. Choose one of them.")
        _, values = parse_choice(text, self._menu)
        for value in values.values():
            self.check_place(str(value))
        return descriptor, values

    def check_place(self, text: str) -> None:
        """Weights from a folder only where folders may be opened.

        Raises:
            DataError: this is a folder, and it may not be.
        """
        place = text.removeprefix("local-dir:")
        if place != text or (place and is_folder(place)):
            access.place(place)

    def _arms(self, run: Run) -> list[Known]:
        """The models of a fine-tuning run, none if it is another kind of run or has no weights yet."""
        config = run.config
        if not isinstance(config, FinetuningConfig) or run.recorded or not _checkpoint_time(run):
            return []
        source = self._menu.get(config.model.name)
        title = config.model.name if source is None else source.title
        return [
            Known(
                name=f"run:{run.id}:{arm}",
                title=f"{title}, {said}",
                sentence=f"Fine-tuned on {said} in the run {run.id}.",
                natural_images=source is None or source.natural_images,
            )
            for arm, said in enumerate(arm_titles(run.config))
        ]


def weights_digest(model: ImageTextModel) -> str:
    """Hexadecimal; equal for equal weights."""
    mark = hashlib.blake2b(digest_size=16)
    for name, value in sorted(model.state_dict().items()):
        mark.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        mark.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return mark.hexdigest()


def _known(descriptor: ModelDescriptor, name: str, parameters: Mapping[str, Any] | None = None) -> Known:
    values = parameters or {}
    missing = descriptor.lacking(values)
    return Known(
        name=name,
        title=descriptor.title if not values else f"{descriptor.title} {name.partition(':')[2]}",
        sentence=descriptor.sentence,
        missing=missing,
        natural_images=descriptor.natural_images,
        trainable=descriptor.trainable,
        trained=descriptor.trained,
        learning_rate=descriptor.learning_rate if descriptor.trainable else None,
    )


def _checkpoint_time(run: Run) -> int:
    """When its weights were written, nanoseconds; 0: never."""
    for name in ("last", "previous"):
        try:
            return (run.folder.path / "ckpt" / f"{name}.safetensors").stat().st_mtime_ns
        except OSError:
            continue
    return 0
