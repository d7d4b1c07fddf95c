"""The findings of a fair comparison beyond its tables: whether the search changed the verdicts, what it chose, how, at
what cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainers.cells import csv_text
from trainers.comparison import ComparisonTable, VariantPair
from trainers.comparison.words import condition, list_names, number
from trainers.kinds import kind_of
from trainers.metrics.names import Described, describe
from trainers.plans.config import FairComparisonConfig, data_of
from trainers.plans.planned import Child, Finding, PlanPart
from trainers.plans.search import CHOSEN, DEFAULTS, SEARCH, Search, searches
from trainers.plans.space import in_words, spelled, starts

_TITLES = {SEARCH: "Search", CHOSEN: "Settings chosen", DEFAULTS: "Settings given"}


def findings(config: FairComparisonConfig, children: Sequence[Child], parts: Sequence[PlanPart]) -> tuple[Finding, ...]:
    """Return the findings, those that are known so far.

    Args:
        children: the runs that are planned so far.
        parts: ``chosen`` and ``defaults``, with the tables of their results.
    """
    outcomes = {child.planned.name: child.outcome for child in children if child.outcome is not None}
    searched = searches(config, outcomes)
    tables = {part.name: part.table for part in parts}
    ended = all(search.ended for search in searched) and len(outcomes) == len(children)
    return (
        Finding(title="Conclusion", sentences=tuple(_conclusion(config, tables, ended))),
        Finding(title="Chosen", sentences=tuple(_chosen(search, config) for search in searched)),
        Finding(
            title="Searched",
            sentences=tuple(_searched(config, searched)),
            files={"trials.csv": trials_csv(config, searched)},
        ),
        Finding(title="Cost", sentences=tuple(_cost(children))),
    )


# --------------------------------------------------------------- conclusion


def changes(given: ComparisonTable, chosen: ComparisonTable, metric: str) -> tuple[int, list[str]]:
    """Count the verdicts of one metric that are in both tables, and write a sentence for each that differs."""
    before, after = _verdicts(given, metric), _verdicts(chosen, metric)
    both = [key for key in before if key in after]
    changed = []
    for key in both:
        where, pair = key[0], before[key]
        was, now = _words(pair), _words(after[key])
        if was != now:
            changed.append(
                f"{pair.first} and {pair.second}{f', {where}' if where else ''}: {was} at the settings given, {now} at "
                "the settings chosen."
            )
    return len(both), changed


def _conclusion(
    config: FairComparisonConfig, tables: Mapping[str, ComparisonTable | None], ended: bool
) -> Iterator[str]:
    given, chosen = tables.get(DEFAULTS), tables.get(CHOSEN)
    if not config.compare_given:
        yield "The settings given are not compared."
        return
    if not ended:
        yield "Whether the search changes the verdicts is known when all runs have ended."
        return
    if given is None or chosen is None:
        yield "Nothing can be concluded: there are no results to compare."
        return
    unchanged = []
    tested = [each for each in given.metrics if not given.told or each.key in (*given.told, config.select_by)]
    for metric in sorted(tested, key=lambda each: each.key != config.select_by):
        count, changed = changes(given, chosen, metric.key)
        decided = ", by which trials were chosen" if metric.key == config.select_by else ""
        if changed:
            yield f"{metric.title}{decided}: the search changed {len(changed)} of {_counted(count, 'verdict')}."
            yield from changed
        elif decided:
            yield f"{metric.title}{decided}: the search changed no verdict ({_counted(count, 'pair')} compared)."
        elif count:
            unchanged.append(metric.title)
    if unchanged:
        yield f"{'; '.join(unchanged)}: the search changed no verdict."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _verdicts(table: ComparisonTable, metric: str) -> dict[tuple[str, frozenset[str | None]], VariantPair]:
    """Return the pairs by condition in words and the titles of both variants, whichever of them comes first."""
    return {
        (condition(group), frozenset((pair.first, pair.second))): pair
        for comparison in table.comparisons
        if comparison.metric == metric
        for group in comparison.groups
        for pair in group.pairs
    }


def _words(pair: VariantPair) -> str:
    first, second = (pair.second, pair.first) if pair.verdict == "below" else (pair.first, pair.second)
    if pair.verdict in ("above", "below"):
        return f"{first} above {second}"
    return "cannot be compared" if pair.verdict == "unknown" else pair.verdict


# ------------------------------------------------------------------- search


def _chosen(search: Search, config: FairComparisonConfig) -> str:
    metric, title, given, best = describe(config.select_by), search.contender.title, search.trials[0], search.chosen
    if not search.ended:
        ended = sum(trial.ended for trial in search.trials)
        return f"{title}: {ended} of {search.total} trials have ended."
    if best.score is None:
        return f"{title}: no trial has a score, as a run of each failed or diverged; the settings given are compared."
    before = _score(given.score, metric)
    if best.point == search.space.first:
        return f"{title}: the settings given are the best of {search.total} trials ({metric.title} {before})."
    values = search.space.values(best.point)
    other = [dimension for dimension in search.space.dimensions if values[dimension.name] != dimension.given]
    same = [dimension.words for dimension in search.space.dimensions if dimension not in other]
    changed = ", ".join(
        f"{dimension.words} {_value(values[dimension.name])} instead of {_value(dimension.given)}"
        for dimension in other
    )
    return (
        f"{title}: trial {best.number + 1}, {metric.title} {_score(best.score, metric)} on the folds against {before} "
        f"at the settings given: {changed}{f'; {list_names(same)} as given' if same else ''}."
    )


def _searched(config: FairComparisonConfig, searched: Sequence[Search]) -> Iterator[str]:
    metric, first = describe(config.select_by), starts(config.trials)
    shorter = "" if config.search_steps is None else f", of at most {config.search_steps:,} steps"
    compared = kind_of(config.run).compares
    conditions = " and conditions" if config.vary else ""
    random, later, held_out = first - 1, config.trials - first, data_of(config.run).held_out
    order = [
        "The first trial has the settings given",
        *([f"{random} more {'is' if random == 1 else 'are'} random"] if random else []),
        *([f"{later} follow{'s' if later == 1 else ''} from the results before"] if later else []),
    ]
    yield (
        f"{_counted(config.trials, 'trial')} for each of the {compared}{conditions}, trained once on each of "
        f"{config.folds} folds of the training {held_out}{shorter}, with seed {config.search_seed}; "
        f"the best has the {'highest' if searched[0].maximise else 'lowest'} {metric.title} on the {held_out} left "
        f"out, mean over the folds. {', '.join(order)}."
    )
    yield "No trial saw an image of the test set. A trial of which a run failed or diverged counts as worst."
    if any(data_of(search.contender.config).conditions.label_noise for search in searched):
        yield (
            f"Under label noise a trial is trained with the wrong labels and scored on the {held_out} left out with "
            "their true ones, which nobody has whose labels are noisy."
        )
    for search in {search.contender.variant.title: search for search in searched}.values():
        ranges = "; ".join(f"{dimension.words} {dimension.range}" for dimension in search.space.dimensions)
        kept = f" Kept as given: {', '.join(map(in_words, search.space.fixed))}." if search.space.fixed else ""
        left = f" Not searched: {', '.join(map(in_words, search.space.left))}." if search.space.left else ""
        yield f"{search.contender.variant.title}: {ranges}.{kept}{left}"


def trials_csv(config: FairComparisonConfig, searched: Sequence[Search]) -> str:
    """Write CSV, a line per trial: its score on each fold and their mean, unrounded, and the values that were tried."""
    conditions = list(dict.fromkeys(name for search in searched for name in search.contender.condition))
    names = list(dict.fromkeys(dimension.name for search in searched for dimension in search.space.dimensions))
    folds = [f"{config.select_by} fold {fold}" for fold in range(1, config.folds + 1)]
    head = ["variant", *conditions, "trial", "chosen", config.select_by, *folds, "seconds", *names]
    lines = []
    for search in searched:
        about = [search.contender.variant.title, *(search.contender.condition[name] for name in conditions)]
        for trial in search.trials:
            scores = ["" if score is None else score for score in (trial.score, *trial.scores)]
            values = search.space.values(trial.point)
            chosen = search.ended and trial is search.chosen
            lines.append(
                [*about, trial.number + 1, chosen, *scores, trial.seconds, *(values.get(name, "") for name in names)]
            )
    return csv_text(head, lines)


def _cost(children: Sequence[Child]) -> Iterator[str]:
    for part, title in _TITLES.items():
        of_part = [child for child in children if child.planned.part == part]
        ended = [child.outcome for child in of_part if child.outcome is not None]
        failed = sum(not outcome.finished for outcome in ended)
        seconds = sum(outcome.seconds for outcome in ended)
        if of_part:
            without = f", {failed} without a result" if failed else ""
            yield f"{title}: {len(ended)} of {len(of_part)} runs have ended{without}; {seconds:,.0f} s of training."


def _score(score: float | None, metric: Described) -> str:
    return "no result" if score is None else number(score, metric.measure)


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else spelled(value)
