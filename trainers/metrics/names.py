"""Reads the key or title of a number: ``R_at_10`` or ``R@10``, ``test/rerendered_ODmAP_at_1`` ..."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from trainers.errors import ParameterError
from trainers.metrics.catalogue import MEASURES, family
from trainers.metrics.measure import Measure
from trainers.parameters import Menu
from trainers.registry import derived

if TYPE_CHECKING:
    from torch import Tensor

    from trainers.metrics.ranked_lists import Lists


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
class MetricVariant:
    """A prefix that says on what a number was measured; ``{}`` stands for the words of the plain number."""

    prefix: str
    title: str
    short: str = "{}"
    sentence: str = "{}"


VARIANTS = (
    MetricVariant(prefix="test/", title="whole test set: {}"),
    MetricVariant(
        prefix="train_",
        title="{} on training images",
        short="train {}",
        sentence="{} Measured on training images; far above the value on test images, the model has memorised them.",
    ),
    MetricVariant(
        prefix="rerendered_",
        title="{}, re-rendered",
        short="re-rendered",
        sentence="{} Measured on images drawn again without the object, where nothing is painted over.",
    ),
    MetricVariant(prefix="refined_", title="{}, after refining", short="{}, refined"),
    MetricVariant(prefix="floor_", title="{} of the bare pixels, without any training"),
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


def _described(key: str, asked: str, levels: tuple[str, ...], variants: Sequence[MetricVariant]) -> Described:
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


MOST = 12
"""Metrics that a run can be asked for; a card of the page has three more rows for them."""
_DEEPEST = 1000  # more levels than a name can hold: before the images are read their number is not known
_OFFERED: dict[str, str] = {}
ASKED_MENU = Menu(titles=MappingProxyType(_OFFERED), check=lambda name: parse(name, _DEEPEST))


def check_number(names: Sequence[str]) -> None:
    """Check how many there are.

    Raises:
        ParameterError: too many.
    """
    if len(names) > MOST:
        raise ParameterError(f"A run measures at most {MOST} metrics beside its own; got {len(names)}. Ask for fewer.")


def check_size(names: Sequence[str], depth: int, images: int, results: int | None = None) -> None:
    """Check names against the test set.

    Args:
        depth: levels of its labels.
        images: of the test set, each of which is searched for among the others.
        results: of a query; None: those are all of them.

    Raises:
        ParameterError: one asks for a level that there is not, or looks at more results than there are.
    """
    results = images - 1 if results is None else results
    for name in names:
        k = parse(name, depth).k
        if k is not None and k > results:
            raise ParameterError(
                f"{name} looks at the first {k:,} results, and the test set has {images:,} images, so a query has "
                f"{results:,} results. Ask for a smaller number."
            )


def measurable(names: Sequence[str], depth: int, images: int) -> list[str]:
    """Return the names that look at fewer results than ``images``; the others are about 1 for any ranking."""
    return [name for name in names if (parse(name, depth).k or 0) < images]


def joined(first: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return the names of both, each once, ``first`` first."""
    return list(dict.fromkeys([*first, *asked]))


def own_metrics(depth: int) -> list[str]:
    """Name what every run measures on labels of ``depth`` levels."""
    return ["R_at_1", "AP_at_R", "HAP", "NDCG", "ASI", *(f"AP_level{level}" for level in range(depth))]


_LEVEL = r"(?:level(?P<level>\d{1,3})|(?P<any>anylevel))?"


@lru_cache(maxsize=4096)
def key_of(written: str) -> str:
    """Return the key of a metric that is written as its title is, in any case: ``R@1``, ``mAP@R``, ``nDCG@10``,
    ``R@5_level1``; a key, and what is no metric, as it is.
    """
    try:
        return describe(written).key
    except ParameterError:
        pass
    for variant in VARIANTS:
        if written.startswith(variant.prefix):
            return variant.prefix + key_of(written.removeprefix(variant.prefix))
    plain = _plain(written[:80])
    for pattern, name in _titles():
        if parts := pattern.fullmatch(plain):
            given = parts.groupdict()
            level = f"level{given['level']}" if given.get("level") else "any_level" if given.get("any") else ""
            key = re.sub(r"_at_k$", f"_at_{given.get('k')}", name)
            return f"{key}_{level}" if level else key
    return written


def family_of(written: str) -> str:
    """Return the name of the measure that a key or a title belongs to: ``R_at_k`` of ``R_at_10`` and of ``R@k``; what
    is no metric as it is.
    """
    key = key_of(written)
    if key in MEASURES:
        return key
    try:
        return describe(key).measure.name
    except ParameterError:
        return written


def _plain(text: str) -> str:
    """Bring a key or a title to what is the same in every way to write it."""
    text = re.sub(r"[\s_-]", "", text.lower().replace("_at_", "@").replace("σ", "sum"))
    text = re.sub(r"^(true|i2t|t2i|levelmean)?recall(?=@)", r"\1r", text)
    text = re.sub(r"^precision(?=@)", "p", text)
    return re.sub(r"^map(?=@|$|level|anylevel)", "ap", text)


@cache
def _titles() -> tuple[tuple[re.Pattern[str], str], ...]:
    """List what titles and keys look like, with the name of their measure; of measures without free text."""
    found: dict[str, str] = {}
    for measure in MEASURES.values():
        if measure.family != "training" and measure.family != "count" and "*" not in measure.name:
            for text in (measure.name, measure.title, measure.short):
                if text and not measure.name.endswith("_level_l"):
                    found.setdefault(_pattern(measure, text), measure.name)
    return tuple((re.compile(pattern), name) for pattern, name in found.items())


def _pattern(measure: Measure, text: str) -> str:
    pattern = re.escape(_plain(text))
    if measure.name.endswith("_at_k"):
        pattern = re.sub(r"@k(?![a-z])", r"@(?P<k>[1-9]\\d{0,8}|k)", pattern)
    return pattern + (_LEVEL if measure.each_level else "")


MENU = dataclasses.replace(ASKED_MENU, key=key_of)


@derived("trainers.metrics.catalogue")
def _read_again() -> None:
    for read in (describe, key_of, _titles):
        read.cache_clear()
    _OFFERED.clear()
    _OFFERED.update((name, describe(name).title) for measure in family("ranking").values() for name in measure.offered)
