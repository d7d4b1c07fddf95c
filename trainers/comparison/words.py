"""Verdicts, conclusions and notes of a comparison in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trainers.comparison.compare import Group, Row, VariantPair
from trainers.comparison.estimate import MOST, Estimate
from trainers.metrics.measure import Measure

CAPTION = "Mean ± standard deviation over seeds [95 % interval of the mean]. Bold: better than every other row."
NARROW = "Mean ± standard deviation over seeds. Bold: better than every other row."
METHOD = (
    "A difference could be chance unless its p value is below 0.05 after Holm's correction for all pairs under a "
    "condition. Differences are taken seed by seed and query by query."
)
ELSEWHERE = "The other verdicts are in the file of pairs."


def number(value: float, measure: Measure) -> str:
    """Write a value: per cent for shares, else three decimals, one from 100 on; a dash for NaN."""
    if not math.isfinite(value):
        return "–"
    text = f"{100 * value:.1f}" if measure.unit == "share" else f"{value:.{1 if abs(value) >= 100 else 3}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def heading(title: str, measure: Measure) -> str:
    """Return the heading of a metric's column: its title, the better direction, and the unit."""
    arrow = {"up": " ↑", "down": " ↓", "": ""}[measure.better]
    return f"{title}{arrow}{', %' if measure.unit == 'share' else ''}"


def interval(estimate: Estimate, measure: Measure) -> str:
    """Write ``[low, high]``, or nothing where there is none."""
    return f"[{number(estimate.low, measure)}, {number(estimate.high, measure)}]" if estimate.known else ""


def verdict(pair: VariantPair, measure: Measure) -> str:
    """Write the verdict on a pair as a sentence without a full stop, with the difference and its interval."""
    difference, first, second = pair.difference, pair.first, pair.second
    if pair.verdict == "unknown":
        return f"{first} and {second} cannot be compared: {_why(difference)}"
    size, low, high = difference.mean, difference.low, difference.high
    if size < 0:
        first, second, size, low, high = second, first, -size, -high, -low
    shown_size = _interval(size, low, high, measure)
    if pair.verdict != "could be chance":
        return f"{first} above {second} by {shown_size}"
    alone = " (seen for this pair alone, not after the correction for all pairs)" if _seen_alone(difference) else ""
    more = f"; {text}" if (text := needed(pair, measure)) else ""
    return f"{first} and {second}: the difference of {shown_size} could be chance{alone}{more}"


FEW_CLASSES, FEW_QUERIES = 30, 200
"""Test classes and queries, below which a test set is little to judge by."""


def needed(pair: VariantPair, measure: Measure, what: str = "") -> str:
    """Say how many seeds would probably show a difference of the size measured, or of a small test set that no number
    of seeds helps, which differences are chance there; empty where neither is known.

    Args:
        what: the difference, in words; empty: one of this size.
    """
    shown = f"show {what or 'one of this size'}"
    if pair.needed is not None and pair.needed <= MOST:
        return f"about {pair.needed} seeds would {shown}"
    return little(pair.difference, measure) or (f"not even {MOST} seeds would {shown}" if pair.needed else "")


def little(difference: Estimate, measure: Measure) -> str:
    """Say of a small test set below which size differences are chance, half the width of the interval; else nothing."""
    known = difference.uncertainty
    if known is None or not known.queries or not difference.known:
        return ""
    if known.test_classes >= FEW_CLASSES and known.queries >= FEW_QUERIES:
        return ""
    few = f"{known.test_classes} test classes" if known.test_classes < FEW_CLASSES else f"{known.queries} queries"
    half = number((difference.high - difference.low) / 2, measure)
    return f"{few}: differences below {half}{' points' if measure.unit == 'share' else ''} are chance"


def stands_on(group: Group, seeds: Sequence[int]) -> str:
    """Name the seeds that the verdicts under a condition stand on, as a sentence; empty where these are all ``seeds``.

    Args:
        seeds: of every run that has ended, those without a result among them.
    """
    of_pairs = {pair.difference.seeds for pair in group.pairs if pair.verdict != "unknown"}
    if all(len(known) == len(seeds) for known in of_pairs):
        return ""
    if len(of_pairs) > 1:
        return "Not every pair has results of the same seeds: each verdict names its own."
    (known,) = of_pairs
    without = [seed for seed in seeds if seed not in known]
    if not without:
        return ""
    return f"It stands on {seeds_in_words(known)}; of {seeds_in_words(without)} not every result is there."


