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
        verdicts: a sentence each; ``conclusions``: what they come to, before all else.
        further: the same rows with other columns, folded below.
    """

    head: tuple[str, ...]
    texts: int
    lines: tuple[tuple[str | Number, ...], ...]
    caption: str
    method: str
    verdicts: tuple[str, ...]
    conclusions: tuple[str, ...] = ()
    further: Sheet | None = None


def markdown(sheet: Sheet) -> str:
    """Write Markdown as GitHub reads it."""
    begin = "".join(f"{markdown_text(sentence)}\n\n" for sentence in sheet.conclusions)
    text = f"{begin}{_markdown_table(sheet)}\n\n{markdown_text(sheet.caption)}\n"
    if sheet.verdicts:
        verdicts = (f"- {markdown_text(verdict)}\n" for verdict in sheet.verdicts)
        text += f"\n{markdown_text(sheet.method)}\n\n" + "".join(verdicts)
    if sheet.further is not None:
        count = len(sheet.further.head) - sheet.texts - 1
        head = f"<details><summary>{count} more metric{'s' if count > 1 else ''}</summary>"
        text += f"\n{head}\n\n{_markdown_table(sheet.further)}\n\n</details>\n"
    return text


def _markdown_table(sheet: Sheet) -> str:
    rule = ["---"] * sheet.texts + ["---:"] * (len(sheet.head) - sheet.texts)
    cells = ([_markdown_cell(cell) for cell in line] for line in sheet.lines)
    lines = [list(map(markdown_text, sheet.head)), rule, *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex(sheet: Sheet) -> str:
    """Write LaTeX for the package booktabs, without intervals so that it fits a column; verdicts are comments."""
    rows = [" & ".join(map(_latex_cell, line)) + r" \\" for line in (sheet.head, *sheet.lines)]
    columns = "l" * sheet.texts + "r" * (len(sheet.head) - sheet.texts)
    text = [
        r"\begin{table}",
        r"\centering\small",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{_latex(sheet.caption)}}}",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        rows[0],
        r"\midrule",
        *rows[1:],
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    if sheet.verdicts:
        text += ["", *(f"% {_latex(line)}" for line in (*sheet.conclusions, sheet.method, *sheet.verdicts))]
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
_LATEX |= {chr(0x3B1 + index): f"$\\{name}$" for index, name in enumerate(_GREEK)}
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
    return mean + (cell.spread and rf" {{\scriptsize$\pm${_latex(cell.spread)}}}")


def one_line(text: str) -> str:
    """Write a text in one line, of characters that can be encoded."""
    return " ".join(encodable(text).split())
