"""What the menus of the tab offer, and what is said beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from explorer.page.words import literal
from explorer.tabs.object_removal.bodies import FILL
from explorer.tabs.object_removal.images import InputImage
from explorer.tabs.object_removal.models import STRANGER, Known
from explorer.tabs.object_removal.removal import BY_AREA
from explorer.tabs.object_removal.service import Objects
from trainers.errors import UserError
from trainers.object_removal.fills import FILLS, LARGE

Choices = list[tuple[str, str]]
NO_OTHER = "one model only"
_CONSE, _CLIP = "conse", "clip_vit_b32"
_FOR_PHOTOGRAPHS = ("lama", BY_AREA, FILL)
"""Fills for photographs, the best first."""
_BY_AREA = f"Telea; above {LARGE:.0%} of the image the shift map, which covers it with pieces of the rest."


def datasets(objects: Objects) -> Choices:
    """Return the datasets that are open."""
    return [(dataset.data.title, dataset.name) for dataset in objects.datasets.listed()]


def models(objects: Objects) -> Choices:
    """Return the models that can be asked."""
    return [(known.title, known.name) for known in objects.models.listed() if known.missing is None and known.trained]


def with_chosen(objects: Objects, choices: Choices, names: Sequence[str]) -> Choices:
    """Return the choices with models that are named and not among them, as the page adds them."""
    known = {name for _, name in choices}
    more = known_models(objects, [name for name in names if name and name not in known])
    return [*choices, *((model.title, model.name) for model in more)]


def fills(image: InputImage) -> Choices:
    """Return the fills that can be had for an image."""
    ready = (fill for fill in FILLS.values() if fill.lacking() is None)
    fitting = [(fill.title, fill.name) for fill in ready if fill.unfit(image.scene) is None]
    return [*([("By area", BY_AREA)] if image.source == "upload" else []), *fitting]


def fill_for(image: InputImage, wanted: str) -> str:
    """Return the fill that is wanted where it can be had; for photographs the best that is installed."""
    offered = [name for _, name in fills(image)]
    if wanted in offered and not (wanted == FILL and image.source != "drawn"):
        return wanted
    best = _FOR_PHOTOGRAPHS if image.source != "drawn" else (FILL,)
    return next((name for name in (*best, *offered) if name in offered), FILL)


def about(objects: Objects, dataset: str, fill: str) -> str:
    """Return what is said of the images and the fill."""
    sentences = [objects.datasets.get(dataset).about()["note"]]
    if fill in FILLS or fill == BY_AREA:
        sentences.append(_BY_AREA if fill == BY_AREA else FILLS[fill].sentence)
    said = " ".join(sentence if sentence.endswith((".", "!", "?")) else f"{sentence}." for sentence in sentences)
    return literal(said, 1000)


def known_models(objects: Objects, names: Sequence[str]) -> list[Known]:
    """Return what is known of models; those that are gone are left out."""
    found = []
    for name in dict.fromkeys(names):
        try:
            found.append(objects.models.known(name))
        except UserError:
            continue
    return found


def namer(objects: Objects, image: InputImage, names: Sequence[str]) -> str | None:
    """Return the model that may say what was drawn; a photograph is never named by one that knows drawn scenes only."""
    suited = (known.name for known in known_models(objects, names) if image.source == "drawn" or known.natural_images)
    return next(suited, None)


def strangers(objects: Objects, image: InputImage, names: Sequence[str]) -> list[Known]:
    """Return the models that are asked about a photograph and know none."""
    if image.source == "drawn":
        return []
    return [known for known in known_models(objects, names) if not known.natural_images]


def real_model(objects: Objects) -> Known | None:
    """Return a model that knows photographs and can be asked here; one that has to be fetched first comes last."""
    listed = objects.models.listed()
    able = [known for known in listed if known.natural_images and known.trained and known.missing is None]
    return min(able, key=lambda known: known.fetched is not None, default=None)


def better_model(objects: Objects, image: InputImage, names: Sequence[str]) -> Known | None:
    """Return the model of photographs to go over to: from models that know none, the best that can be asked; from the
    untrained ConSE, CLIP; None: those asked are good, or there is none.
    """
    if strangers(objects, image, names):
        return real_model(objects)
    clip = _listed(objects, _CLIP)
    return clip if clip is not None and clip.missing is None and _only_conse(image, names) else None


def _only_conse(image: InputImage, names: Sequence[str]) -> bool:
    return image.source != "drawn" and set(names) == {_CONSE}


def _listed(objects: Objects, name: str) -> Known | None:
    return next((known for known in objects.models.listed() if known.name == name), None)


def warning(objects: Objects, image: InputImage, names: Sequence[str]) -> str:
    """Return what is to be said above a photograph that is shown to models that know none; empty: nothing."""
    unfit = strangers(objects, image, names)
    if not unfit:
        return _more_than_conse(_listed(objects, _CLIP)) if _only_conse(image, names) else ""
    said = STRANGER if len(unfit) == 1 else "These small models know the drawn scenes only, not photographs."
    if real_model(objects) is not None:
        return f"{said} What they answer about this image means nothing; ask a model that was trained on photographs."
    ways = [known for known in (_listed(objects, _CONSE), _listed(objects, _CLIP)) if known is not None]
    brought = " ".join(f"{known.title}: {known.missing}" for known in ways)
    return f"{said} No model that was trained on photographs is installed here. {brought}".strip()


def _more_than_conse(clip: Known | None) -> str:
    said = "ConSE sees nothing but the 1,000 classes of ImageNet."
    if clip is None:
        return said
    if clip.missing is not None:
        return f"{said} {clip.title} knows far more. {clip.missing}"
    if clip.fetched is None:
        return f"{said} {clip.title} is here and knows far more."
    return f"{said} {clip.title} knows far more: a press fetches it ({clip.fetched.facts}), or {clip.fetched.command}"


def missing(objects: Objects, detectors: Sequence[dict[str, Any]] = ()) -> list[tuple[str, str]]:
    """Return title and sentence of everything that could be installed, and of models that are not trained yet."""
    listed = objects.models.listed()
    lacking = [(known.title, f"is missing: {known.missing}") for known in listed if known.missing is not None]
    lacking += [(fill.title, f"is missing: {fill.lacking()}") for fill in FILLS.values() if fill.lacking() is not None]
    lacking += [(each["title"], f"is missing: {each['missing']}") for each in detectors if each["missing"]]
    raw = (known for known in listed if known.missing is None and not known.trained)
    words = "is not trained yet: train it below, on originals alone, and use it then."
    return lacking + [(known.title, words) for known in raw]
