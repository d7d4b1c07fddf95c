"""Keys of metrics by their titles: ``R@10`` is ``R_at_10``, ``mAP@R`` is ``AP_at_R``."""

from __future__ import annotations

import dataclasses
import re
from functools import cache, lru_cache

from trainers.errors import ParameterError
from trainers.metrics import asked
from trainers.metrics.catalogue import MEASURES
from trainers.metrics.measure import Measure
from trainers.metrics.names import VARIANTS, describe

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


MENU = dataclasses.replace(asked.MENU, key=key_of)
