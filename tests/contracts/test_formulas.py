"""How the symbols of formulas are read."""

from __future__ import annotations

import pytest

from tests.formulas import check_symbols, symbols


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        (r"\mathcal{L}=\frac12\sum_{i\neq j}e^{-s_{ij}/\tau}", {"i", "j", "s", "tau"}),
        (r"\mathrm{rank}^+_i+\mathrm{rank}_i-H^-(s_j)", {"rank+", "rank", "H-", "s", "i", "j"}),
        (r"x_i^\top p^{(l)}_{y_i}+\tau_0[\,m\,]_+", {"x", "i", "p", "l", "y", "tau0", "m", "]+"}),
        (r"\mathcal{L}_{\text{Sup-R@}k}\text{ unless }\bar{s}", {"L:mathcal_Sup-R@:text", "k", "s:bar"}),
    ],
)
def test_symbols_are_letters_with_the_marks_that_tell_them_apart(formula: str, read: set[str]) -> None:
    assert symbols(formula) == read


@pytest.mark.parametrize(
    "meanings",
    [
        {"s_i": "cosine of image i"},
        {"s_i": "a cosine", r"\tau": "temperature"},
        {"s_i": "cosine of image i", r"\tau": "temperature", "B": "batch"},
    ],
    ids=["a symbol is missing", "a letter is missing", "one too many"],
)
def test_what_is_not_explained_or_not_there_is_refused(meanings: dict[str, str]) -> None:
    with pytest.raises(AssertionError):
        check_symbols(r"\mathcal{L}=\sum_i s_i/\tau", meanings)
