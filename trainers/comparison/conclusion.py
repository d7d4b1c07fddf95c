"""What the pairs under a condition say together in one metric, in one or two sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trainers.comparison.compare import Group, Pair, Row
from trainers.comparison.words import needed, number
from trainers.metrics.measure import Measure

_NAMED = 3  # variants that a sentence lists


def conclude(group: Group, title: str, measure: Measure) -> str:
    """Say which variant is best, or that chance explains what there is; empty where nothing is compared, or where
    results are differences themselves.

    Args:
        title: of the metric.
    """
    pairs = group.pairs
    judged = [pair for pair in pairs if pair.verdict != "unknown"]
    rows = [row for row in group.rows if math.isfinite(row.estimate.mean)]
    if not pairs or any(pair.second is None for pair in pairs):
        return ""
    if not judged:
        why = next((pair.difference.covers for pair in pairs if pair.difference.covers), "")
        return f"Nothing can be said of {title} yet. {why}".strip()
    if all(pair.verdict == "could be chance" for pair in judged):
        return _all_chance(judged, title, measure)
    if not measure.better:
        seen = sum(pair.verdict != "could be chance" for pair in judged)
        return f"{title} differs in {seen} of {len(judged)} pairs."
    return _ranked(rows, pairs, title, measure)


def _all_chance(judged: Sequence[Pair], title: str, measure: Measure) -> str:
    largest = max(judged, key=lambda pair: abs(pair.difference.mean))
    first, second = _in_order(largest)
    size = _size(largest, measure)
    if len(judged) == 1:
        return _sentence(f"The difference of {size} in {title} between {first} and {second} could be chance", largest)
    begin = f"Every difference in {title} could be chance. The largest is {size}, between {first} and {second}"
    return _sentence(begin, largest)


def _ranked(rows: Sequence[Row], pairs: Sequence[Pair], title: str, measure: Measure) -> str:
    up = measure.better == "up"
    best = max(rows, key=lambda row: row.estimate.mean if up else -row.estimate.mean)
    against = {_other(pair, best.variant): pair for pair in pairs if best.variant in (pair.first, pair.second)}
    unseen = {name: pair for name, pair in against.items() if pair.verdict in ("could be chance", "unknown")}
    value = f"{number(best.estimate.mean, measure)}{' %' if measure.unit == 'share' else ''}"
    begin = f"{best.variant} has the best {title}, {value}"
    if not unseen:
        nearest = min(against, key=lambda name: abs(against[name].difference.mean))
        lead = _size(against[nearest], measure)
        whom = f"{nearest}" if len(against) == 1 else f"the next, {nearest}"
        return f"{begin}: {lead} {'above' if up else 'below'} {whom}, more than chance explains."
    beaten = [name for name in against if name not in unseen]
    begin += f", above {_listed(beaten)} by more than chance explains" if beaten and up else ""
    begin += f", below {_listed(beaten)} by more than chance explains" if beaten and not up else ""
    closest = max(unseen.values(), key=lambda pair: abs(pair.difference.mean))
    widest = "" if len(unseen) == 1 else f"that on {_other(closest, best.variant)}"
    return f"{begin}. {_sentence(f'Its lead on {_listed(list(unseen))} could be chance', closest, widest)}"


def _sentence(words: str, pair: Pair, what: str = "") -> str:
    """End a sentence with the seeds that would show the difference of a pair; ``what``: which difference that is."""
    enough = needed(pair.needed, what)
    return f"{words}; {enough}." if enough else f"{words}."


def _in_order(pair: Pair) -> tuple[str, str]:
    """Return the variants, the one with the larger mean first."""
    first, second = pair.first, pair.second or ""
    return (first, second) if pair.difference.mean >= 0 else (second, first)


def _other(pair: Pair, variant: str) -> str:
    return (pair.second or "") if pair.first == variant else pair.first


def _size(pair: Pair, measure: Measure) -> str:
    return f"{number(abs(pair.difference.mean), measure)}{' points' if measure.unit == 'share' else ''}"


def _listed(names: Sequence[str]) -> str:
    """Join names; of many the first ones, and how many there are beside."""
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
