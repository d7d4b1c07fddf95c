"""Noun phrases of a caption by rule: no model, no download.

A caption is read from left to right. Prepositions, conjunctions, verbs, pronouns, commas and the start of the next
determiner end a phrase; a run without a noun is dropped. Captions describe, in short and regular English; finite
verbs that are in no list and adjectives after their noun are its weak spots. Its word tokens know where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS = _set("a an the this these those his her its their our my your some any no every each another both all")
NUMBERS = _set("one two three four five six seven eight nine ten eleven twelve dozen dozens several many few multiple")
COLOURS = _set(
    "black white red green blue yellow brown gray grey pink purple tan silver gold golden orange maroon cream beige"
)
ADJECTIVES = COLOURS | _set(
    "large small big little young old new long short tall huge tiny giant wide narrow thin thick high low flat "
    "full empty open wet dry hot cold warm dirty clean messy tidy busy quiet nice cute pretty beautiful adorable "
    "different various assorted other same single double lone main major public private modern contemporary vintage "
    "antique ornate plain simple fancy delicious tasty fresh "
    "raw ripe rotten overripe wooden metal metallic stone brick "
    "snowy sunny cloudy rainy foggy stormy grassy rocky sandy dusty muddy rusty shiny shaggy fluffy furry wild stuffed "
    "half whole several bright dark dim light clear sharp asian american german chinese african "
    "french italian thai elderly older younger very more most much such fat skinny smart strange weird funny happy sad "
    "angry hungry sleepy homeless professional indoor outdoor upper lower left right middle first second third last "
    "top bottom rear electric electronic wireless digital nearby healthy sweet hard soft heavy next plaid striped "
    "bare barefoot bald bearded perfect cozy comfortable cluttered colorful colourful decorative "
    "oval round square rectangular crowded partial residential commercial urban rural tropical natural artificial "
    "own extra formal reddish identical separate similar whimsical polar"
)
ENDS_OPEN = _set("open inside outside alone full")
"""After a noun and before the end or another phrase these are no part of it: ``the door open``."""

PARTICLES = _set("front top back side bottom middle left right center centre right inside outside background")
"""Nouns after a determiner or an adjective (``the back``), else parts of a preposition (``on top of``)."""

BREAKS = _set(
    "in on at with of to from for by over under behind beside besides near between through across along around above "
    "below beneath inside outside into onto off out up down against among amongst amidst toward towards during before "
    "after about without within upon atop underneath via past upto alongside throughout until till "
    "and or but nor while as than then when where which who whom whose what that because so if how why yet "
    "is are was were be been being am has have had having do does did done can could will would should may might must "
    "it he she they them him we us you i me himself herself itself themselves there here "
    "not also just only too together away apart forward backward backwards forwards indoors outdoors "
    "well still now later already almost nearly partially partly mostly neatly closely quickly carefully alone ahead "
    "sideways upside downhill uphill online like not n't isn't doesn't don't didn't can't "
    "next close thru else again ever never always once eachother"
)
"""Words that are in no noun phrase: prepositions, conjunctions, auxiliaries, pronouns and adverbs."""

MEASURES = _set(
    "couple group pair bunch bowl glass piece slice lot lots "
    "number herd flock crowd pile stack plate cup row rows line "
    "set bottle box basket bag bouquet kind type types kinds variety assortment series team mug tray platter bucket "
    "bushel collection pieces slices bunches plates bowls glasses cups pairs groups dozens stacks piles sheet sort "
    "sorts pot fleet array bottles boxes trays portion loaf pack mound dollop half"
)
"""``of`` after one of these stays inside the phrase."""

ING_NOUNS = _set(
    "building ceiling king ring string thing wing morning clothing painting evening railing wedding frosting awning "
    "pudding topping dressing icing lighting siding crossing dwelling paneling flooring outing landing stuffing "
    "herring sibling darling duckling gosling spring sling swing seasoning bedding covering fencing housing marking "
    "meeting offering parking filling something anything nothing everything boarding earring setting"
)
ING_BEFORE_NOUN = _set(
    "living dining parking swimming shopping cutting frying skating "
    "washing serving vending answering changing cleaning running mixing"
)
OPENED_BY_ING = _set(
    "room rooms table tables lot lots pool pools board boards pan pans park area machine machines meter meters court "
    "center cart spoon spoons bowl bowls supplies products utensils path shoes dish dishes"
)
"""``dining table``: a word of the first list before one of the second is part of a noun."""

COMPOUND = _set("shaped aged colored coloured covered sized haired looking filled topped lined style")
"""After a noun and before another they make an adjective: ``a snow covered hill``."""

AFTER_TO = _set("to can could will would should may might must")

FINITE = _set(
    "sits stands plays looks rides walks runs jumps lays lies "
    "holds has eats drinks takes makes flies drives goes comes "
    "gets gives puts sees uses wears carries catches throws hits swings reaches waits watches talks shows leans poses "
    "performs smiles sleeps rests works prepares enjoys tries pulls pushes grazes stares appears seems features "
    "contains includes hangs travels crosses surrounds stretches hovers glides chases licks sniffs cuts "
    "serves feeds follows pokes points moves stays keeps lets overlooks depicts displays consists delivers balances "
    "attempts pecks wanders poses peeks peers hugs kisses throws catches brushes blows does crouches kneels "
    "approaches passes enters begins says reads writes cooks bakes sells bends touches "
    "begs barks opens closes inspects rolls celebrates officiates lounges surfs takes perches "
    "rides tows hauls illuminates gathers winds lopes dries helps "
    "speaks needs wants returns learns kicks replaces pours wrestles"
)
"""Finite verbs that end a phrase which has its noun already."""

PLAIN = _set(
    "sit stand play look ride walk run jump lay lie hold eat drink take make fly drive go come get give put see use "
    "wear carry catch throw hit reach wait watch talk show lean pose perform smile sleep rest work prepare enjoy try "
    "pull push graze stare appear seem feature contain include hang travel cross surround stretch gather follow point "
    "move stay keep line cover fill surf ski skate race mingle dance compete participate roam pass sail perch wander "
    "herd interact celebrate share cook serve huddle pet lope type park need want like"
)
"""Base forms: verbs after a plural, else nouns (``people stand``, ``a fruit stand``)."""

IRREGULAR_PLURALS = _set("people men women children police geese mice cattle sheep")
PAST = _set(
    "seen shown made set cut left taken kept held built "
    "worn driven ridden eaten drawn lit laid hung stuck caught spread "
    "put sat stood ran flown thrown broken fallen torn made "
    "sent given grown hidden written bound strewn born laden ready "
    "able available visible unable ready came went full"
)
"""Participles and predicates without *-ed*: they end a phrase that has its noun already."""

NOT_PAST = _set("bed red shed sled weed seed feed breed bleed reed speed steed moped biped bobsled hundred deed")
NO_NOUN = _set("other same more most very much such else each ready able lots way")

PAIRS = _set("glasses pants scissors jeans shorts skis goggles sunglasses headphones pyjamas pajamas clothes")


_WORD = re.compile(r"[^\W_]+(?:['’](?!s\b)[^\W_]+)*")
_IRREGULAR = {
    "person": ("persons", "people"),
    "people": (),
    "man": ("men",),
    "woman": ("women",),
    "cowboy": ("cowboys", "cowgirl", "cowgirls"),
    "child": ("children",),
    "goose": ("geese",),
    "mouse": ("mice", "mouses"),
    "ox": ("oxen",),
    "calf": ("calves",),
    "knife": ("knives",),
    "foot": ("feet",),
    "tooth": ("teeth",),
    "leaf": ("leaves",),
    "sheep": (),
    "police": (),
    "cattle": (),
    "aircraft": (),
    "luggage": (),
    "silverware": (),
    "traffic": (),
    "anyone": (),
    "someone": (),
    "somebody": (),
    "anybody": (),
    "everyone": (),
}


@dataclass(frozen=True, kw_only=True)
class Token:
    """One word: its lower-case form and its place ``text[start:end]``; ``gap`` is what stands before it."""

    word: str
    start: int
    end: int
    gap: str


def tokenise(text: str) -> tuple[Token, ...]:
    """Split a text into words; hyphens and punctuation separate, *'s* is left out, ``don't`` is one word."""
    tokens, last = [], 0
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        gap = text[last : match.start()]
        if not (word == "s" and gap in ("'", "’")):
            tokens.append(Token(word=word, start=match.start(), end=match.end(), gap=gap))
        last = match.end()
    return tuple(tokens)


def inflections(word: str) -> tuple[str, ...]:
    """Return a word and its plurals, the regular one built by rule: ``puppy`` gives ``puppy``, ``puppies``.

    Only the last word of several is inflected. A word that looks plural already gets no further form.
    """
    head, _, last = word.rpartition(" ")
    head = f"{head} " if head else ""
    for stem, plurals in _IRREGULAR.items():  # compounds too: fireman, salesperson keep their own entries out
        if last == stem:
            return (word, *(head + plural for plural in plurals))
    if last.endswith("s") and not last.endswith(("ss", "us")):
        return (word,)
    if last.endswith("y") and last[-2:-1] not in "aeiou":
        return (word, f"{head}{last[:-1]}ies")
    if last.endswith(("s", "x", "z", "ch", "sh")):
        return (word, f"{head}{last}es")
    return (word, f"{head}{last}s")


_STOPS = ',.;:!?()"'


@dataclass(frozen=True, kw_only=True)
class Phrase:
    """A noun phrase: tokens ``first`` to ``last`` (exclusive), ``text[start:end]`` in characters."""

    text: str
    tokens: tuple[Token, ...]
    first: int
    last: int

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end


def noun_phrases(text: str) -> tuple[Phrase, ...]:
    """Find the noun phrases of a caption in order, without overlap; none in an empty text or one without nouns."""
    tokens = tokenise(text)
    runs, begin = [], None
    for position, token in enumerate(tokens):
        run = tokens[begin:position] if begin is not None else ()
        before = tokens[position - 1].word if position else ""
        verdict = _read(run, before, token, tokens[position + 1].word if position + 1 < len(tokens) else "")
        if verdict != "inside" and begin is not None:
            runs.append((begin, position))
            begin = None
        if verdict == "starts" or (verdict == "inside" and begin is None):
            begin = position
    if begin is not None:
        runs.append((begin, len(tokens)))
    trimmed = [_trim(tokens, first, last) for first, last in runs]
    return tuple(
        Phrase(text=text[tokens[first].start : tokens[last - 1].end], tokens=tokens[first:last], first=first, last=last)
        for first, last in trimmed
        if any(map(_is_noun, tokens[first:last]))
    )


def _read(run: Sequence[Token], before: str, token: Token, follows: str) -> str:
    """Return whether a token goes on with the run (``inside``), ``starts`` another or is in no phrase (``outside``)."""
    word = token.word
    if run and any(mark in token.gap for mark in _STOPS):
        return "outside" if _ends(word, (), "", follows) else "starts"
    noun = any(map(_is_noun, run))
    if word == "of" and run and run[-1].word in MEASURES:
        return "inside"
    if word == "and" and run and not noun and run[-1].word in COLOURS and follows in COLOURS:
        return "inside"
    if (word == "close" and follows == "up") or (word == "up" and run and run[-1].word == "close"):
        return "inside"
    if _ends(word, run, before, follows):
        return "outside"
    opens = word in DETERMINERS or word in NUMBERS
    return "starts" if opens and noun and run[-1].word != "of" else "inside"


def _ends(word: str, run: Sequence[Token], before: str, follows: str) -> bool:
    """Return whether a word is in no noun phrase here."""
    after_of = max((position + 1 for position, token in enumerate(run) if token.word == "of"), default=0)
    noun = any(map(_is_noun, run[after_of:]))
    closed = not follows or follows in DETERMINERS or follows in BREAKS
    if noun and closed and word in ENDS_OPEN:
        return True
    if word in PARTICLES:
        return not run or (noun and follows in ("of", "to"))
    if word in BREAKS:
        return True
    if before in AFTER_TO and not run and word not in DETERMINERS:
        return word in PLAIN or follows in DETERMINERS
    if word in ING_NOUNS or (word in ING_BEFORE_NOUN and follows in OPENED_BY_ING):
        return False
    if noun and word in COMPOUND and not closed:
        return False
    if word.endswith("ing") and len(word) > 4:
        return noun or not run or closed
    past = word in PAST or (word.endswith("ed") and word not in NOT_PAST)
    if not noun:
        return not run and ((past and closed) or word in PAST or word in FINITE)
    return past or word in FINITE or _is_verb(word, run, closed)


def _is_verb(word: str, run: Sequence[Token], closed: bool) -> bool:
    """Tell a verb by its number: a base form after a plural (``men stand``), *-s* after a singular (``he paints``)."""
    if _plural(run[-1].word):
        return word in PLAIN
    single = run[0].word in ("a", "an") and run[-1].word != "couple" and all(token.word != "of" for token in run)
    return single and closed and word not in PAIRS and _plural(word)


def _trim(tokens: Sequence[Token], first: int, last: int) -> tuple[int, int]:
    """Leave out a trailing *of*, *and* or adjective-like filler that the run ended on."""
    while last > first and tokens[last - 1].word in ("of", "and"):
        last -= 1
    return first, last


def _is_noun(token: Token) -> bool:
    word = token.word
    return word in PARTICLES or not (
        word in DETERMINERS
        or word in NUMBERS
        or word in ADJECTIVES
        or word in NO_NOUN
        or word in ("of", "and")
        or word.isdigit()
        or (word.endswith("ed") and word not in NOT_PAST)
        or (word.endswith("ing") and word not in ING_NOUNS)
        or (word.endswith("ly") and word not in ("family", "fly", "belly", "jelly"))
    )


def _plural(word: str) -> bool:
    return word in IRREGULAR_PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "is")))
