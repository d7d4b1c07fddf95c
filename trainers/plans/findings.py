"""The findings of a fair comparison beyond its tables: whether the search changed the verdicts, what it chose, how, at
what cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainers.comparison import Pair, Table
from trainers.comparison.spreadsheet import csv_text
from trainers.comparison.words import condition, number
from trainers.metrics.names import Described, describe
from trainers.plans.config import FairComparisonConfig, data_of
from trainers.plans.contenders import CHOSEN, DEFAULTS, searches
from trainers.plans.contents import Finding, Part
from trainers.plans.planned import Child
from trainers.plans.proposals import starts
from trainers.plans.search import SEARCH, Search
from trainers.plans.space import in_words, spelled

_TITLES = {SEARCH: "Search", CHOSEN: "Settings chosen", DEFAULTS: "Settings given"}


def findings(config: FairComparisonConfig, children: Sequence[Child], parts: Sequence[Part]) -> tuple[Finding, ...]:
    """Return the findings, those that are known so far.

    Args:
        children: the runs that are planned so far.
        parts: ``chosen`` and ``defaults``, with the tables of their results.
    """
    outcomes = {child.planned.name: child.outcome for child in children if child.outcome is not None}
    found = searches(config, outcomes)
    tables = {part.name: part.table for part in parts}
    ended = all(one.ended for one in found) and len(outcomes) == len(children)
    return (
        Finding(title="Conclusion", sentences=tuple(_conclusion(config, tables, ended))),
        Finding(title="Chosen", sentences=tuple(_chosen(one, config) for one in found)),
        Finding(
            title="Searched", sentences=tuple(_searched(config, found)), files={"trials.csv": trials_csv(config, found)}
        ),
        Finding(title="Cost", sentences=tuple(_cost(children))),
    )


# --------------------------------------------------------------- conclusion


def changes(given: Table, chosen: Table, metric: str) -> tuple[int, list[str]]:
    """Count the verdicts of one metric that are in both tables, and write a sentence for each that differs."""
    before, after = _verdicts(given, metric), _verdicts(chosen, metric)
    both = [place for place in before if place in after]
    told = []
    for place in both:
        where, pair = place[0], before[place]
        was, now = _words(pair), _words(after[place])
        if was != now:
            told.append(
                f"{pair.first} and {pair.second}{f', {where}' if where else ''}: {was} at the settings given, {now} at "
                "the settings chosen."
            )
    return len(both), told


def _conclusion(config: FairComparisonConfig, tables: Mapping[str, Table | None], ended: bool) -> Iterator[str]:
    given, chosen = tables.get(DEFAULTS), tables.get(CHOSEN)
    if not ended:
        yield "Whether the search changes the verdicts is known when all runs have ended."
        return
    if given is None or chosen is None:
        yield "Nothing can be concluded: there are no results to compare."
        return
    unchanged = []
    tested = [one for one in given.metrics if not given.told or one.key in (*given.told, config.select_by)]
    for metric in sorted(tested, key=lambda one: one.key != config.select_by):
        count, told = changes(given, chosen, metric.key)
        decided = ", by which trials were chosen" if metric.key == config.select_by else ""
        if told:
            yield f"{metric.title}{decided}: the search changed {len(told)} of {_counted(count, 'verdict')}."
            yield from told
        elif decided:
            yield f"{metric.title}{decided}: the search changed no verdict ({_counted(count, 'pair')} compared)."
        elif count:
            unchanged.append(metric.title)
    if unchanged:
        yield f"{'; '.join(unchanged)}: the search changed no verdict."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _verdicts(table: Table, metric: str) -> dict[tuple[str, frozenset[str | None]], Pair]:
    """Return the pairs by condition in words and the titles of both variants, whichever of them comes first."""
    return {
        (condition(group), frozenset((pair.first, pair.second))): pair
        for one in table.comparisons
        if one.metric == metric
        for group in one.groups
        for pair in group.pairs
    }


def _words(pair: Pair) -> str:
    first, second = (pair.second, pair.first) if pair.verdict == "below" else (pair.first, pair.second)
    if pair.verdict in ("above", "below"):
        return f"{first} above {second}"
    return "cannot be compared" if pair.verdict == "unknown" else pair.verdict


# ------------------------------------------------------------------- search


def _chosen(found: Search, config: FairComparisonConfig) -> str:
    metric, title, given, best = describe(config.select_by), found.contender.title, found.trials[0], found.chosen
    if not found.ended:
        ended = sum(trial.ended for trial in found.trials)
        return f"{title}: {ended} of {found.total} trials have ended."
    if best.score is None:
        return f"{title}: no trial has a score, as a run of each failed or diverged; the settings given are compared."
    before = _score(given.score, metric)
    if best.point == found.space.first:
        return f"{title}: the settings given are the best of {found.total} trials ({metric.title} {before})."
    values = found.space.values(best.point)
    other = [one for one in found.space.dimensions if values[one.name] != one.given]
    same = [one.words for one in found.space.dimensions if one not in other]
    told = ", ".join(f"{one.words} {_value(values[one.name])} instead of {_value(one.given)}" for one in other)
    return (
        f"{title}: trial {best.number + 1}, {metric.title} {_score(best.score, metric)} on the folds against {before} "
        f"at the settings given: {told}{f'; {_listed(same)} as given' if same else ''}."
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _searched(config: FairComparisonConfig, found: Sequence[Search]) -> Iterator[str]:
    metric, first = describe(config.select_by), starts(config.trials)
    shorter = "" if config.search_steps is None else f", of at most {config.search_steps:,} steps"
    random, later = first - 1, config.trials - first
    order = [
        "The first trial has the settings given",
        *([f"{random} more {'is' if random == 1 else 'are'} random"] if random else []),
        *([f"{later} follow{'s' if later == 1 else ''} from the results before"] if later else []),
    ]
    yield (
        f"{_counted(config.trials, 'trial')} for every loss{' and condition' if config.vary else ''}, each trained "
        f"once on each of {config.folds} folds of the training classes{shorter}, with seed {config.search_seed}; the "
        f"best has the {'highest' if found[0].maximise else 'lowest'} {metric.title} on the classes left out, mean "
        f"over the folds. {', '.join(order)}."
    )
    yield "No trial saw an image of the test set. A trial of which a run failed or diverged counts as worst."
    if any(data_of(one.contender.config).conditions.label_noise for one in found):
        yield (
            "Under label noise a trial is trained with the wrong labels and scored on the classes left out with their "
            "true ones, which nobody has whose labels are noisy."
        )
    for one in {one.contender.variant.title: one for one in found}.values():
        ranges = "; ".join(f"{dimension.words} {dimension.range}" for dimension in one.space.dimensions)
        kept = f" Kept as given: {', '.join(map(in_words, one.space.fixed))}." if one.space.fixed else ""
        left = f" Not searched: {', '.join(map(in_words, one.space.left))}." if one.space.left else ""
        yield f"{one.contender.variant.title}: {ranges}.{kept}{left}"


def trials_csv(config: FairComparisonConfig, found: Sequence[Search]) -> str:
    """Write CSV, a line per trial: its score on each fold and their mean, unrounded, and the values that were tried."""
    conditions = list(dict.fromkeys(name for one in found for name in one.contender.condition))
    names = list(dict.fromkeys(dimension.name for one in found for dimension in one.space.dimensions))
    folds = [f"{config.select_by} fold {fold}" for fold in range(1, config.folds + 1)]
    head = ["variant", *conditions, "trial", "chosen", config.select_by, *folds, "seconds", *names]
    lines = []
    for one in found:
        about = [one.contender.variant.title, *(one.contender.condition[name] for name in conditions)]
        for trial in one.trials:
            scores = ["" if score is None else score for score in (trial.score, *trial.scores)]
            values = one.space.values(trial.point)
            chosen = one.ended and trial is one.chosen
            lines.append(
                [*about, trial.number + 1, chosen, *scores, trial.seconds, *(values.get(name, "") for name in names)]
            )
    return csv_text(head, lines)


def _cost(children: Sequence[Child]) -> Iterator[str]:
    for part, title in _TITLES.items():
        own = [child for child in children if child.planned.part == part]
        ended = [child.outcome for child in own if child.outcome is not None]
        failed = sum(not outcome.finished for outcome in ended)
        seconds = sum(outcome.seconds for outcome in ended)
        if own:
            without = f", {failed} without a result" if failed else ""
            yield f"{title}: {len(ended)} of {len(own)} runs have ended{without}; {seconds:,.0f} s of training."


def _score(score: float | None, metric: Described) -> str:
    return "no result" if score is None else number(score, metric.measure)


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else spelled(value)
