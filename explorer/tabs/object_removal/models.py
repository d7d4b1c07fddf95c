"""The image-text models: those of the menu, and the arms of fine-tuning runs. The last few stay loaded."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from torch import Tensor

from explorer.server.http import GoneError
from explorer.server.library import Library
from explorer.server.run import Run
from trainers.config import SceneChoice
from trainers.data import access
from trainers.data.hf_transformers import is_folder
from trainers.data.lru_cache import Cache
from trainers.errors import DataError, RunError, UserError
from trainers.image_text.base import Download, ImageTextModel, ModelDescriptor
from trainers.image_text.encoding import encode_images, encode_texts
from trainers.image_text.models import MODELS
from trainers.kinds import arm_titles
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import parse_choice
from trainers.retrieval.encoders import encoders_of_run, weights_digest
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


@dataclass(frozen=True, kw_only=True)
class Known:
    """A model that can be asked for.

    Attributes:
        name: as requests name it.
        missing: None, or what to install or point to.
        natural_images: it was trained on photographs.
        trained: false: it has random weights before it is trained here.
        learning_rate: what suits its fine-tuning; None if it cannot be fine-tuned.
        fetched: None, or the weights that its first use fetches.
        scenes: the images it was fine-tuned on here, told to nobody, as they may name a folder; None: it was not.
    """

    name: str
    title: str
    sentence: str
    missing: str | None = None
    natural_images: bool = True
    trainable: bool = False
    trained: bool = True
    learning_rate: float | None = None
    fetched: Download | None = None
    scenes: SceneChoice | None = None

    @classmethod
    def of(cls, descriptor: ModelDescriptor, name: str, values: Mapping[str, Any] = MappingProxyType({})) -> Known:
        """Describe a model of the registry with these parameters."""
        return cls(
            name=name,
            title=f"{descriptor.title} {name.partition(':')[2]}" if values else descriptor.title,
            sentence=descriptor.sentence,
            missing=descriptor.lacking(values),
            natural_images=descriptor.natural_images,
            trainable=descriptor.trainable,
            trained=descriptor.trained,
            learning_rate=descriptor.learning_rate if descriptor.trainable else None,
            fetched=descriptor.download(descriptor.checked(values)),
        )

    def notes(self, drawn: bool) -> list[str]:
        """Return notes on its answers about a drawn scene, or about another image."""
        return [] if drawn or self.natural_images else [STRANGER]

    def json(self) -> dict[str, Any]:
        """Return it as plain values."""
        values = asdict(self)
        del values["scenes"]
        return {**values, "ready": self.missing is None}


class Loaded:
    """A model in memory; one thread at a time uses it.

    Attributes:
        side: of the square images it takes, pixels; context: most tokens of a caption.
        weights: how many it has.
        digest: equal for equal weights.
    """

    def __init__(self, known: Known, model: ImageTextModel) -> None:
        self.known, self.side, self.context = known, model.side, model.context
        self.weights = sum(weight.numel() for weight in model.parameters())
        self.digest = weights_digest(model.state_dict())
        self._model = model.eval().requires_grad_(False)
        self._lock = threading.Lock()

    @contextmanager
    def use(self) -> Iterator[ImageTextModel]:
        """Lend the model, while nobody else uses it."""
        with self._lock:
            yield self._model

    def images(self, images: Tensor) -> Tensor:
        """Encode images uint8 ``[N, 3, side, side]`` as unit rows float32 ``[N, D]``."""
        with self.use() as model:
            return encode_images(model, images)

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Encode captions as unit rows float32 ``[N, D]``."""
        with self.use() as model:
            return encode_texts(model, texts)


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
        self.menu = menu
        self._loaded: Cache[Loaded] = Cache(limit=LOADED)
        self._loading = threading.Lock()

    def listed(self) -> list[Known]:
        """List the models of the menu, then the newest fine-tuned ones."""
        registered = [Known.of(entry, entry.name) for entry in self.menu.values() if entry.listed]
        of_runs: list[Known] = []
        for folder in self._library.folders():
            if len(of_runs) >= _LISTED:
                break
            with suppress(RunError), reading(folder.id):  # a damaged run hides no other
                of_runs += self._arms(self._library.get(folder.id))
        return registered + of_runs

    def known(self, name: str) -> Known:
        """Return what is known of a model before it is loaded.

        Raises:
            GoneError: there is no such model or run.
        """
        arm = _arm_of_run(name)
        if arm is None:
            return Known.of(*self._parsed(name))
        with reading(arm[0], passed=UserError):
            arms = self._arms(self._library.get(arm[0]))
        model = next((model for model in arms if model.name == name), None)
        if model is None:
            raise GoneError("This run has no model that can be asked: it has no such recipe, or no checkpoint yet.")
        return model

    def get(self, name: str) -> Loaded:
        """Return the model, loaded now if need be; that may take minutes where weights are downloaded.

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
        arm = _arm_of_run(name)
        try:
            if arm is not None:
                network = encoders_of_run(self._library.get(arm[0]).folder).read(arm[1]).network
                return cast(ImageTextModel, network)
            descriptor, _, parameters = self._parsed(name)
            return descriptor.build(parameters)
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
        if _arm_of_run(name):
            raise DataError("A fine-tuned model cannot be fine-tuned again here. Choose the model that it came from.")
        descriptor, _, parameters = self._parsed(name)
        return descriptor.name, parameters

    def scenes(self, name: str) -> SceneChoice | None:
        """Return the images that an arm of a run was fine-tuned on; None: it is a model of the registry.

        Raises:
            GoneError: there is no such run, or it has no such arm.
        """
        return None if _arm_of_run(name) is None else self.known(name).scenes

    def shipped(self, name: str) -> Path | None:
        """File of the weights that a model of the menu ships with; None: it does not, or is not on the menu."""
        descriptor = self.menu.get(name)
        return None if descriptor is None else descriptor.shipped

    def version(self, name: str) -> int:
        """Return a number that changes with the weights: a run that trains on writes others under the same name."""
        arm = _arm_of_run(name)
        return 0 if arm is None else _checkpoint_time(self._library.get(arm[0]))

    def _parsed(self, text: str) -> tuple[ModelDescriptor, str, dict[str, Any]]:
        """Read a model of the registry as :func:`trainers.parameters.parse_choice` does: descriptor, text, values."""
        descriptor = self.menu.get(text.partition(":")[0])
        if descriptor is None:
            raise GoneError(f"There is no model {text[:80]!r}; there are {', '.join(self.menu)}.")
        if ":" in text and self._public:  # anybody could have anything downloaded
            raise DataError("On a public page only the models of the list can be asked. Choose one of them.")
        _, values = parse_choice(text, self.menu)
        for value in values.values():
            self.check_place(str(value))
        return descriptor, text, values

    def check_place(self, text: str) -> None:
        """Refuse weights from a folder that may not be opened.

        Raises:
            DataError: this is a folder, and it may not be.
        """
        path = text.removeprefix("local-dir:")
        if path != text or (path and is_folder(path)):
            access.allowed_path(path)

    def _arms(self, run: Run) -> list[Known]:
        """Return the models of a fine-tuning run, none if it is another kind of run or has no weights yet."""
        config = run.config
        if not isinstance(config, FinetuningConfig) or run.recorded or not _checkpoint_time(run):
            return []
        source = self.menu.get(config.model.name)
        title = config.model.name if source is None else source.title
        return [
            Known(
                name=f"run:{run.id}:{arm}",
                title=f"{title}, {said}",
                sentence=f"Fine-tuned on {said} in the run {run.id}.",
                natural_images=source is None or source.natural_images,
                scenes=config.scenes.at(run.folder.revision) if run.folder.revision else config.scenes,
            )
            for arm, said in enumerate(arm_titles(run.config))
        ]


def _arm_of_run(name: str) -> tuple[str, int] | None:
    """Run and arm of a fine-tuned model's name; None for a model of the registry."""
    match = _RUN.fullmatch(name or "")
    return None if match is None else (match.group(1), int(match.group(2)))


def _checkpoint_time(run: Run) -> int:
    """Return when a run's weights were written, nanoseconds; 0: never."""
    for name in ("last", "previous"):
        with suppress(OSError):
            return (run.folder.path / "ckpt" / f"{name}.safetensors").stat().st_mtime_ns
    return 0
