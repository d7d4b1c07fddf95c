"""Tables of numbers with a spread and an interval as Markdown and as LaTeX; every text is escaped."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trainers.cells import encodable


@dataclass(frozen=True, kw_only=True)
class Number:
    """A cell: ``mean ± spread [low, high]``, the last two empty where there is none."""

    mean: str
    spread: str = ""
    interval: str = ""
    bold: bool = False


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table with what is said about it.

    Attributes:
        texts: how many columns, from the left, are texts; the others are set to the right.
        caption: what the cells hold; ``method``: what the verdicts mean, empty for none.
        verdicts: a sentence each.
    """

    head: tuple[str, ...]
    texts: int
    lines: tuple[tuple[str | Number, ...], ...]
    caption: str
    method: str
    verdicts: tuple[str, ...]


def markdown(sheet: Sheet) -> str:
    """Write Markdown as GitHub reads it."""
    rule = ["---"] * sheet.texts + ["---:"] * (len(sheet.head) - sheet.texts)
    cells = ([_markdown_cell(cell) for cell in line] for line in sheet.lines)
    lines = [list(map(markdown_text, sheet.head)), rule, *cells]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    text += f"\n\n{markdown_text(sheet.caption)}\n"
    if sheet.verdicts:
        verdicts = (f"- {markdown_text(verdict)}\n" for verdict in sheet.verdicts)
        text += f"\n{markdown_text(sheet.method)}\n\n" + "".join(verdicts)
    return text


def latex(sheet: Sheet) -> str:
    """Write LaTeX for the package booktabs."""
    rows = [" & ".join(map(_latex_cell, line)) + r" \\" for line in (sheet.head, *sheet.lines)]
    columns = "l" * sheet.texts + "r" * (len(sheet.head) - sheet.texts)
    text = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(sheet.caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        rows[0],
        r"\midrule",
        *rows[1:],
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    if sheet.verdicts:
        items = (rf"\item {_latex(verdict)}" for verdict in sheet.verdicts)
        text += ["", _latex(sheet.method), r"\begin{itemize}", *items, r"\end{itemize}"]
    return "\n".join(text) + "\n"


_MARKDOWN = re.compile(r"([\\`*_{}<>#|~&]|(?<=\])[(\[:])")  # of brackets those that a link would need
_LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
}
_GREEK = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"]
_LATEX |= {chr(0x3B1 + place): f"$\\{name}$" for place, name in enumerate(_GREEK)}
_LATEX |= {"π": r"$\pi$", "ρ": r"$\rho$", "σ": r"$\sigma$", "τ": r"$\tau$", "φ": r"$\phi$", "ω": r"$\omega$"}


def markdown_text(text: str) -> str:
    """Write a text in one line of Markdown, with nothing in it that is markup."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _markdown_cell(cell: str | Number) -> str:
    if isinstance(cell, str):
        return markdown_text(cell)
    mean = f"**{cell.mean}**" if cell.bold else cell.mean
    return " ".join(filter(None, (mean, cell.spread and f"± {cell.spread}", cell.interval)))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in one_line(text))


def _latex_cell(cell: str | Number) -> str:
    if isinstance(cell, str):
        return _latex(cell)
    mean = rf"\textbf{{{_latex(cell.mean)}}}" if cell.bold else _latex(cell.mean)
    spread = cell.spread and rf"$\pm$ {_latex(cell.spread)}"
    return " ".join(filter(None, (mean, spread, _latex(cell.interval))))


def one_line(text: str) -> str:
    """Write a text in one line, of characters that can be encoded."""
    return " ".join(encodable(text).split())
