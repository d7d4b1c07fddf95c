"""The top of the tab: images, models and fill; further datasets and models; the images of the dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr
import numpy as np

from explorer.components.menu import Menu
from explorer.components.run_follow import RunFollow
from explorer.components.work import Work
from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.words import literal
from explorer.server.photographs import Photographs
from explorer.server.shown_files import ShownFiles
from explorer.server.tasks import Task
from explorer.server.visitors import Caller, caller
from explorer.tabs.object_removal import offers
from explorer.tabs.object_removal.bodies import Open
from explorer.tabs.object_removal.images import encoded
from explorer.tabs.object_removal.view import NEWEST, Menus, Showing, Updates, View
from trainers.data.hub_search import search
from trainers.errors import UserError

PAGE = 12
"""Images in the gallery at a time."""
SIDE = 128
_TO_PAIR = """() => {
  document.getElementById("rs-object-pair")?.scrollIntoView({ block: "start" });
  return [];
}"""
_LEAST = 3
"""Letters from which on the Hub is searched."""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """The images of the dataset: a gallery, where it begins, the number of the image that is shown; and an own one.

    Attributes:
        home: leads back from an own one.
    """

    images: gr.Column
    home: gr.Button
    gallery: gr.Gallery
    offset: gr.Textbox
    number: gr.Number
    total: gr.Markdown
    steps: list[tuple[gr.Button, int, bool]]
    photograph: gr.Image

    @property
    def filled(self) -> list[Any]:
        """What :meth:`Choosing.strip` fills."""
        return [self.gallery, self.offset, self.number, self.total]


@dataclass(frozen=True, kw_only=True)
class More:
    """What adds a dataset or a model."""

    source: Menu
    captions: gr.Textbox
    open: gr.Button
    work: Work
    said: gr.Markdown
    name: Menu
    add: gr.Button


def menus() -> Menus:
    """Add the menus."""
    with gr.Row(equal_height=False):
        return Menus(
            dataset=Menu(label="Images", filterable=False, min_width=150),
            model=Menu(label="Model", filterable=False, min_width=150),
            other=Menu(label="Compared with", filterable=False, min_width=150),
            fill=Menu(label="Fill", filterable=False, min_width=150),
            k=gr.Number(5, label="Captions", minimum=1, maximum=20, precision=0, min_width=80, scale=0),
        )


def more() -> More:
    """Add the fold that adds datasets and models."""
    with parts.fold("Open another dataset, add a model"):
        with gr.Row(equal_height=False, elem_classes="rs-bottoms"):
            free: dict[str, Any] = {"allow_custom_value": True, "choices": [], "min_width": 220}
            source = Menu(label="Hugging Face id or folder", info="What is typed is searched on the Hub.", **free)
            captions = gr.Textbox(label="Captions from", placeholder="captions.json (optional)", max_length=400)
            opening = gr.Button("Open", size="md", scale=0, min_width=90)
        with gr.Row(equal_height=False, elem_classes="rs-bottoms"):
            named = "hf-hub:owner/name, or local-dir:folder"
            name = Menu(label="A model that open_clip loads", info=named, **free)
            add = gr.Button("Add", size="md", scale=0, min_width=90)
    # outside the fold, whose content is not there while it is closed: a model of a run has its dataset opened too
    work, said = Work("objects/open", render=False), parts.sentence(render=False)
    return More(source=source, captions=captions, open=opening, work=work, said=said, name=name, add=add)


def strip() -> Strip:
    """Add the images."""
    with gr.Row(equal_height=False, elem_id="rs-object-images"):
        with gr.Column(scale=5, min_width=300) as images:
            options: dict[str, Any] = {"allow_preview": False, "show_label": False, "buttons": [], "height": 96}
            gallery = gr.Gallery(columns=PAGE, rows=1, object_fit="cover", label="Images", **options)
            offset = gr.Textbox("0", visible=False)
            with gr.Row(equal_height=True, elem_classes="rs-flow", elem_id="rs-object-steps"):
                back = [parts.small(text) for text in ("« Earlier", "‹ Previous")]
                number = gr.Number(1, show_label=False, container=False, precision=0, minimum=1, scale=0, min_width=80)
                total = parts.sentence(min_height=0)
                ahead = [parts.small(text) for text in ("Next ›", "Later »")]
        with gr.Column(scale=1, min_width=250):
            photograph = parts.photograph("Your image", height=132, elem_id="rs-object-own")
            home = parts.small("‹ Back to the images of the dataset", visible=False)
    steps = [(back[0], -PAGE, True), (back[1], -1, False), (ahead[0], 1, False), (ahead[1], PAGE, True)]
    return Strip(
        images=images, home=home, gallery=gallery, offset=offset, number=number, total=total, steps=steps,
        photograph=photograph,
    )  # fmt: skip


class Choosing:
    """What the menus and the images do."""

    def __init__(self, showing: Showing, photographs: Photographs, files: ShownFiles) -> None:
        self._showing = showing
        self._objects = showing.objects
        self._photographs = photographs
        self._files = files

    def begin(self, *given: Any) -> Updates:
        """Fill the menus, and show the first image where none is shown."""
        shown, dataset, model, other, _, k = given
        objects, start = self._objects, self._objects.start()
        dataset = dataset if shown else start["dataset"]
        chosen = [model, other] if shown else [*start["chosen"], ""][:2]
        models = offers.with_chosen(objects, offers.models(objects), chosen)
        listed = [
            gr.update(choices=offers.datasets(objects), value=dataset),
            gr.update(choices=models, value=chosen[0]),
            gr.update(choices=[(offers.NO_OTHER, ""), *models], value=chosen[1]),
        ]
        if shown:
            return [*listed, *[gr.skip()] * 17]
        values = [dataset, *chosen, start["fill"], k]
        taken = [start["taken"]] if start["taken"] else None
        image = self._showing.image(objects.images.get(start["first"]), values, taken)
        return [*listed, *image, *self.strip(dataset, start["first"]), offers.about(objects, dataset, start["fill"])]

    def settle(self, shown: str, *chosen: Any) -> Updates:
        """Show the first image of a dataset that was chosen, or say anew what the chosen models know of the image."""
        dataset, model, other, fill, _ = chosen
        about = offers.about(self._objects, dataset, fill)
        if shown and self._showing.state(shown).dataset == dataset:
            said = self._showing.warning(self._showing.shown(shown), [name for name in (model, other) if name])
            return [*[gr.skip()] * 3, *said, *[gr.skip()] * 11, about]
        ref = f"{self._objects.datasets.get(dataset).name}.0"
        return [*self._showing.image(self._objects.images.get(ref), chosen), *self.strip(dataset, ref), about]

    def open_image(self, ref: str, removed: list[str] | None, chosen: Any) -> Updates:
        """Show an image of a dataset, and the images around it; ``removed``: the classes, None: a suggested one."""
        image = self._objects.images.get(ref)
        return [*self._showing.image(image, chosen, removed), *self.strip(ref.rpartition(".")[0], ref), gr.skip()]

    def own(self, path: str | None, sender: Caller, chosen: Any) -> Updates:
        """Show an image of the visitor's own."""
        if not path:
            return [gr.skip()] * 17
        image = self._objects.images.add(self._photographs.data(path), visitor=sender.address)
        shown = self._showing.image(image, chosen)
        about = offers.about(self._objects, chosen[0], shown[-1]["value"])
        return [*shown, gr.update(selected_index=None), *[gr.skip()] * 3, about]

    def is_shown(self, ref: str, shown: str) -> bool:
        """Return whether an image is the one that is shown."""
        return self._showing.state(shown).ref == ref

    def strip(self, dataset: str, ref: str = "", offset: int | None = None) -> Updates:
        """Return the gallery around an image, or from an offset on."""
        total = len(self._objects.datasets.get(dataset).scenes)
        number = int(ref.rpartition(".")[2]) if ref else -1
        first = number // PAGE * PAGE if offset is None else max(0, min(offset, (total - 1) // PAGE * PAGE))
        images = [self._thumbnail(f"{dataset}.{each}") for each in range(first, min(first + PAGE, total))]
        marked = number - first if first <= number < first + PAGE else None
        place = gr.update(value=number + 1, maximum=total) if ref else gr.skip()
        return [gr.update(value=images, selected_index=marked), str(first), place, f"of {total:,}"]

    def about(self, dataset: str, fill: str) -> str:
        """Return what is said of the images and the fill."""
        return offers.about(self._objects, dataset, fill)

    def turned(self, by: int) -> Any:
        """Return what shows the images so many further on."""

        def turned(offset: str, dataset: str) -> Updates:
            return self.strip(dataset, offset=(int(offset) if offset.isdecimal() else 0) + by)

        return turned

    def moved(self, by: int) -> Any:
        """Return what shows the image so many further on."""

        def moved(number: float | None, *chosen: Any) -> Updates:
            total = len(self._objects.datasets.get(chosen[0]).scenes)
            at = min(max(int(number or 1) - 1 + by, 0), total - 1)
            return self.open_image(f"{chosen[0]}.{at}", None, chosen)

        return moved

    def _thumbnail(self, ref: str) -> tuple[str, None]:
        images = self._objects.images

        def made() -> bytes:
            try:
                return encoded(images.shown(images.get(ref), SIDE).pixels, "jpeg")
            except UserError:  # one that cannot be read hides no other
                return encoded(np.full((SIDE, SIDE, 3), 200, np.uint8), "jpeg")

        return self._files.path(f"{ref} {SIDE}", f"image {ref.rpartition('.')[2]}", "jpg", made), None

    def chose(self, name: str, dataset: str, sender: Caller) -> Updates:
        """Return the dataset of a model that was chosen, and the work that opens it; a run's brings its images."""
        wanted = self._objects.dataset_of(name) if name else None
        if wanted in (None, dataset):
            return [gr.skip(), gr.skip()]
        if wanted in [open_.name for open_ in self._objects.datasets.listed()]:
            return [wanted, gr.skip()]
        return [gr.skip(), self.open(name, "", sender)]

    def open(self, source: str | None, captions: str, sender: Caller) -> dict[str, str]:
        """Begin to open a dataset; returns its work."""
        if not (source or "").strip():
            raise gr.Error("Write the id of a dataset on Hugging Face or the path of a folder.", print_exception=False)
        job: Task = self._objects.open(Open.of({"source": source, "captions_from": captions or None}), sender)
        return {"job": job.id}

    def opened(self, event: gr.EventData) -> Updates:
        """Choose a dataset that was opened; returns the menu and what is said."""
        stopped = "The dataset was left before it was read; nothing was opened."
        about = parts.ended(self._objects.openings.get(str(event._data.get("job"))[:80]), stopped).wait()
        said = " ".join([f"{about['title']}: {about['images']:,} images.", *about["notes"]])
        return [gr.update(choices=offers.datasets(self._objects), value=about["name"]), literal(said, 1000)]

    def use(self, name: str, model: str) -> Updates:
        """Compare with a model by its name, listed or not; returns the menu of the models, and of the others."""
        models = offers.with_chosen(self._objects, offers.models(self._objects), [model, name])
        return [gr.update(choices=models), gr.update(choices=[(offers.NO_OTHER, ""), *models], value=name)]