def on_seeds(pair: VariantPair, seeds: Sequence[int]) -> str:
    """Name the seeds that a verdict stands on, as the end of a sentence; empty where these are all ``seeds``."""
    known = pair.difference.seeds
    return f" (on {seeds_in_words(known)})" if 0 < len(known) < len(seeds) else ""


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Write seeds within a sentence: ``seed 4``, ``seeds 4, 7 and 9``."""
    *before, last = map(str, seeds)
    return f"seeds {', '.join(before)} and {last}" if before else f"seed {last}"


def condition(group: Group) -> str:
    """Write ``noise 0.2, batch 64``; empty for none."""
    return ", ".join(f"{name} {shown(value)}" for name, value in group.condition.items())


def shown(value: object) -> str:
    """Write a value of a condition."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _interval(mean: float, low: float, high: float, measure: Measure) -> str:
    """Write a difference with its interval."""
    unit = " points" if measure.unit == "share" else ""
    return f"{number(mean, measure)}{unit} [{number(low, measure)}, {number(high, measure)}]"


def _why(difference: Estimate) -> str:
    """Say why there is no verdict, as the end of a sentence without a full stop."""
    return f"{difference.covers[:1].lower()}{difference.covers[1:-1]}"


def _seen_alone(difference: Estimate) -> bool:
    return difference.low > 0 or difference.high < 0


_NAMED = 3  # variants that a sentence lists


def conclude(group: Group, title: str, measure: Measure) -> str:
    """Say which variant is best, or that chance explains what there is; empty where nothing is compared.

    Args:
        title: of the metric.
    """
    pairs = group.pairs
    judged = [pair for pair in pairs if pair.verdict != "unknown"]
    rows = [row for row in group.rows if math.isfinite(row.estimate.mean)]
    if not pairs:
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


def _all_chance(judged: Sequence[VariantPair], title: str, measure: Measure) -> str:
    largest = max(judged, key=lambda pair: abs(pair.difference.mean))
    first, second = _in_order(largest)
    size = _size(largest, measure)
    if len(judged) == 1:
        begin = f"The difference of {size} in {title} between {first} and {second} could be chance"
        return _sentence(begin, largest, measure)
    begin = f"Every difference in {title} could be chance. The largest is {size}, between {first} and {second}"
    return _sentence(begin, largest, measure)


def _ranked(rows: Sequence[Row], pairs: Sequence[VariantPair], title: str, measure: Measure) -> str:
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
    begin += f", above {list_names(beaten, _NAMED)} by more than chance explains" if beaten and up else ""
    begin += f", below {list_names(beaten, _NAMED)} by more than chance explains" if beaten and not up else ""
    closest = max(unseen.values(), key=lambda pair: abs(pair.difference.mean))
    widest = "" if len(unseen) == 1 else f"that on {_other(closest, best.variant)}"
    lead = f"Its lead on {list_names(list(unseen), _NAMED)} could be chance"
    return f"{begin}. {_sentence(lead, closest, measure, widest)}"


def _sentence(words: str, pair: VariantPair, measure: Measure, what: str = "") -> str:
    """End a sentence with what would show the difference of a pair; ``what``: which difference that is."""
    enough = needed(pair, measure, what)
    return f"{words}; {enough}." if enough else f"{words}."


def _in_order(pair: VariantPair) -> tuple[str, str]:
    """Return the variants, the one with the larger mean first."""
    return (pair.first, pair.second) if pair.difference.mean >= 0 else (pair.second, pair.first)


def _other(pair: VariantPair, variant: str) -> str:
    return pair.second if pair.first == variant else pair.first


def _size(pair: VariantPair, measure: Measure) -> str:
    return f"{number(abs(pair.difference.mean), measure)}{' points' if measure.unit == 'share' else ''}"


def list_names(names: Sequence[str], most: int | None = None) -> str:
    """Join names; of more than ``most`` the first ones, and how many there are beside."""
    if most is not None and len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
