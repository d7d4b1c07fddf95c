"""Reads the key of a number: ``R_at_10``, ``AP_at_R_level1``, ``test/rerendered_ODmAP_at_1`` ..."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from trainers.errors import ParameterError
from trainers.metrics.catalogue import MEASURES, family
from trainers.metrics.measure import Measure

if TYPE_CHECKING:
    from torch import Tensor

    from trainers.metrics.ranking import Lists


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric that :func:`trainers.metrics.evaluate` is asked for.

    Attributes:
        name: as asked for, the key of the answer.
        measure: what it is.
        k: cut-off rank; None: the name has none.
        level: label column that says what is relevant, 0 the finest; hierarchical metrics use all of them.
    """

    name: str
    measure: Measure
    k: int | None
    level: int

    def score(self, lists: Lists) -> Tensor:
        """Compute the metric of every list: float64 ``[b]``, NaN where it is not defined.

        Raises:
            TypeError: it is no metric of ranked lists.
        """
        if self.measure.score is None:
            raise TypeError(f"{self.name} is not computed from ranked lists.")
        return self.measure.score(lists, self.k, self.level)


@dataclass(frozen=True, kw_only=True)
class Described:
    """A stored key in words, its numbers filled in.

    Attributes:
        key: as stored.
        measure: what it is an instance of.
        title, short, sentence: as in :class:`trainers.metrics.measure.Measure`; ``short`` is never empty.
    """

    key: str
    measure: Measure
    title: str
    short: str
    sentence: str

    @property
    def is_curve(self) -> bool:
        """Whether it changes while a run trains: no count, no final number and none from before the training."""
        return self.measure.family != "count" and not self.key.startswith(("test/", "refined_", "floor_"))


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A prefix that says on what a number was measured; ``{}`` stands for the words of the plain number."""

    prefix: str
    title: str
    short: str = "{}"
    sentence: str = "{}"


VARIANTS = (
    Variant(prefix="test/", title="whole test set: {}"),
    Variant(
        prefix="train_",
        title="{} on training images",
        short="train {}",
        sentence="{} Measured on training images; far above the value on test images, the model has memorised them.",
    ),
    Variant(
        prefix="rerendered_",
        title="{}, re-rendered",
        short="re-rendered",
        sentence="{} Measured on images drawn again without the object, where nothing is painted over.",
    ),
    Variant(prefix="refined_", title="{}, after refining", short="{}, refined"),
    Variant(prefix="floor_", title="{} of the bare pixels, without any training"),
)


def parse(name: str, depth: int) -> Metric:
    """Read one name for labels of ``depth`` levels.

    Raises:
        ParameterError: no such metric, or no such level.
    """
    for measure in family("ranking").values():
        if parts := measure.pattern.fullmatch(name):
            given = parts.groupdict()
            level = depth - 1 if given.get("any") else int(given.get("level") or 0)
            if level >= depth:
                raise ParameterError(
                    f"{name!r:.60} asks for level {level}; the labels have levels 0 to {depth - 1}, 0 the finest."
                )
            return Metric(name=name, measure=measure, k=int(given["k"]) if given.get("k") else None, level=level)
    raise ParameterError(
        f"There is no metric {name!r:.60}; there are {', '.join(family('ranking'))}, with numbers for k and l. Those "
        f"with @k or @R also take a level: _level0, _level1 and so on."
    )


def parse_all(names: Sequence[str] | None, depth: int) -> tuple[Metric, ...]:
    """Read the requested names; None: the default ones."""
    if isinstance(names, str):
        raise ParameterError(f"metrics needs a list of names; got the text {names!r}. Write [{names!r}].")
    return tuple(parse(name, depth) for name in (default_metrics(depth) if names is None else names))


def default_metrics(depth: int) -> tuple[str, ...]:
    """Return what :func:`trainers.metrics.evaluate` reports unasked for labels of ``depth`` levels."""
    per_level = tuple(f"AP_level{level}" for level in range(depth)) if depth > 1 else ()
    return ("R_at_1", "AP_at_R", "AP", "HAP", "NDCG", "ASI", *per_level)


@lru_cache(maxsize=4096)
def describe(key: str, levels: tuple[str, ...] = ()) -> Described:
    """Return the words of a stored key: ``R_at_10_level1`` is ``R@10, kind``.

    Args:
        key: as stored in a run, or as in :func:`trainers.metrics.evaluate`.
        levels: the label tree's level names, finest first; a level beyond them is shown by its number.

    Raises:
        ParameterError: no number has this key.
    """
    return _described(key, key, levels, VARIANTS)


def describe_any(key: str, levels: tuple[str, ...] = ()) -> Described:
    """Describe a key as :func:`describe` does; one that this version does not know stands for itself."""
    try:
        return describe(key, levels)
    except ParameterError:
        unknown = Measure(name=key, title=key, sentence="", family="training", unit="number", better="", order=1000)
        return Described(key=key, measure=unknown, title=key, short=key, sentence="")


_WORDS = ("title", "short", "sentence")


def _described(key: str, asked: str, levels: tuple[str, ...], variants: Sequence[Variant]) -> Described:
    """Describe a key, each of whose prefixes may stand once: a stored key can be any text."""
    for measure in MEASURES.values():
        if parts := measure.pattern.fullmatch(key):
            return _filled(key, measure, parts.groupdict(), levels)
    for variant in variants:
        if key.startswith(variant.prefix):
            others = [other for other in variants if other is not variant]
            plain = _described(key.removeprefix(variant.prefix), asked, levels, others)
            words = {name: getattr(variant, name).format(getattr(plain, name)) for name in _WORDS}
            return Described(key=key, measure=plain.measure, **words)
    raise ParameterError(f"There is no number {asked[:80]!r}.")


def _filled(key: str, measure: Measure, given: dict[str, str | None], levels: tuple[str, ...]) -> Described:
    k, level, rest = given.get("k"), given.get("level"), given.get("rest")
    title, short, sentence = measure.title, measure.short or measure.title, measure.sentence
    if k is not None:
        title, short = title.replace("@k", f"@{k}"), short.replace("@k", f"@{k}")
        sentence = sentence.replace("top-k", f"top-{k}").replace("@k", f"@{k}")
    if rest is not None:
        title = short = title.replace("*", rest.replace("_", " "))
    if level is not None:
        name = levels[int(level)] if int(level) < len(levels) else f"level {level}"
        title = short = f"{title.removesuffix(' at a level')}, {name}"
    return Described(key=key, measure=measure, title=title, short=short, sentence=sentence)
