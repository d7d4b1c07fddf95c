"""The image that is shown, the image without an object, and what the models say about both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.components.before_after import BeforeAfter
from explorer.components.captions import Captions
from explorer.components.menu import Menu
from explorer.components.object_picker import ObjectPicker
from explorer.page.blocks import QUIET
from explorer.page.words import literal
from explorer.server.plain import parse
from explorer.tabs.object_removal import offers
from explorer.tabs.object_removal.bodies import MOST_CAPTIONS, Query, Shown
from explorer.tabs.object_removal.first import suggestion
from explorer.tabs.object_removal.images import UPLOADED, InputImage, about
from explorer.tabs.object_removal.service import Objects
from trainers.data.lru_cache import Cache

PATIENCE = 1
"""Seconds that an answer waits for captions; what is not there then is asked for again."""
NEWEST: dict[str, Any] = {**QUIET, "trigger_mode": "always_last"}
"""Options of an event of which the newest counts: others come while it is answered."""
PAGES = 1000
"""Open pages of which the newest question is known."""
PROMPT = "Mark what to remove, and it is filled here."
Json = dict[str, Any]
Updates = list[Any]


@dataclass(frozen=True, kw_only=True)
class Menus:
    """What is chosen at the top."""

    dataset: Menu
    model: Menu
    other: Menu
    fill: Menu
    k: gr.Number

    @property
    def each(self) -> list[Any]:
        """All of them, as events take them."""
        return [self.dataset, self.model, self.other, self.fill, self.k]


@dataclass(frozen=True, kw_only=True)
class View:
    """The components of the view.

    Attributes:
        shown: which image is shown, and what was found in it; JSON that the page sends back.
        target: what is removed from it; as JSON, empty for nothing.
        region, what: what was drawn, as JSON, and what it is called.
        own, lines: captions of one's own, one a line, where an image of one's own is shown.
    """

    shown: gr.Textbox
    target: gr.Textbox
    region: gr.Textbox
    warning: gr.Markdown
    real: gr.Button
    picker: ObjectPicker
    naming: gr.Row
    what: Menu
    finding: gr.Row
    own: gr.Row
    lines: gr.Textbox
    pair: BeforeAfter
    captions: Captions

    @property
    def answer(self) -> list[Any]:
        """What :meth:`Showing.answer` fills."""
        return [self.picker, self.pair, self.captions]

    @property
    def image(self) -> list[Any]:
        """What :meth:`Showing.image` fills, before the menu of the fills."""
        state = [self.shown, self.target, self.region, self.warning, self.real]
        return [*state, self.naming, self.what, self.finding, *self.answer]


class Showing:
    """Fills the view."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._asked: Cache[object] = Cache(limit=PAGES)

    def image(
        self, image: InputImage, chosen: Sequence[Any], removed: Sequence[str] | None = None, found: Sequence[Json] = ()
    ) -> Updates:
        """Show an image, of which nothing is removed yet; returns the updates of :attr:`View.image` and of the fills.

        Args:
            chosen: the values of :attr:`Menus.each`.
            removed: classes to remove; None: a suggested one.
            found: objects that a detector found.
        """
        dataset, model, other, fill, k = chosen
        told = about(image)
        classes = list(removed) if removed else suggestion(told["objects"])
        shown = {"ref": image.ref, "dataset": dataset, "objects": list(found)}
        names = [name for name in (model, other) if name]
        titles = [known.title for known in offers.known_models(self.objects, names)]
        prompt = "" if classes else " ".join([PROMPT, *image.notes])
        listed = image.dataset.data.classes if image.dataset is not None else ()
        words = dict.fromkeys([*(one["class"] for one in told["objects"]), *listed])
        return [
            json.dumps(shown),
            json.dumps({"classes": classes}) if classes else "",
            "",
            *self.warning(image, names),
            gr.skip(),  # the picker says which tool is in hand once it has the image
            gr.update(value=None, choices=[str(word) for word in list(words)[:500]]),
            gr.update(visible=False),
            {"image": told, "removed": []},
            {"image": told, "prompt": prompt, "removed": classes},
            {"k": k, "titles": titles, "reply": None},
            gr.update(choices=offers.fills(image), value=offers.fill_for(image, fill)),
        ]

    def warning(self, image: InputImage, names: Sequence[str]) -> Updates:
        """Return what is said above a photograph, and the button that asks a model that knows photographs."""
        said, real = offers.warning(self.objects, image, names), offers.better_model(self.objects, image, names)
        title = "How to install one" if real is None else f"Use {real.title}"
        if real is not None and real.fetched is not None:
            title = f"Fetch {real.title} ({real.fetched.facts})"
        button = gr.update(visible=bool(said), value=title)
        return [gr.update(value=literal(said, 1000), visible=bool(said)), button]

    def newest(self, shown: str, target: str, request: gr.Request, *chosen: Any) -> Iterator[Updates]:
        """Yield that something is being filled, where that takes seconds, then :meth:`answer`, or no updates where the
        page has asked something else meanwhile.

        Of two questions the later one may be answered first: the earlier one may wait for captions.
        """
        page, mine = request.session_hash, object()
        self._asked.drop(page)
        self._asked.get(page, lambda: mine)
        if (working := self.working(shown, target, *chosen)) is not None:
            yield [gr.skip(), working, gr.skip()]
        answer = self.answer(shown, target, *chosen)
        yield answer if self._asked.find(page) in (mine, None) else [gr.skip()] * 3

    def working(self, shown: str, target: str, *chosen: Any) -> Json | None:
        """Return what stands in place of the filled image while it is made; None: that is a matter of a moment."""
        if not (shown and target):
            return None
        query = self.query(shown, target, *chosen)
        image = self.objects.images.asked(query.image, query.objects or ())
        planned = self.objects.fills.plan(image, query.remove, query.fill)
        if not self.objects.fills.is_long(planned):
            return None
        said = f"{planned.fill.title} covers {planned.judgement.share:.0%} of the image; this takes a few seconds."
        return {"image": about(image), "prompt": said, "removed": list(planned.judgement.removed)}

    def answer(self, shown: str, target: str, *chosen: Any) -> Updates:
        """Remove what is marked and ask the models; returns the updates of :attr:`View.answer`."""
        if not (shown and target):
            return [gr.skip()] * 3
        query = self.query(shown, target, *chosen)
        image = self.objects.images.asked(query.image, query.objects or ())
        reply = self.objects.answers.answer(query)
        classes = reply["removed"] if query.remove.classes else []
        told = about(image)
        return [
            {"image": told, "removed": classes},
            {"image": told, "reply": reply},
            {"k": query.k, "titles": [model["title"] for model in reply["models"]], "reply": reply},
        ]

    def query(self, shown: str, target: str, *chosen: Any) -> Query:
        """Return what is asked; all of it comes from the page.

        Args:
            chosen: the values of :attr:`Menus.each`, then captions of one's own, one a line, for an image of one's own.
        """
        dataset, model, other, fill, k, *lines = chosen
        state = parse(shown.encode())
        own = [line.strip()[:400] for text in lines for line in (text or "").splitlines() if line.strip()]
        models = [name for name in (model, other) if name]
        return Query.of(
            {
                "image": state.get("ref"),
                "objects": state.get("objects") or None,
                "remove": parse(target.encode()),
                "dataset": dataset,
                "captions": own[:MOST_CAPTIONS] if own and str(state.get("ref")).startswith(UPLOADED) else None,
                "models": models,
                "fill": fill,
                "k": int(k or 5),
                "patience": PATIENCE,
            }
        )

    def state(self, shown: str) -> Shown:
        """Read which image is shown."""
        values = parse(shown.encode())
        return Shown.of({**values, "objects": values.get("objects") or None})

    def shown(self, shown: str) -> InputImage:
        """Return the image that is shown.

        Raises:
            UserError: none is, or it is no longer kept.
        """
        state = self.state(shown)
        return self.objects.images.asked(state.ref, state.objects or ())
