"""Five short captions of a scene. Each object is named or, sometimes, left out."""

from __future__ import annotations

import numpy as np

from trainers.data.synthetic.scenes.scene import PAIRS, Layout, Thing

CAPTIONS = 5
FEWEST, MOST = 5, 16
"""Words of a caption."""
# only words that the word table gives to this class and to no other
_NOUNS = {
    "bird": ("bird", "bird", "gull"), "cat": ("cat", "cat", "kitten"), "dog": ("dog", "dog", "puppy"),
    "car": ("car", "car", "taxi"), "boat": ("boat",), "traffic light": ("traffic light",), "umbrella": ("umbrella",),
    "frisbee": ("frisbee", "frisbee", "disc"), "sports ball": ("ball",), "chair": ("chair", "chair", "stool"),
    "potted plant": ("plant", "potted plant"),
}  # fmt: skip
_PEOPLE = (("person", "man", "boy", "guy"), ("person", "woman", "girl", "lady"))  # by hair
_PLACES = {
    "grass": ("on the grass", "in an open field", "in a wide meadow", "outside on the lawn"),
    "street": ("on a city street", "in the street", "in front of some houses", "on the pavement"),
    "water": ("on the water", "on a lake", "out at sea", "near the shore"),
    "road": ("on the road", "by the side of a road", "on a country road", "outside of town"),
    "room": ("in a living room", "inside a house", "on the wooden floor", "in a room"),
}
_DOING = {
    "person": ("standing", "waiting", "waving"), "bird": ("flying", "gliding"), "cat": ("sitting", "resting"),
    "dog": ("standing", "playing", "waiting"), "car": ("parked", "driving", "stopping"),
    "boat": ("sailing", "floating"),
}  # fmt: skip
_TOGETHER = {
    ("dog", "frisbee"): ("chasing", "playing with", "jumping for", "looking at"),
    ("person", "umbrella"): ("holding", "carrying", "standing under", "waving with"),
    ("boat", "bird"): ("passing", "sailing below", "sailing near"),
    ("car", "traffic light"): ("waiting at", "stopping at", "driving towards"),
    ("cat", "sports ball"): ("playing with", "watching", "sitting by", "looking at"),
}
assert set(_TOGETHER) == {pair[:2] for pair in PAIRS}
_JOINED = ("and", "next to", "near", "with", "beside")
_FURTHER = ("and", "by", "alongside", "close to")
_OPENINGS = ("there is {}{}", "a picture of {}{}", "a photo of {}{}", "a drawing that shows {}{}", "a view of {}{}")
_COLOURED, _SIZED, _PLACED, _COUNTED, _OPENED = 0.55, 0.5, 0.75, 0.12, 0.15
_UNCOLOURED = ("person", "traffic light", "potted plant")  # several colours at once


def captions_of(layout: Layout, mention: float) -> tuple[str, ...]:
    """Write five captions, the same for the same scene; each names an object, at least one, with chance ``mention``."""
    rng = np.random.default_rng([layout.seed, layout.number, 5])
    return tuple(_caption(layout, mention, rng) for _ in range(CAPTIONS))


def _caption(layout: Layout, mention: float, rng: np.random.Generator) -> str:
    things = [layout.things[index] for index in rng.permutation(len(layout.things))]
    named = [thing for thing in things if rng.random() < mention] or things[:1]
    named.sort(key=lambda thing: thing.name not in _DOING)  # what can do something comes first
    phrases = [_phrase(thing, rng) for thing in named]
    where = f" {_pick(_PLACES[layout.background], rng)}"
    opening = _pick(_OPENINGS, rng) if rng.random() < _OPENED else "{}{}"
    body = _body(named, phrases, rng)
    if rng.random() >= _PLACED and _fits(opening.format(body, "")):
        where = ""
    for text in (opening.format(body, where), body + where, body):
        if _fits(text):
            return text
    plain = _body(named, [_plain(thing) for thing in named], rng)
    return plain + where if _fits(plain + where) else plain


def _fits(text: str) -> bool:
    return FEWEST <= len(text.split()) <= MOST


def _body(named: list[Thing], phrases: list[str], rng: np.random.Generator) -> str:
    """Say what is named and how it belongs together, without a place."""
    if len(named) == 1:
        doing = _DOING.get(named[0].name)
        return f"{phrases[0]} {_pick(doing, rng)}" if doing and rng.random() < 0.6 else phrases[0]
    text = f"{phrases[0]} {_verb(named[0], named[1], rng)} {phrases[1]}"
    if len(named) == 3:
        return f"{text} {_pick(_FURTHER, rng)} {phrases[2]}"
    return text + "".join(f", {phrase}" for phrase in phrases[2:-1]) + (f" and {phrases[-1]}" if named[2:] else "")


def _verb(first: Thing, second: Thing, rng: np.random.Generator) -> str:
    verbs = _TOGETHER.get((first.name, second.name))
    return _pick(verbs, rng) if verbs is not None and rng.random() < 0.6 else _pick(_JOINED, rng)


def _phrase(thing: Thing, rng: np.random.Generator) -> str:
    words = []
    if thing.measure and rng.random() < _SIZED:
        words.append(_pick({"small": ("small", "little"), "large": ("large", "big")}[thing.measure], rng))
    if rng.random() < _COLOURED and thing.name not in _UNCOLOURED:
        words.append(thing.colour)
    nouns = _PEOPLE[thing.variant % 2] if thing.name == "person" else _NOUNS[thing.name]
    words.append(_pick(nouns, rng))
    if thing.name == "person" and rng.random() < _COLOURED / 2:
        words += ["in", thing.colour]
    return " ".join(["one" if rng.random() < _COUNTED else _article(words[0]), *words])


def _plain(thing: Thing) -> str:
    """Name a thing in two or three words, for where there is no room."""
    noun = "person" if thing.name == "person" else _NOUNS[thing.name][0]
    return f"{_article(noun)} {noun}"


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _pick(choices: tuple[str, ...], rng: np.random.Generator) -> str:
    return choices[int(rng.random() * len(choices))]  # several times faster than `integers`
