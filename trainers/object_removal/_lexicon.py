"""Closed word lists of the noun-phrase chunker, for short descriptive English."""

from __future__ import annotations


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
