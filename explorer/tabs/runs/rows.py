"""The rows of the list: which runs, in which order, and what their cells say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from explorer.page.words import brief, moment, number
from explorer.server.states import Json
from trainers.kinds import KINDS

NEWEST = "Newest first"
LINES = 5
"""Most lines of a row."""
_TEXTS = {"Name": "title", "State": "label"}
BOX = "✓"
"""Title of the column whose press chooses a run."""
_HEAD = {BOX: 40, "Run": 220, "Losses": 186, "Images": 110, "State": 92, "Steps": 84, "Started": 92}
"""The columns before those of numbers, with their widths in pixels."""
_NUMBER, _SPREAD = 80, 126


def orders() -> list[tuple[str, str]]:
    """Return what the list can be ordered by: titles and names."""
    known: dict[str, str] = {}
    for kind in KINDS.values():
        config = kind.config()
        for key in kind.headline(config):
            known.setdefault(key, kind.measures_of(config).describe(key).short)
    words = [NEWEST, *_TEXTS, "Steps"]
    return [*((word, word) for word in words), *((title, key) for key, title in known.items())]


def found(cards: Sequence[Json], words: str, order: str, members: bool) -> list[Json]:
    """Return the runs that have all of some words, in an order.

    Args:
        members: the runs of sweeps too, each below its sweep; where it has not the words itself, those that have them.
    """
    plans = {card["id"] for card in cards if card["plans"] and not card["part_of"]}  # those that can be read
    asked = words.lower().split()
    sought = {card["id"]: _sought(card) for card in cards} if asked else {}
    fitting = {card["id"] for card in cards if all(word in sought[card["id"]] for word in asked)}
    within: dict[str, list[Json]] = {}
    for card in cards:
        if card["part_of"] in plans:
            within.setdefault(card["part_of"], []).append(card)
    listed = []
    for card in _ordered([card for card in cards if card["part_of"] not in plans], order):
        fits, own = card["id"] in fitting, within.get(card["id"], [])
        own = own if fits else [each for each in own if each["id"] in fitting]
        if fits or own:
            listed.append(card)
        if members or not fits:
            listed += _ordered(own, order)
    return listed


def _sought(card: Json) -> str:
    texts = [card["name"], card["title"], card["summary"], card["data"], card["label"], card["note"], card["id"]]
    return " ".join([*texts, *card["tags"], *card["losses"]]).lower()


def _ordered(cards: list[Json], order: str) -> list[Json]:
    if order in _TEXTS:
        named = order == "Name"
        return sorted(cards, key=lambda card: ((named and card["name"]) or card[_TEXTS[order]]).lower())
    value: Callable[[Json], float | None] | None = None
    if order == "Steps":
        value = lambda card: card["step"]  # noqa: E731
    elif order != NEWEST:
        value = lambda card: _best(card, order)  # noqa: E731
    if value is None:
        return cards
    known = [(card, number) for card in cards if (number := value(card)) is not None]
    down = order == "Steps" or not any(card["numbers"][order]["better"] == "down" for card, _ in known)
    ranked = [card for card, _ in sorted(known, key=lambda pair: -pair[1] if down else pair[1])]
    ids = {card["id"] for card in ranked}
    return [*ranked, *(card for card in cards if card["id"] not in ids)]


def _best(card: Json, key: str) -> float | None:
    known = [line["values"][key] for line in card["lines"] if line["values"].get(key) is not None]
    if not known:
        return None
    return float(min(known) if card["numbers"][key]["better"] == "down" else max(known))


def table(cards: Sequence[Json], chosen: Collection[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """Return the table of some runs as Gradio takes it, and the widths of its columns.

    Columns of numbers that none of them has are left out.

    Args:
        chosen: ids of the runs whose box is ticked.
    """
    numbers = {key: told["title"] for card in cards for key, told in card["numbers"].items()}
    spread = {
        key for card in cards for line in card["lines"] for key, value in line["spread"].items() if value is not None
    }
    widths = [*_HEAD.values(), *(_SPREAD if key in spread else _NUMBER for key in numbers)]
    rows = [
        ["☑" if card["id"] in chosen else "☐", *_about(card), *(_numbers(card, key) for key in numbers)]
        for card in cards
    ]
    return {"headers": [*_HEAD, *numbers.values()], "data": rows}, [f"{width}px" for width in widths]


def _about(card: Json) -> list[str]:
    return [name(card), _lines(card, "title"), brief(card["data"], 60), state(card), steps(card), started(card)]


def name(card: Json) -> str:
    """Write the name or title of a run, why it cannot be read, and its tags."""
    title = brief(card["name"] or card["title"], 120)
    first = f"↳ {title}" if card["part_of"] else title
    if card["damaged"]:
        why = card["error"].removeprefix(f"The run {card['id']} ")
        first = f"Damaged: {brief(why, 90)}"
    elif card["error"]:
        first = f"{first}: {brief(card['error'], 100)}"
    return "\n".join([first, " ".join(f"#{brief(tag, 40)}" for tag in card["tags"])]).strip()


def state(card: Json) -> str:
    """Write the state of a run, its place in the queue, and what a restart of the page would leave of it."""
    words = ["finished" if card["recorded"] else card["label"]]
    if card["queue_position"]:
        words.append(f"number {card['queue_position']} in the queue")
    if kept := card["kept"]:
        part = "not kept yet" if kept["step"] is None else f"kept to step {kept['step']:,}"
        part = "kept in part" if card["plans"] and kept["step"] is not None else part
        words.append("kept" if kept["whole"] else part)
    return "\n".join(words)


def steps(card: Json) -> str:
    """Write how far a run is."""
    if card["plans"]:
        planned = "…" if card["planned_steps"] is None else card["planned_steps"]
        return f"{card['step']} of {planned} runs"
    return f"{card['step']:,}" if card["step"] else "–"


def started(card: Json) -> str:
    """Write when a run was started, or that it is a recording."""
    return "recorded" if card["recorded"] else moment(card["created"])


def _lines(card: Json, key: str) -> str:
    return _few([brief(line[key], 60) for line in card["lines"]])


def _numbers(card: Json, key: str) -> str:
    if key not in card["numbers"]:
        return ""
    return _few([number(line["values"].get(key), line["spread"].get(key)) for line in card["lines"]])


def _few(lines: list[str]) -> str:
    left = len(lines) - LINES
    return "\n".join(lines if left <= 0 else [*lines[: LINES - 1], f"… {left + 1} more"])
