"""Evaluates arms during training: embeds and scores the probe and, less often, some training images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from trainers.data.base import Progress, silent
from trainers.data.probe import choose_probe
from trainers.encoders import Encoder
from trainers.metrics import counts, evaluate
from trainers.metrics.catalogue.counts import LEFT_OUT
from trainers.training.deferred import HostCopy, arriving
from trainers.training.evaluation import Finish, ProbeResult
from trainers.training.folding import folded
from trainers.training.host import send

TRAIN_PROBE = 800  # enough for a train R@1 good to about two points
TRAIN_KEY = "train_R_at_1"
CPU_BATCH = 128  # images embedded at a time; more exceed the caches and take a sixth longer with the small net
DEVICE_BATCH = 512  # on a GPU, which is faster with larger batches


class Evaluator:
    """Holds the fixed images that arms are evaluated on.

    Args:
        train, test: uint8 images ``[N, C, H, W]``, or frozen features ``[N, F]``.
        train_labels, test_labels: int64 ``[N, L]``, finest first.
        probe: rows of the test set that the maps show, int64 ``[P]``.
        device: where the encoders live.
        test_before_cap: images of the test set before the cap on images; 0: as many as there are.
    """

    def __init__(
        self,
        *,
        train: Tensor,
        train_labels: Tensor,
        test: Tensor,
        test_labels: Tensor,
        probe: Tensor,
        device: torch.device,
        test_before_cap: int = 0,
    ) -> None:
        rows = choose_probe(train_labels, TRAIN_PROBE, seed=0)
        self._train = send(train[rows], device)
        self._train_labels = train_labels[rows]
        self._probe = send(test[probe], device)
        self._probe_labels = test_labels[probe]
        self._test = test
        self._test_labels = test_labels
        self._test_before_cap = test_before_cap
        self._device = device

    def begin(self, encoder: Encoder, *, training: bool = True) -> Finish:
        """Begin an evaluation: the embeddings are queued on the device; the returned function scores their host copies.

        Args:
            training: also measure R@1 on training images, whose embedding adds half as much work.
        """
        twin = folded(encoder)
        probe = [HostCopy(part) for part in _embedded(twin, self._probe, self._device)]
        train = [HostCopy(part) for part in _embedded(twin, self._train, self._device)] if training else None
        return lambda: self._scored(_joined(probe), None if train is None else _joined(train))

    def train_score(self, encoder: Encoder) -> dict[str, float]:
        """R@1 of training images alone, under its key."""
        return self._train_numbers(embed(encoder, self._train, self._device))

    def _scored(self, probe: Tensor, train: Tensor | None) -> ProbeResult:
        names = _names(self._probe_labels)
        numbers = _means(evaluate(probe, self._probe_labels, metrics=names), names)
        if train is not None:
            numbers |= self._train_numbers(train)
        return ProbeResult(embeddings=probe, numbers=numbers)

    def _train_numbers(self, embeddings: Tensor) -> dict[str, float]:
        return {TRAIN_KEY: float(evaluate(embeddings, self._train_labels, metrics=["R_at_1"])["R_at_1"])}  # type: ignore[arg-type]

    def whole_test(self, encoder: Encoder, progress: Progress = silent) -> dict[str, float]:
        """The same numbers over the whole test set, keyed ``test/<metric>``; with :data:`LEFT_OUT` and how many images.

        Every image is a query against all others. Besides the images it takes the embeddings and a few hundred MB.

        Args:
            progress: called with the progress; it may raise to give up.
        """
        labels, count = self._test_labels, len(self._test)
        names = _names(labels)

        def tell(doing: str, done: int) -> None:
            progress(f"{doing} the whole test set: {done:,} of {count:,}", done / count)

        embeddings = embed(encoder, self._test, self._device, lambda done: tell("embedding", done))
        result = evaluate(embeddings, labels, metrics=names, progress=lambda done: tell("scoring", done))
        values = _means(result, [*names, LEFT_OUT]) | {counts.IMAGES: float(count)}
        if self._test_before_cap > count:
            values[counts.BEFORE_CAP] = float(self._test_before_cap)
        return {f"test/{name}": value for name, value in values.items()}

    def floor(self) -> dict[str, float]:
        """Known before any training: ``floor_R_at_1``, the R@1 of raw pixels (or frozen features) on the probe,
        :data:`LEFT_OUT`, the probe's images that are no query at the finest level, and how many images are evaluated.
        """
        flat = F.normalize(self._probe.cpu().float().flatten(1), dim=1)
        result = evaluate(flat, self._probe_labels, metrics=["R_at_1"])
        sizes = {counts.PROBE: float(len(self._probe)), counts.TRAIN: float(len(self._train))}
        return {"floor_R_at_1": float(result["R_at_1"]), LEFT_OUT: float(result[LEFT_OUT])} | sizes  # type: ignore[arg-type]


def left_out(count: float, what: str) -> str:
    """How many queries the means leave out, as a sentence for the log."""
    if not count:
        return f"queries: every image {what} has another one of its class to find"
    return (
        f"queries: {count:.0f} images {what} have no second image of their class to find; "
        "R@1 and the other means over classes leave them out"
    )


def embed(
    encoder: Encoder, images: Tensor, device: torch.device, progress: Callable[[int], None] = lambda _done: None
) -> Tensor:
    """Unit embeddings float32 ``[N, D]`` on the CPU, in evaluation mode; the encoder stays as it is.

    Args:
        images: uint8 ``[N, C, H, W]``, or frozen features ``[N, F]``.
        progress: told how many are done; it may raise to give up.
    """
    parts, done = [], 0
    for part in arriving(_embedded(folded(encoder), images, device)):
        parts.append(part)
        done += len(part)
        progress(done)
    return torch.cat(parts)


@torch.inference_mode()
def _embedded(encoder: nn.Module, images: Tensor, device: torch.device) -> Iterator[Tensor]:
    """Unit embeddings float32 ``[n, D]`` on the device, batch by batch; the host waits for none of them."""
    rows = CPU_BATCH if device.type == "cpu" else DEVICE_BATCH
    for start in range(0, len(images), rows):
        part = send(images[start : start + rows], device)
        pixels = part.float().div_(255) if part.dtype == torch.uint8 else part.float()
        if pixels.ndim == 4 and device.type != "cpu":
            pixels = pixels.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            raw = encoder(pixels)
        yield F.normalize(raw.float(), dim=1)


def _joined(parts: Sequence[HostCopy]) -> Tensor:
    return torch.cat([part.get() for part in parts])


def _names(labels: Tensor) -> list[str]:
    return ["R_at_1", "AP_at_R", "HAP", "NDCG", "ASI", *(f"AP_level{level}" for level in range(labels.shape[1]))]


def _means(result: dict[str, object], names: list[str]) -> dict[str, float]:
    return {name: float(result[name]) for name in names}  # type: ignore[arg-type]
