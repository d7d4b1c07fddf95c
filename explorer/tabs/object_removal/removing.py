"""The middle of the tab: the image and what is taken out of it, the image without it, and the nearest captions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.components.before_after import BeforeAfter
from explorer.components.captions import Captions
from explorer.components.menu import Menu
from explorer.components.object_picker import ObjectPicker
from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.server.plain import parse
from explorer.tabs.object_removal import offers
from explorer.tabs.object_removal.bodies import Detect, Encode, NameBox
from explorer.tabs.object_removal.images import about
from explorer.tabs.object_removal.view import NEWEST, Menus, Showing, Updates, View

ASKED_AT_ONCE = 4
_WRITE = "What is it? Write it below the image, then press Enter."
TO_MISSING = """(model) => {
  const fold = document.querySelector("#rs-object-missing button");
  if (model || !fold) return [];
  if (!fold.classList.contains("open")) fold.click();
  fold.scrollIntoView({ block: "center" });
  return [];
}"""
"""Where there is no model that knows photographs: shows how one is installed."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What finds the objects of an own image, and what takes captions of one's own."""

    detector: Menu
    find: gr.Button
    use: gr.Button


def view() -> tuple[View, Finding]:
    """Add the view."""
    shown, target, region = (gr.Textbox(visible=False) for _ in range(3))
    with gr.Row(equal_height=True, elem_classes="rs-object-warning"):
        warning = parts.text(visible=False, elem_id="rs-object-warning")
        real = gr.Button("Use a model that knows photographs", size="md", scale=0, min_width=220, visible=False)
    with gr.Row(equal_height=False, elem_id="rs-object-pair"):
        with gr.Column(min_width=300):
            picker = ObjectPicker(elem_id="rs-object-picker")
            with gr.Row(visible=False, elem_classes="rs-bottoms") as naming:
                what = Menu(label="What is drawn", allow_custom_value=True, choices=[], elem_id="rs-object-what")
            with gr.Row(visible=False, elem_classes="rs-bottoms") as finding:
                detector = Menu(label="Detector", filterable=False)
                find = gr.Button("Find objects", size="md", scale=0, min_width=130)
        with gr.Column(min_width=300):
            pair = BeforeAfter(elem_id="rs-object-without")
    with gr.Row(visible=False, equal_height=False, elem_classes="rs-bottoms") as own:
        lines = gr.Textbox(
            label="Captions of your own, one a line: some with it, some without", lines=3, max_lines=8,
            placeholder="a dog on a beach\nan empty beach", max_length=20_000, elem_id="rs-object-lines",
        )  # fmt: skip
        use = gr.Button("Use these captions", size="md", scale=0, min_width=170)
    captions = Captions(elem_id="rs-object-captions")
    made = View(
        shown=shown, target=target, region=region, warning=warning, real=real, picker=picker, naming=naming, what=what,
        finding=finding, own=own, lines=lines, pair=pair, captions=captions,
    )  # fmt: skip
    return made, Finding(detector=detector, find=find, use=use)


