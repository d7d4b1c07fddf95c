"""The table of all claims: what is said, what came of it here, and what the seeds could have shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trainers.cells import csv_text, finite_number
from trainers.claims.base import WORKS, Claim, Difference
from trainers.claims.catalogue import CLAIMS
from trainers.claims.measured import LEAST_SEEDS, NOT_SEEN, OPPOSITE, SEEN, VERDICTS, Measured, judge
from trainers.claims.results import SHIPPED, ClaimResult, read, standing
from trainers.comparison.markup import Sheet, latex, markdown_text
from trainers.comparison.words import number
from trainers.data.synthetic.pottery.classes import LEVELS
from trainers.metrics.names import Described, describe

HEAD = ("claim", "work", "where", "verdict", "what decides", "seeds", "minutes")
_CLAIMED = {"larger": "more than {}", "equal": "within ±{}", "held": "at most {} less"}


def named(metric: str) -> Described:
    """Return the words of a metric, levels by their names."""
    return describe(metric, LEVELS)


def _title(difference: Difference) -> str:
    """Name what a difference is of."""
    title = named(difference.metric).title
    return f"Relative difference in {title}" if difference.relative else title


def results(folder: Path = SHIPPED, claims: Mapping[str, Claim] = CLAIMS) -> dict[str, ClaimResult | None]:
    """Read the result of every claim; None where there is none.

    Raises:
        RunError: a file is damaged.
    """
    return {name: read(claim, folder) for name, claim in claims.items()}


def words(claim: Claim, result: ClaimResult | None) -> str:
    """Say what the verdict is and why, in one or two sentences."""
    verdict = standing(claim, result)
    if result is None or claim.plan is None:
        guess = f" Its runs take about {claim.minutes:g} processor minutes." if claim.plan is not None else ""
        return f"{verdict.capitalize()}.{f' {claim.lacking}' if claim.lacking else guess}"
    sentences = [
        sentence(measured, difference, judge(measured.numbers, difference.expected, difference.margin))
        for measured, difference in zip(result.measured, claim.differences, strict=True)
    ]
    return " ".join(filter(None, [f"{verdict.capitalize()}.", *sentences, result.lacking]))


def sentence(measured: Measured, difference: Difference, verdict: str) -> str:
    """Say what one difference is; of one that is not seen, what these seeds could have shown."""
    described, numbers = named(difference.metric), measured.numbers
    if numbers.seeds < LEAST_SEEDS:
        have = "no seed has" if not numbers.seeds else f"{numbers.seeds} of the {LEAST_SEEDS} seeds needed have"
        return f"{_title(difference)}, {measured.title}: {have} a result on every side."
    unit = " points" if described.measure.unit == "share" else ""
    text = f"{_title(difference)}, {measured.title}: {spread(measured, described)}{unit}"
    if difference.margin:
        text += f", claimed {_CLAIMED[difference.expected].format(number(difference.margin, described.measure) + unit)}"
    if verdict == NOT_SEEN:
        least = number(numbers.least, described.measure)
        what = "a difference of" if difference.expected == "larger" else "a margin of"
        text += f"; {numbers.seeds} seeds would have shown {what} {least}{unit} four times in five"
    return f"{text}."


def spread(measured: Measured, described: Described) -> str:
    """Write a difference with its interval."""
    mean, low, high = (number(value, described.measure) for value in _bounds(measured))
    return f"{mean} [{low}, {high}]"


def counted(verdicts: Iterable[str]) -> str:
    """Count the verdicts, as a sentence."""
    known = list(verdicts)
    counts = [f"{verdict}: {known.count(verdict)}" for verdict in VERDICTS if verdict in known]
    decided = sum(verdict in (SEEN, OPPOSITE) for verdict in known)
    return f"{len(known)} claims, {decided} decided. {'; '.join(counts).capitalize()}."


def rows(results: Mapping[str, ClaimResult | None], claims: Mapping[str, Claim] = CLAIMS) -> list[tuple[str, ...]]:
    """Return a row of texts per claim, below :data:`HEAD`."""
    lines: list[tuple[str, ...]] = []
    for name, claim in claims.items():
        result = results[name]
        decides = "; ".join(
            f"{_title(difference)} {spread(measured, named(measured.metric))}"
            for measured, difference in zip(result.measured if result else (), claim.differences, strict=False)
        )
        seeds = _seeds(result) if result else ""
        minutes = f"{result.minutes:.1f}" if result else ""
        verdict = standing(claim, result)
        lines.append((name, WORKS[claim.work], claim.where, verdict, decides, seeds, minutes))
    return lines


def _seeds(result: ClaimResult) -> str:
    """Count the seeds of a result; where it stands on fewer, name those: ``2 of 3 (0, 2)``."""
    known = result.stands_on
    if known is None or len(known) == len(result.seeds):
        return str(len(result.seeds))
    names = f" ({', '.join(map(str, known))})" if known else ""
    return f"{len(known)} of {len(result.seeds)}{names}"


def markdown(results: Mapping[str, ClaimResult | None], claims: Mapping[str, Claim] = CLAIMS) -> str:
    """Write the table of the documentation: the verdicts counted, then a section per work."""
    verdicts = [standing(claim, results[name]) for name, claim in claims.items()]
    blocks = [markdown_text(counted(verdicts))]
    every = {row[0]: row for row in rows(results, claims)}
    for work, title in WORKS.items():
        head = ("claim", "what it says", "where", "verdict", "difference [95 % interval]", "seeds", "minutes")
        lines = [head, ("---",) * len(head)]
        for name, claim in claims.items():
            if claim.work == work:
                row = every[name]
                cells = (f"`{name}`", markdown_text(claim.statement), markdown_text(claim.where), f"**{row[3]}**")
                lines.append((*cells, markdown_text(row[4]), *row[5:]))
        blocks.append(f"### {title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(blocks)


def as_latex(results: Mapping[str, ClaimResult | None], claims: Mapping[str, Claim] = CLAIMS) -> str:
    """Write LaTeX for the package booktabs."""
    verdicts = [standing(claim, results[name]) for name, claim in claims.items()]
    lines = tuple((claims[row[0]].title, *row[1:]) for row in rows(results, claims))
    caption = f"{counted(verdicts)} Differences with 95 % intervals over seeds and test classes."
    return latex(Sheet(head=HEAD, texts=5, lines=lines, caption=caption, method="", verdicts=()))


def as_csv(results: Mapping[str, ClaimResult | None], claims: Mapping[str, Claim] = CLAIMS) -> str:
    """Write CSV, a line per difference, unrounded; of a claim without a result one line."""
    head = ["claim", "work", "where", "verdict", "metric", "difference", "expected", "margin", "mean", "low", "high"]
    head += ["least shown", "seeds", "minutes", "machine", "commit", "versions", "made"]
    lines: list[Sequence[Any]] = []
    for name, claim in claims.items():
        result = results[name]
        about = [name, WORKS[claim.work], claim.where, standing(claim, result)]
        if result is None:
            lines.append([*about, *[""] * (len(head) - len(about))])
            continue
        made = [result.minutes, result.machine, result.commit, result.versions, result.made]
        for measured, difference in zip(result.measured, claim.differences, strict=True):
            numbers = [*_bounds(measured), measured.numbers.least, measured.numbers.seeds]
            lines.append(
                [*about, measured.metric, measured.title, difference.expected, difference.margin, *numbers, *made]
            )
    return csv_text(head, lines)


def as_json(claim: Claim, result: ClaimResult | None) -> dict[str, Any]:
    """Describe a claim and what came of it, as plain values."""
    return {
        "name": claim.name,
        "title": claim.title,
        "work": claim.work,
        "work_title": WORKS[claim.work],
        "statement": claim.statement,
        "where": claim.where,
        "printed": claim.printed,
        "verdict": standing(claim, result),
        "words": words(claim, result),
        "ours": list(claim.ours),
        "tried": claim.tried,
        "recipe": claim.recipe,
        "runs": claim.plan is not None,
        "minutes": result.minutes if result else claim.minutes,
        "measured": result is not None,
        "result": None if result is None else _result_json(claim, result),
    }


def _result_json(claim: Claim, result: ClaimResult) -> dict[str, Any]:
    made = {name: getattr(result, name) for name in ("minutes", "machine", "commit", "versions", "made", "budget")}
    return made | {
        "seeds": list(result.seeds),
        "stands_on": list(result.seeds if result.stands_on is None else result.stands_on),
        "without": list(result.without),
        "differences": [
            _difference_json(measured, difference)
            for measured, difference in zip(result.measured, claim.differences, strict=True)
        ],
    }


def _difference_json(measured: Measured, difference: Difference) -> dict[str, Any]:
    described = named(measured.metric)
    verdict = judge(measured.numbers, difference.expected, difference.margin)
    mean, low, high = map(finite_number, _bounds(measured))
    return {
        "title": measured.title,
        "of": _title(difference),
        "metric": described.title,
        "unit": described.measure.unit,
        "expected": difference.expected,
        "margin": difference.margin,
        "mean": mean,
        "low": low,
        "high": high,
        "least": finite_number(measured.numbers.least),
        "verdict": verdict,
        "words": sentence(measured, difference, verdict),
        "covers": measured.covers,
        "each": _each(measured, difference),
        "sides": [
            {
                "title": side.title,
                "mean": finite_number(side.mean),
                "low": finite_number(side.low),
                "high": finite_number(side.high),
                "values": [{"seed": seed, "value": value} for seed, value in side.values.items()],
            }
            for side in measured.sides
        ],
    }


def _each(measured: Measured, difference: Difference) -> list[float]:
    """Return the difference of every seed that has one."""
    seeds = sorted(set.intersection(*(set(side.values) for side in measured.sides)))
    values = (difference.of([side.values[seed] for side in measured.sides]) for seed in seeds)
    return [value for value in values if value is not None]


def _bounds(measured: Measured) -> tuple[float, float, float]:
    return measured.numbers.mean, measured.numbers.low, measured.numbers.high
