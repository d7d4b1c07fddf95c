"""The symbols of a formula in LaTeX: letters and named quantities with the marks that tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

FONTS = ("mathcal", "mathbf", "mathbb", "bar", "tilde")
GREEK = set("alpha beta gamma delta varepsilon theta lambda sigma tau Delta Sigma Omega".split())  # noqa: SIM905
SPOKEN = {"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "theta": "θ", "lambda": "λ", "sigma": "σ", "tau": "τ"}
"""Greek letters as they are written in a meaning."""
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\S")
_NAMED = re.compile(r"\\(mathrm|text)\s*\{([^{}]*)\}")


def check_symbols(formula: str, meanings: Mapping[str, str]) -> None:
    """Every symbol of a formula has a meaning, and every meaning a symbol."""
    assert not uncovered(formula, meanings), "a symbol of the formula has no meaning"
    assert not unused(formula, meanings), "what is explained is not in the formula"
    assert not unnamed(meanings), "a letter is in no meaning"
    assert all(meaning.strip() == meaning != "" and meaning[-1] != "." for meaning in meanings.values())


def symbols(formula: str) -> set[str]:
    r"""The symbols of a formula: ``p^{(l)}_{y_i}`` has p, l, y and i, ``\mathrm{rank}^+_i`` has rank^+ and i.

    Left out are operators, numbers, e, what stands left of the first equals sign, and \mathcal{L} alone, the loss.
    """
    return set(_Reader(_right(formula)).read()) - {"L:mathcal", "e", ""}


def uncovered(formula: str, meanings: Mapping[str, str]) -> set[str]:
    """Symbols that no meaning is about."""
    return symbols(formula) - {name for key in meanings for name in _Reader(key).read()}


def unused(formula: str, meanings: Mapping[str, str]) -> list[str]:
    """What is explained and not in the formula."""
    return [key for key in meanings if not set(_Reader(key).read()) <= symbols(formula)]


def unnamed(meanings: Mapping[str, str]) -> list[str]:
    """Letters that stand only below or above a symbol, and that no meaning names."""
    own = {name for key in meanings for name in _Reader(re.sub(r"[_^](\{[^{}]*\}|\\?\w+)", "", key)).read()}
    letters = {SPOKEN.get(name, name) for key in meanings for name in _Reader(key).read() if name not in own}
    words = " ".join(meanings.values())
    return [
        letter
        for letter in sorted(letters)
        if len(letter) == 1 and not re.search(rf"(?<![A-Za-z]){letter}(?![A-Za-z])", words)
    ]


def _right(formula: str) -> str:
    depth = 0
    for at, sign in enumerate(formula):
        depth += (sign in "{([") - (sign in "})]")
        if sign == "=" and depth == 0 and r"\quad" not in formula[:at]:
            return formula[at + 1 :]
    return formula


class _Reader:
    def __init__(self, formula: str) -> None:
        self.words: list[str] = []
        text = _NAMED.sub(self._word, formula)
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def _word(self, match: re.Match[str]) -> str:
        self.words.append(match[2] if match[1] == "mathrm" else f"{match[2]}:text")
        return f" \\word{'i' * len(self.words)} "

    def read(self, until: str = "") -> Iterator[str]:
        """Names of the symbols up to a token."""
        while self.at < len(self.tokens):
            token = self._next()
            if token == until:
                return
            name = self._name(token)
            if name is None:
                continue
            marks, inside = self._scripts()
            if name.endswith(":text") and not marks:
                name = ""  # words between formulas
            yield name + marks if name else ""
            yield from inside

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def _name(self, token: str) -> str | None:
        """The name of a symbol that starts with a token; None: it is an operator, a number or a brace."""
        command = token[1:] if token.startswith("\\") else ""
        if command.startswith("word"):
            return self.words[len(command) - len("word") - 1]
        if command in FONTS:
            letter = self._next()
            if letter == "{":
                letter = self._next()
                self._next()
            return f"{letter}:{command}"
        if command == "operatorname":
            while self._next() != "}":
                pass
            return None
        if command:
            return command if command in GREEK else None
        if token == "]" and self._peek() == "_":
            return "]"
        return token if token.isalpha() else None

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _scripts(self) -> tuple[str, list[str]]:
        """The marks of the symbol that was read, and the symbols below and above it."""
        marks, inside = "", []
        while self._peek() in ("_", "^", "'"):
            kind = self._next()
            if kind == "'":
                marks += "'"
                continue
            first = self._next()
            tokens = [first]
            if first == "{":
                begun, depth = self.at, 1
                while depth:
                    depth += {"{": 1, "}": -1}.get(self._next(), 0)
                tokens = self.tokens[begun : self.at - 1]
            if all(token in "+-" or (token.isdigit() and kind == "_") for token in tokens):
                marks += "".join(tokens)
                continue
            outer = [token for token, depth in _depths(tokens) if depth == 0 and token.startswith("\\word")]
            marks += "".join(kind + str(self._name(token)) for token in outer)
            inner = _Reader("")
            inner.tokens, inner.words = [token for token in tokens if token not in outer], self.words
            inside += inner.read()
        return marks, inside


def _depths(tokens: list[str]) -> Iterator[tuple[str, int]]:
    depth = 0
    for token in tokens:
        depth += {"{": 1, "}": -1}.get(token, 0)
        yield token, depth