class Removing:
    """What presses and drawings do."""

    def __init__(self, showing: Showing) -> None:
        self._showing = showing
        self._objects = showing.objects

    def pressed(self, event: gr.EventData) -> str:
        """Return what is removed: an object that was pressed."""
        return json.dumps({"classes": event._data.get("classes")})

    def drawn(self, shown: str, what: str | None, model: str, other: str, event: gr.EventData) -> Updates:
        """Return what is removed, a region with its name, what was drawn, the names to choose from, and what is said
        where there is none.

        A region without a name gets one from a model that knows such images, unless it stays: that is named by hand.
        """
        data = event._data
        region = {name: data[name] for name in ("boxes", "strokes", "stays") if data.get(name)}
        image = self._showing.shown(shown)
        if data.get("stays"):
            return [gr.skip(), json.dumps(region), gr.update(value=None), gr.skip()]
        if what:
            return [_target(region, what), json.dumps(region), gr.skip(), gr.skip()]
        namer = offers.namer(self._objects, image, [name for name in (model, other) if name])
        if namer is None or not data.get("around"):
            return ["", json.dumps(region), gr.skip(), {"image": about(image), "prompt": _WRITE}]
        asked = NameBox.of({"image": image.ref, "box": data["around"], "model": namer})
        names = [each["class"] for each in self._objects.detection.name(asked)["names"]]
        return [_target(region, names[0]), json.dumps(region), gr.update(choices=names, value=names[0]), gr.skip()]

    def named(self, shown: str, target: str, what: str | None, region: str) -> Updates:
        """Return what is shown and removed, what was drawn, its name, and the picker, once what was drawn has a name.

        What stays is an object of the image from now on, and so is what was removed, if boxes were drawn over it.
        """
        drawn = parse(region.encode()) if what and region else {}
        if not drawn.pop("stays", None):
            return [gr.skip(), _target(drawn, what or ""), gr.skip(), gr.skip(), gr.skip()]
        removed = parse(target.encode()) if target else {}
        known = [*(parse(shown.encode()).get("objects") or []), {"class": what, "boxes": drawn["boxes"]}]
        if removed.get("boxes"):
            known.insert(0, {"class": removed["class"], "boxes": removed["boxes"]})
            removed = {"classes": [removed["class"]]}
        state = {**parse(shown.encode()), "objects": known}
        image = self._showing.shown(json.dumps(state))
        gone = removed.get("classes") or [removed.get("class", "")]
        picker = {"image": about(image), "removed": gone}
        return [json.dumps(state), json.dumps(removed) if removed else "", "", gr.update(value=None), picker]

    def find(self, shown: str, detector: str, *chosen: Any) -> Updates:
        """Find the objects of an own image, and show it with them."""
        image = self._showing.shown(shown)
        reply = self._objects.detection.detect(Detect.of({"image": image.ref, "detector": detector}))
        if not reply["objects"]:
            raise gr.Error(" ".join(reply["notes"]), print_exception=False)
        found = [{"class": one["class"], "boxes": one["boxes"]} for one in reply["objects"]]
        marked = self._showing.state(json.dumps({"ref": image.ref, "objects": found}))
        image = self._objects.images.asked(image.ref, marked.objects or ())
        return self._showing.image(image, chosen, None, found)

    def beside(self, shown: str) -> Updates:
        """Return the detectors that are installed and the place of captions, for whoever shows an own image; then
        whether the images of the dataset, what is measured over them and what is trained on them are shown.
        """
        own = bool(shown) and self._showing.shown(shown).upload is not None
        there = [gr.update(visible=own), gr.update(visible=own), *[gr.update(visible=not own)] * 3]
        if not own:
            return [gr.skip(), gr.skip(), *there]
        ready = [(one["title"], one["name"]) for one in self._objects.detection.listed() if not one["missing"]]
        menu = gr.update(choices=ready, value=ready[0][1] if ready else None)
        return [gr.update(visible=bool(ready)), menu, *there]

    def real(self, shown: str, model: str, other: str) -> Updates:
        """Return the menus with a model that knows photographs as the first one, and its name; empty: there is none."""
        names = [name for name in (model, other) if name]
        known = offers.better_model(self._objects, self._showing.shown(shown), names)
        if known is None:
            return [gr.skip(), gr.skip(), ""]
        stranger = [one for one in offers.known_models(self._objects, [other]) if not one.natural_images]
        return [known.name, "" if stranger or other == known.name else gr.skip(), known.name]

    def read(self, shown: str, dataset: str, model: str, other: str) -> None:
        """Have the captions encoded that the next question needs."""
        names = [name for name in (model, other) if name]
        self._objects.encode(Encode.of({"dataset": dataset, "models": names}))


def wire(removing: Removing, showing: Showing, menus: Menus, view: View, finding: Finding) -> Any:
    """Bind the events; returns what has the models asked after an event."""
    asking: dict[str, Any] = {
        "fn": showing.newest,
        "inputs": [view.shown, view.target, *menus.each, view.lines],
        "outputs": view.answer,
        "concurrency_limit": ASKED_AT_ONCE,
        **NEWEST,
    }

    def ask(event: Any) -> Any:
        return event.success(**asking)

    pair = [menus.model, menus.other]
    ask(view.picker.remove(removing.pressed, None, view.target, **NEWEST))
    told = [view.target, view.region, view.what, view.pair]
    ask(view.picker.draw(removing.drawn, [view.shown, view.what, *pair], told, **NEWEST))
    view.picker.tool(_naming, None, view.naming, **NEWEST)
    said = [view.shown, view.target, view.what, view.region]
    ask(view.what.input(removing.named, said, [*said[:2], view.region, view.what, view.picker], **NEWEST))
    ask(finding.use.click(lambda: None, **QUIET))
    found = [*view.image, menus.fill]
    ask(finding.find.click(removing.find, [view.shown, finding.detector, *menus.each], found, **QUIET))
    view.captions.again(**asking)
    view.captions.read(removing.read, [view.shown, menus.dataset, *pair], None, **QUIET)
    menus.k.change(**asking)
    return ask


def _naming(event: gr.EventData) -> Any:
    """Show where a name is written while something is drawn."""
    return gr.update(visible=event._data.get("name") != "objects")


def _target(region: dict[str, Any], what: str) -> str:
    return json.dumps({"class": what, **region}) if region else ""


def missing() -> gr.Markdown:
    """Add the fold that says what could be installed."""
    with parts.fold("What else can be installed", elem_id="rs-object-missing"):
        return parts.text()
