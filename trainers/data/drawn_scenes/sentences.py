"""Five sentences about a scene, in the manner of short captions. Each object is named or, sometimes, passed over."""

from __future__ import annotations

import numpy as np

from trainers.data.drawn_scenes.world import PAIRS, Layout, Thing

SENTENCES = 5
# only words that the word table gives to this class and to no other
_NOUNS = {
    "person": ("person", "man", "woman", "boy", "girl"), "bird": ("bird", "bird", "gull"),
    "cat": ("cat", "cat", "kitten"), "dog": ("dog", "dog", "puppy"), "car": ("car", "car", "taxi"), "boat": ("boat",),
    "traffic light": ("traffic light",), "umbrella": ("umbrella",), "frisbee": ("frisbee", "frisbee", "disc"),
    "sports ball": ("ball",), "chair": ("chair", "chair", "stool"), "potted plant": ("plant", "potted plant"),
}  # fmt: skip
_PLACES = {
    "grass": ("on the grass", "in a field", "in a wide meadow", "outside on the lawn"),
    "street": ("on a city street", "in the street", "in front of some houses", "in town"),
    "water": ("on the water", "on a lake", "at sea", "near the shore"),
    "road": ("on the road", "by the side of a road", "on a wide road", "outside of town"),
    "room": ("in a room", "inside a house", "on the floor", "in a living room"),
}
_DOING = {
    "person": ("standing", "waiting", "walking"), "bird": ("flying", "gliding"), "cat": ("sitting", "resting"),
    "dog": ("standing", "running", "playing"), "car": ("parked", "driving", "stopping"),
    "boat": ("sailing", "floating"),
}  # fmt: skip
_TOGETHER = {
    ("dog", "frisbee"): ("chasing", "playing with", "jumping for", "looking at"),
    ("person", "umbrella"): ("holding", "carrying", "walking with", "standing under"),
    ("boat", "bird"): ("passing", "sailing below", "sailing with"),
    ("car", "traffic light"): ("waiting at", "stopping at", "driving towards"),
    ("cat", "sports ball"): ("playing with", "watching", "sitting by", "looking at"),
}
assert set(_TOGETHER) == {pair[:2] for pair in PAIRS}
_JOINED = ("and", "next to", "near", "with", "beside")
_COLOURED, _SIZED, _PLACED, _COUNTED = 0.55, 0.3, 0.75, 0.15


def sentences_of(layout: Layout, mention: float) -> tuple[str, ...]:
    """Five sentences, the same for the same scene; each names an object with probability ``mention``, at least one."""
    rng = np.random.default_rng([layout.seed, layout.number, 4])
    return tuple(_sentence(layout, mention, rng) for _ in range(SENTENCES))


def _sentence(layout: Layout, mention: float, rng: np.random.Generator) -> str:
    things = [layout.things[place] for place in rng.permutation(len(layout.things))]
    named = [thing for thing in things if rng.random() < mention] or things[:1]
    named.sort(key=lambda thing: thing.name not in _DOING)  # what can do something comes first
    phrases = [_phrase(thing, rng) for thing in named]
    where = f" {_pick(_PLACES[layout.home], rng)}" if rng.random() < _PLACED else ""
    if len(named) == 1:
        return _alone(named[0], phrases[0], where, rng)
    verb = _verb(named[0], named[1], rng)
    text = f"{phrases[0]} {verb} {phrases[1]}"
    if len(named) == 3:
        text += f" {_pick(('and', 'near', 'beside'), rng)} {phrases[2]}"
    elif len(named) > 3:
        text += ", " + ", ".join(phrases[2:-1]) + f" and {phrases[-1]}"
    return text + where


def _alone(thing: Thing, phrase: str, where: str, rng: np.random.Generator) -> str:
    start = rng.random()
    if thing.name in _DOING and start < 0.5:
        return f"{phrase} {_pick(_DOING[thing.name], rng)}{where}"
    if start < 0.65:
        return f"there is {phrase}{where}"
    if start < 0.8:
        return f"a picture of {phrase}{where}"
    return f"{phrase}{where or ' in plain view'}"


def _verb(first: Thing, second: Thing, rng: np.random.Generator) -> str:
    verbs = _TOGETHER.get((first.name, second.name))
    return _pick(verbs, rng) if verbs is not None and rng.random() < 0.6 else _pick(_JOINED, rng)


def _phrase(thing: Thing, rng: np.random.Generator) -> str:
    words = []
    if rng.random() < _SIZED:
        words.append(_pick(("large", "big") if thing.large else ("small", "little"), rng))
    if rng.random() < _COLOURED and thing.name not in ("person", "traffic light", "potted plant"):
        words.append(thing.colour)
    words.append(_pick(_NOUNS[thing.name], rng))
    if rng.random() < _COUNTED:
        return " ".join(["one", *words])
    return " ".join(["an" if words[0][0] in "aeiou" else "a", *words])


def _pick(choices: tuple[str, ...], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]
