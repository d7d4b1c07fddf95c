"""A dataset of painted rectangles with captions, and two small image-text models with random weights."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.server.http import GoneError
from explorer.server.library import Library
from explorer.server.routes import PREFIX
from explorer.settings import Settings
from explorer.tabs.object_removal.bodies import Detect, Encode, NameBox, Open, Query, Score
from explorer.tabs.object_removal.images import about
from explorer.tabs.object_removal.models import Models
from explorer.tabs.object_removal.routes import objects_routes
from explorer.tabs.object_removal.score import ScoreJob
from explorer.tabs.object_removal.service import Objects
from tests.data.world import encode
from tests.explorer.page import Client, Line, Watched, routes
from tests.waiting import wait
from trainers.data.captioned_images import Box, CaptionedDataset, CaptionedImage
from trainers.errors import RunError, UserError
from trainers.image_text.base import ImageTextModel, ModelDescriptor
from trainers.parameters import parameter

COLOURS = {"dog": (160, 100, 40), "frisbee": (220, 30, 40), "person": (40, 60, 200), "cat": (20, 20, 20)}
SIDE, CONTEXT = 32, 24
PHOTO = (120, 80)


@dataclass(frozen=True, kw_only=True)
class Seed:
    seed: int = parameter(0, low=0, high=9, help="Of the weights.", main=True)


class Words(ImageTextModel):
    """A convolution over pixels and a bag of hashed words; random weights, real shapes."""

    def __init__(self, seed: int) -> None:
        super().__init__(side=SIDE, context=CONTEXT, mean=(0.5,) * 3, std=(0.25,) * 3)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.see = nn.Conv2d(3, 24, 8, stride=4)
            self.norm = nn.BatchNorm2d(24)
            self.read = nn.Embedding(997, 24)

    def image_features(self, images: Tensor) -> Tensor:
        return self.norm(self.see(self.normalise(images))).amax((2, 3))

    def text_features(self, tokens: Tensor) -> Tensor:
        return (self.read(tokens) * (tokens > 0)[..., None]).sum(1)

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        rows = [[1 + zlib.crc32(word.encode()) % 996 for word in text.lower().split()][: CONTEXT - 2] for text in texts]
        return torch.tensor([row + [0] * (CONTEXT - len(row)) for row in rows]).reshape(len(texts), CONTEXT)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) + 2 for text in texts]

    def terms(self, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
        return {"cosine": -nn.functional.cosine_similarity(images, texts).mean()}


def descriptor(name: str, seed: int, **changes: object) -> ModelDescriptor:
    values: dict[str, object] = {
        "name": name,
        "title": name.capitalize(),
        "sentence": "A model of the tests.",
        "paper": "none",
        "parameters": Seed,
        "make": lambda _parameters: Words(seed),
    }
    return ModelDescriptor(**(values | changes))  # type: ignore[arg-type]


MENU: Mapping[str, ModelDescriptor] = {
    "tiny_clip": descriptor("tiny_clip", 1, natural_images=False),
    "tiny_clip_mended": descriptor("tiny_clip_mended", 2, natural_images=False),
    "large": descriptor("large", 3),
    "absent": descriptor("absent", 4, missing=lambda _: "The absent model needs: pip install absent"),
}


def paint_png(objects: Sequence[tuple[str, Box]], size: tuple[int, int] = PHOTO) -> bytes:
    width, height = size
    pixels = np.full((height, width, 3), (120, 200, 120), dtype=np.uint8)
    for name, (x0, y0, x1, y1) in objects:
        pixels[int(y0) : int(y1), int(x0) : int(x1)] = COLOURS.get(name, (255, 255, 0))
    return encode(pixels)


def scene(
    number: int, objects: Sequence[tuple[str, Box]], captions: Sequence[str], drawn: bool = True
) -> CaptionedImage:
    return CaptionedImage(
        image_id=str(number),
        load=lambda: paint_png(objects),
        captions=tuple(captions),
        boxes=tuple(box for _, box in objects),
        classes=tuple(name for name, _ in objects),
        width=PHOTO[0],
        height=PHOTO[1],
        without=(lambda gone: paint_png([one for one in objects if one[0] not in gone])) if drawn else None,
    )


DOG, FRISBEE = ("dog", (10.0, 40.0, 40.0, 70.0)), ("frisbee", (60.0, 10.0, 75.0, 20.0))
PERSON, CAT = ("person", (80.0, 20.0, 100.0, 75.0)), ("cat", (45.0, 60.0, 58.0, 72.0))
ON_DOG = ("frisbee", (12.0, 42.0, 38.0, 68.0))
WHOLE = ("dog", (0.0, 0.0, 120.0, 80.0))
SCENES = (
    (DOG, FRISBEE),
    (DOG, PERSON),
    (CAT, PERSON, FRISBEE),
    (DOG,),
    (DOG, ON_DOG),
    (WHOLE, CAT),
    (),
)
CAPTIONS = {
    "dog": ("a brown dog stands on the grass", "a puppy on a field"),
    "frisbee": ("a red frisbee in the air",),
    "person": ("a man in blue", "a woman near the grass"),
    "cat": ("a black cat sits",),
}


def small_set(source: str = "drawn_scenes", drawn: bool = True, times: int = 4, **changes: object) -> CaptionedDataset:
    splits = {}
    for split in ("train", "test"):
        scenes = []
        for number in range(times * len(SCENES)):
            objects = SCENES[number % len(SCENES)]
            said = [CAPTIONS[name][number % len(CAPTIONS[name])] for name, _ in objects]
            pairs = [f"{said[0]} with {said[-1]} in {split} {number}"] if len(said) > 1 else []
            empty = [] if objects else [f"an empty field in {split} {number}"]
            scenes.append(scene(number, objects, [*said, *pairs, *empty], drawn))
        splits[split] = tuple(scenes)
    values: dict[str, object] = {
        "title": f"Set {source}",
        "licence": "CC0",
        "splits": splits,
        "classes": tuple(COLOURS),
        "notes": (),
    }
    return CaptionedDataset(**(values | changes))  # type: ignore[arg-type]


def sentences(found: CaptionedDataset) -> list[str]:
    """Distinct, those of the test split first: the gallery as the page should gather it."""
    scenes = [*found.splits.get("test", ()), *found.splits.get("train", ())]
    return list(dict.fromkeys(text for scene in scenes for text in scene.captions))


GALLERY = len(sentences(small_set()))


def load(
    source: str, *, captions_from: str | None = None, limit: int | None = None, progress: object = None
) -> CaptionedDataset:
    return small_set(source, drawn=source == "drawn_scenes")


def answered(function: Callable[[], object]) -> httpx.Response:
    """What a function returns, or the sentence with which it refuses, as the pages' modules would be told."""
    try:
        return httpx.Response(200, json=function())
    except (GoneError, RunError) as error:
        return httpx.Response(404, json={"error": str(error)})
    except UserError as error:
        return httpx.Response(400, json={"error": str(error)})


