"""What the Catalogue lists, how it is searched, and what it draws."""

from __future__ import annotations

import pytest

from explorer.tabs.catalogue import figures, glossary
from explorer.tabs.catalogue.entries import entries, families, found, named
from trainers.errors import UserError
from trainers.losses import FAMILIES
from trainers.metrics import controlled_errors


def test_every_entry_is_found_by_its_title_first() -> None:
    assert len({(entry.title, entry.sentence) for entry in entries()}) == len(entries())
    for entry in entries():
        assert found(entry.title)[0].title.lower() == entry.title.lower()
        assert named(entry.title, entry.sentence) is entry
        assert entry.text.count("$$") in (0, 2)


def test_a_search_keeps_what_has_every_word() -> None:
    assert found() == list(entries())
    assert found("  SMOOTH-AP ")[0].title == "Smooth-AP"
    assert found("zzz average") == []
    for family in families():
        assert {entry.family for entry in found(family=family)} == {family}
    with pytest.raises(UserError, match="no entry"):
        named("<img onerror=alert(1)>", "")


def test_two_losses_share_their_axes() -> None:
    alone, both = figures.moving(["happier"]), figures.moving(["happier", "smooth_ap"])
    assert (len(alone.data), len(both.data)) == (6, 10)
    assert both.layout.yaxis2.matches == "y"
    head, rows = figures.moving_table(["smooth_ap"])
    assert all(len(row) == len(head) for row in rows)
    assert {row[0] for row in rows} == {"Smooth-AP"}


def test_metrics_are_drawn_over_controlled_errors() -> None:
    for name in controlled_errors.METRICS:
        figure = figures.mistakes(name)
        assert figure is not None
        worst, best = figure.data[0].y, figure.data[-1].y
        assert all(low <= high + 1e-9 for low, high in zip(worst, best, strict=True))
        head, rows = figures.mistakes_table(name)
        assert [len(row) for row in rows] == [len(head)] * len(controlled_errors.LEVELS)
    assert figures.mistakes("R@1") is None


def test_words_are_few_and_a_line_each() -> None:
    assert len(glossary.GLOSSARY) <= 25
    assert max(map(len, glossary.GLOSSARY.values())) < 120
    assert sum(map(len, FAMILIES.values())) > 20
