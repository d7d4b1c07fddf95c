"""What goes wrong, or only looks wrong: settings under which a method cannot do what its paper describes, before a run
starts, and what an arm's newest numbers say while it trains.

A query that tells nothing apart gives each of its n candidates the probability 1 / n, and the loss is log n. Every
threshold stands below with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.footprint import needs_of
from trainers.metrics.catalogue.counts import EPOCHS

if TYPE_CHECKING:
    from trainers.kinds.contrastive.methods import MethodDescriptor


def advice(config: ContrastiveConfig, images: int | None = None) -> list[str]:
    """List sentences, each once.

    Args:
        config: checked.
        images: training images of an epoch, where they are known.
    """
    return list(dict.fromkeys(_sentences(config, images)))


def short_of_an_epoch(epochs: float) -> str:
    """Say that the contrastive stage ends within its first epoch; empty: it does not.

    Args:
        epochs: passes over the training images that its budget allows.
    """
    if epochs >= 1:
        return ""
    times = math.ceil(10 / epochs) / 10 if epochs > 0 else 0
    more = f"at least {times:g} times the budget" if times else "a larger budget"
    return (
        f"The budget ends the contrastive stage after {epochs:.1%} of an epoch, before every training image was seen "
        f"once. Give it {more}, or choose a smaller encoder or smaller images."
    )


def _sentences(config: ContrastiveConfig, images: int | None) -> Iterator[str]:
    from trainers.kinds.contrastive.methods import METHODS

    epochs = [] if config.epochs is None else [config.epochs]
    if images and config.steps is not None:
        epochs.append(config.steps / max(1, images // config.batch))
    if epochs and (short := short_of_an_epoch(min(epochs))):
        yield short
    if (config.start or config.weights) and config.encoder_norm:
        yield (
            f"The normalisation layers of the encoder that this run starts from are replaced by {config.encoder_norm} "
            "normalisation, which begins anew. To keep them, choose the normalisation 'batch' or 'split'."
        )
    for choice in config.methods:
        descriptor = METHODS.get(choice.name)
        if descriptor is not None:
            settings = descriptor.checked(choice.parameters)
            yield from _of_images(config, descriptor)
            yield from _of_keys(config, descriptor, settings, images)
            yield from _of_chunks(config, descriptor, settings, images)
            if getattr(settings, "temperature", 1.0) < 0.03:
                yield (
                    f"{descriptor.title}: at a temperature below 0.03 a few hard pairs decide, and training is "
                    "unstable."
                )


def _of_images(config: ContrastiveConfig, method: MethodDescriptor) -> Iterator[str]:
    """Advise on the labels and the views of the images."""
    from trainers.training.augmentations.light import NONE as UNCHANGED

    if config.data.conditions.label_noise and not method.labels:
        changed = "only the linear classifier of its second stage" if config.head_steps else "nothing"
        yield f"{method.title} is trained without labels: label noise changes {changed}."
    if config.augmentation.name == UNCHANGED.name and method.candidates is not None and not method.labels:
        yield (
            "Without augmentation both views of an image are the same, and finding one by the other teaches little. "
            "Choose an augmentation, for example SimCLR's."
        )


def _of_keys(config: ContrastiveConfig, method: MethodDescriptor, settings: Any, images: int | None) -> Iterator[str]:
    """Advise on the encoder of the keys, their shuffling and their queue."""
    queue, momentum = getattr(settings, "queue", None), getattr(settings, "momentum", None)
    if queue is not None and getattr(settings, "sharing", "separate") == "separate" and momentum == 0:
        yield (
            f"{method.title} with momentum 0 copies the encoder in every step: keys of different steps do not compare, "
            "and the paper's training fails with it."
        )
    if getattr(settings, "shuffle", False) and config.frozen_norm:
        yield "Shuffling keys changes nothing with frozen batch norm, which takes no statistics of a batch."
    elif getattr(settings, "shuffle", False) and config.norm == "batch" and not config.chunk:
        yield (
            "Shuffling keys changes nothing with batch normalisation over the whole batch; normalisation 'split' "
            "imitates several devices."
        )
    if queue and images is not None and config.steps and config.steps * config.batch < queue:
        yield (
            f"{method.title} has a queue of {queue:,} keys, which {config.steps:,} steps do not fill: most of its keys "
            "will stay random."
        )


def _of_chunks(config: ContrastiveConfig, method: MethodDescriptor, settings: Any, images: int | None) -> Iterator[str]:
    """Advise on the normalisation of a batch that is encoded in chunks."""
    from trainers.training.memory import chunks

    encoded = method.needs(settings, images or 0).views if method.together else 1
    parts = chunks(settings.images(config.batch) * encoded, config.chunk)
    if parts < 2 or config.frozen_norm or config.encoder_norm:
        return
    if method.together:
        yield (
            f"{method.title} compares the images of a batch; where the encoder has batch normalisation, statistics of "
            f"{parts} chunks tell which images shared one. Choose the normalisation 'group' or 'layer', which looks at "
            "each image."
        )
    elif config.norm == "split" and config.splits % parts:
        yield (
            f"{config.splits} groups of split normalisation are not divided by the {parts} chunks of a batch: each "
            f"chunk has {max(1, config.splits // parts)}. With chunks whose number divides the groups, they are the "
            "groups of the whole batch."
        )


COLLAPSED = 0.01
"""Variance of unit rows, at most 1: a standard deviation per dimension of a tenth of 1 / sqrt(D) (Chen and He, CVPR
2021, section 4.1, has 1 / sqrt(D) for unit rows in all directions)."""
UNIFORMITY = -4 * COLLAPSED
"""The same as uniformity: squared distances are twice the variance on average, and uniformity about -2 times them."""
RANK = 2.0
"""Embeddings with a smaller effective rank lie on a line."""
GUESSING = 0.1
"""Nats around log n: a query rules out less than a tenth of its candidates, as 1 - exp(-0.1) = 0.095."""
FLAT = 0.85
"""Of log n: where the lowest loss that a temperature leaves is above it, training can change the last 15 % alone."""
CHOSEN = 0.5
"""Contrast accuracy from which the own key is the closest more often than not."""
MOMENTUM = 0.9
"""Of the key encoder: in the table of MoCo's section 4.1 training fails with 0 and works from 0.9 on. In 90 steps on
CIFAR-100 images keys had a variance of 0.0002 with 0, 0.03 with 0.9 and 0.47 with 0.99."""
SOLVED, SPENT = 0.99, 0.01
"""Contrast accuracy and loss at which hardly any query has a gradient left."""
POSITIVES = 0.05
"""Share of queries with a positive: one in twenty; below it nearly every query is compared without one."""
STALE = 0.2
"""Cosine by which the oldest keys fall behind the youngest. On drawn pots (24 steps, 512 keys, batches of 64) it was at
most 0.03 with momentum 0.99, and 0.22 with momentum 0."""


def diagnosis(config: ContrastiveConfig, arm: int, numbers: Mapping[str, float]) -> list[str]:
    """List sentences on an arm, the most serious first; none where nothing stands out or nothing is known yet.

    Args:
        config: checked.
        numbers: the newest ones by key, see :data:`trainers.kinds.contrastive.measures.MEASURES`. Numbers of the
            comparison stay known in the stage of the classifier.

    Raises:
        ParameterError: this program does not know the arm's parameters.
    """
    short = [sentence] if (sentence := short_of_an_epoch(numbers.get(EPOCHS, math.inf))) else []
    return [*short, *_of_training(config, arm, numbers)]


def _of_training(config: ContrastiveConfig, arm: int, numbers: Mapping[str, float]) -> list[str]:
    from trainers.kinds.contrastive.methods import METHODS

    if "loss" not in numbers or config.methods[arm].name not in METHODS:
        return []
    descriptor = METHODS[config.methods[arm].name]
    settings = descriptor.checked(config.methods[arm].parameters)
    collapse = list(_collapse(numbers))
    if descriptor.candidates is None:
        return collapse
    count = descriptor.candidates(settings, settings.images(config.batch))
    filled = numbers.get("queue_filled", 0.0) if needs_of(config.methods[arm]).compared else 1.0
    if filled < 1:
        return [*collapse, _filling(filled)]
    return [*(collapse or _loss(numbers, count, settings, descriptor.labels)), *_dictionary(numbers)]


def _collapse(numbers: Mapping[str, float]) -> Iterator[str]:
    uniformity, rank = numbers.get("uniformity", -math.inf), numbers.get("effective_rank", math.inf)
    if uniformity > UNIFORMITY:
        yield (
            f"The embeddings have collapsed: all images have nearly the same one (uniformity {uniformity:.3f}, 0 is a "
            "single point). Lower the learning rate, or check that the method compares with other images."
        )
    elif rank < RANK:
        yield (
            f"The embeddings have collapsed to a line (effective rank {rank:.1f}). Lower the learning rate, or use "
            "stronger augmentation."
        )


def _filling(filled: float) -> str:
    return (
        f"The dictionary is still filling ({filled:.0%}). The loss rises until it is full, and that is normal: random "
        "keys are easy to tell from an own key, keys of images are not."
    )


def _loss(numbers: Mapping[str, float], count: int, settings: Any, labels: bool) -> Iterator[str]:
    """Yield at most one sentence on the loss of the comparison, without the factor that a method multiplies it with.

    SupCon's published code stands at this plateau for hundreds of steps of its first epoch, and the encoder learns.
    """
    if "term/contrast" not in numbers or count < 2:
        return
    loss = numbers["term/contrast"] / getattr(settings, "factor", 1.0)
    chance, accuracy, temperature = math.log(count), numbers.get("contrast_accuracy"), settings.temperature
    lowest = math.log1p((count - 1) * math.exp(-1 / temperature))
    at_chance = f"The loss, {loss:.2f}, is at log({count:,}) = {chance:.2f}, that of guessing among {count:,} keys"
    if lowest > FLAT * chance:
        yield (
            f"The temperature, {temperature:g}, is too high: even with own keys the same and all others orthogonal "
            f"the loss would be {lowest:.2f}, close to log({count:,}) = {chance:.2f}; it is {loss:.2f}. 0.07 to 0.5 is "
            "usual."
        )
    elif accuracy is not None and accuracy > CHOSEN and loss > FLAT * chance:
        yield (
            f"The own key is the closest for {accuracy:.0%} of queries, but the loss, {loss:.2f}, is still close to "
            f"log({count:,}) = {chance:.2f}: similarities differ by little beside the temperature, {temperature:g}. If "
            "it stays, lower the temperature."
        )
    elif loss > chance + GUESSING:
        yield (
            f"The loss, {loss:.2f}, is above log({count:,}) = {chance:.2f}: worse than guessing. Lower the learning "
            f"rate, or raise the temperature, {temperature:g}."
        )
    elif loss > chance - GUESSING and numbers.get("key_variance", 1.0) < COLLAPSED:
        yield (
            f"{at_chance}, because the keys have collapsed: all images have nearly the same one (variance "
            f"{numbers['key_variance']:.4f}), although the features before the head differ. {_remedy(settings)}"
        )
    elif loss > chance - GUESSING and labels:
        yield (
            f"{at_chance}. With SupCon that is normal for hundreds of steps, in which the projections of all images "
            "draw together (mean cosine) and the encoder learns all the same; judge it by k-NN and linear probe."
        )
    elif loss > chance - GUESSING:
        yield (
            f"{at_chance}: the embeddings after the head tell no images apart. In the first steps that is normal; if "
            "it stays, change the learning rate or the temperature."
        )
    elif loss < SPENT and (accuracy is None or accuracy > SOLVED):
        yield (
            f"The task is solved (loss {loss:.3f}), and there is little left to learn from. Raise the temperature, "
            f"{temperature:g}, use stronger augmentation, or compare with more than {count:,} keys."
        )


def _remedy(settings: Any) -> str:
    if hasattr(settings, "queue") and settings.momentum < MOMENTUM:
        return f"Raise the momentum, {settings.momentum:g}; 0.99 to 0.999 is usual."
    return "Lower the learning rate."


def _dictionary(numbers: Mapping[str, float]) -> Iterator[str]:
    share = numbers.get("positives_share")
    if share is not None and share < POSITIVES:
        yield (
            f"{'No query has' if share == 0 else f'Only {share:.1%} of queries have'} another image of the same class "
            "to be compared with. Use larger batches or a queue, or fewer classes."
        )
    young, old = (numbers.get(f"queue_similarity/{group} of 8") for group in (1, 8))
    if young is not None and old is not None and young - old > STALE:
        yield (
            f"The oldest keys in the dictionary are stale: they agree with the key encoder of now to {old:.2f}, the "
            f"youngest to {young:.2f}. Raise the momentum, or shorten the queue."
        )