class Tab(Client):
    """The addresses of the tab "Remove an object", and by the same words what its events ask of the services."""

    def __init__(self, root: Path, *, public: bool = False, loading: object = load) -> None:
        settings = Settings(runs=root / "runs", recorded=root / "recorded", public=public)
        self.library = Library(settings.runs, settings.recorded)
        models = Models(self.library, public=public, menu=MENU)
        self.objects = Objects(settings, self.library, load=loading, models=models)
        more = objects_routes(self.objects)
        super().__init__(routes(self.library, Watched(), Line(), more=more), f"{PREFIX}/objects")
        self.client.__enter__()  # one event loop for all requests, as the server has

    def get(self, path: str, **headers: str) -> httpx.Response:
        asked: dict[str, Callable[[], object]] = {
            "start": self.objects.start,
            "detectors": lambda: {"detectors": self.objects.detection.listed()},
        }
        if path.startswith("image/") and not path.endswith("/pixels") and "?" not in path:
            return answered(lambda: about(self.objects.images.get(path.partition("/")[2])))
        return answered(asked[path]) if path in asked else super().get(path, **headers)

    def post(self, path: str, content: object = None, **headers: str) -> httpx.Response:
        objects, values = self.objects, content if isinstance(content, dict) else {}
        asked: dict[str, Callable[[], object]] = {
            "open": lambda: {"job": objects.open(Open.of(values)).id},
            "detect": lambda: objects.detection.detect(Detect.of(values)),
            "name": lambda: objects.detection.name(NameBox.of(values)),
            "query": lambda: objects.answers.answer(Query.of(values)),
            "encode": lambda: {"encoding": objects.encode(Encode.of(values))},
            "score": lambda: {"job": objects.scores.add(ScoreJob(asked=objects.scorer.check(Score.of(values)))).id},
        }
        if path == "upload":
            assert isinstance(content, bytes)
            return answered(lambda: about(objects.images.add(content)))
        return answered(asked[path]) if path in asked else super().post(path, content, **headers)

    def opened(self, source: str, **changes: object) -> dict:
        """What the page is told of a dataset, once it is open."""
        return self.objects.openings.get(self.json("open", {"source": source, **changes})["job"]).wait()

    def refused_opening(self, source: str, **changes: object) -> str:
        """Why a dataset is not opened."""
        reply = self.post("open", {"source": source, **changes})
        if reply.status_code != 200:
            return reply.json()["error"]
        with pytest.raises(UserError) as raised:
            self.objects.openings.get(reply.json()["job"]).wait()
        return str(raised.value)

    def ask(self, photo: str = "drawn_scenes.0", **changes: object) -> dict:
        return self.json("query", self.asked(photo, **changes))

    def asked(self, photo: str = "drawn_scenes.0", **changes: object) -> dict:
        values: dict[str, object] = {
            "image": photo,
            "remove": {"classes": ["frisbee"]},
            "fill": "telea",
            "models": ["tiny_clip", "tiny_clip_mended"],
            "k": 5,
        }
        return values | changes

    def close(self) -> None:
        self.objects.close()
        self.client.__exit__()
        self.library.close()


def finished(tab: Tab, job: str, phase: str = "done") -> dict:
    """What the job at this address says at its end, which must be ``phase``."""
    wait(lambda: tab.json(job)["phase"] not in ("waiting", "running"))
    state = tab.json(job)
    assert state["phase"] == phase, state
    return state