def found(kind: str, before: str, event: gr.KeyUpData) -> Any:
    """Return what the Hub has of what is typed."""
    text = str(event.input_value or "").strip()
    if len(text) < _LEAST or text[:1] in "./~\\" or ":" in text:
        return gr.update(choices=[])
    try:
        hits = search(text[:100], kind)  # type: ignore[arg-type]
    except UserError:
        return gr.skip()
    return gr.update(choices=[(f"{hit.name} · {hit.words}", f"{before}{hit.name}") for hit in hits])


class Wiring:
    """Binds the events of the top.

    Args:
        ask: has the models asked after an event.
    """

    def __init__(
        self, choosing: Choosing, menus: Menus, strip: Strip, view: View, about: gr.Markdown, ask: Any
    ) -> None:
        self._choosing = choosing
        self._menus = menus
        self._strip = strip
        self._view = view
        self._about = about
        self.ask = ask
        self.new = [*view.image, menus.fill, *strip.filled, about]
        """What shows another image."""

    def settle(self, event: Any) -> None:
        """Have the view follow the menus after an event."""
        self.ask(event.success(self._choosing.settle, [self._view.shown, *self._menus.each], self.new, **QUIET))

    def show(self, event: Any, found: Any, inputs: list[Any]) -> None:
        """Show the image that an event names, then ask the models."""
        self.ask(event(found, [*inputs, *self._menus.each], self.new, **QUIET).success(fn=None, js=_TO_PAIR))

    def menus(self, work: Work) -> None:
        """Bind the menus."""
        choosing, menus = self._choosing, self._menus

        def chose(name: str, dataset: str, request: gr.Request) -> Updates:
            return choosing.chose(name, dataset, caller(request))

        self.settle(menus.dataset.input(lambda: None, **QUIET))
        for menu in (menus.model, menus.other):
            self.settle(menu.input(chose, [menu, menus.dataset], [menus.dataset, work], **QUIET))
        self.ask(menus.fill.input(choosing.about, [menus.dataset, menus.fill], self._about, **QUIET))

    def strip(self) -> None:
        """Bind the images."""
        choosing, strip, menus = self._choosing, self._strip, self._menus

        def pressed(offset: str, shown: str, event: gr.SelectData, *chosen: Any) -> Updates:
            """Open an image; Gradio tells of one that a button has opened and marked too."""
            ref = f"{chosen[0]}.{int(offset) + parts.place(event)[0]}"
            if shown and choosing.is_shown(ref, shown):
                return [gr.skip()] * len(self.new)
            return choosing.open_image(ref, None, chosen)

        def own(path: str | None, request: gr.Request, *chosen: Any) -> Updates:
            return choosing.own(path, caller(request), chosen)

        self.ask(strip.gallery.select(pressed, [strip.offset, self._view.shown, *menus.each], self.new, **NEWEST))
        self.ask(strip.photograph.input(own, [strip.photograph, *menus.each], self.new, **NEWEST))
        home = strip.home.click(lambda: None, None, strip.photograph, **QUIET)
        self.ask(home.then(choosing.moved(0), [strip.number, *menus.each], self.new, **QUIET))
        self.ask(strip.number.submit(choosing.moved(0), [strip.number, *menus.each], self.new, **NEWEST))
        for button, by, page in strip.steps:
            if page:
                button.click(choosing.turned(by), [strip.offset, menus.dataset], strip.filled, **QUIET)
            else:
                self.ask(button.click(choosing.moved(by), [strip.number, *menus.each], self.new, **QUIET))

    def more(self, more: More) -> None:
        """Bind what adds datasets and models."""
        choosing, menus = self._choosing, self._menus

        def open_(source: str, captions: str, request: gr.Request) -> dict[str, str]:
            return choosing.open(source, captions, caller(request))

        def added(name: str, model: str) -> Updates:
            return choosing.use(_named(name), model)

        more.open.click(open_, [more.source, more.captions], more.work, **QUIET)
        self.settle(more.work.ended(choosing.opened, None, [menus.dataset, more.said], **QUIET))
        self.settle(more.add.click(added, [more.name, menus.model], [menus.model, menus.other], **QUIET))
        for menu, kind, before in ((more.source, "datasets", ""), (more.name, "image_text", "hf-hub:")):
            menu.key_up(_searching(kind, before), None, menu, **NEWEST)

    def follow(self, follow: RunFollow, work: Work) -> None:
        """Have the models of a run used."""
        choosing, menus = self._choosing, self._menus

        def used(model: str, dataset: str, event: gr.EventData, request: gr.Request) -> Updates:
            name = str(event._data.get("name"))[:400]
            return [*choosing.use(name, model), *choosing.chose(name, dataset, caller(request))]

        changed = [menus.model, menus.other, menus.dataset, work]
        self.settle(follow.use(used, [menus.model, menus.dataset], changed, **QUIET))


def _searching(kind: str, before: str) -> Any:
    def searched(event: gr.KeyUpData) -> Any:
        return found(kind, before, event)

    return searched


def _named(name: str | None) -> str:
    text = (name or "").strip()
    if not text:
        raise gr.Error("Write the name of a model first.", print_exception=False)
    return text if text.startswith("open_clip:") else f"open_clip:{text}"
