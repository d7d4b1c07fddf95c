"""What the form asks of the server: looks, counts, starts, and the settings of runs.

What is wrong with what a visitor chose is an answer, ``problem``, and no failed request.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import MaxLen, MinLen
from pydantic import Field

from explorer.page.form.fields import Json, as_json
from explorer.page.form.form import Form, registry_json
from explorer.page.form.images import looked_at
from explorer.page.form.kind_page import KindPage
from explorer.page.form.plans import axes_of, plan_values, planned, plans_json
from explorer.page.kinds import PAGES
from explorer.server.body import REQUIRED, Body, Optional, Text, list_of, needs, whole
from explorer.server.drops import Drops
from explorer.server.originals import OriginalImages
from explorer.server.runs import Runs
from explorer.server.tasks import Task, Tasks
from explorer.server.titles import waiting, work
from explorer.server.turns import Turns
from explorer.server.visitors import Caller
from trainers.comparison.words import seeds_in_words
from trainers.config import Config, DataChoice
from trainers.data import access
from trainers.data.hub_search import TAGS, search
from trainers.data.labelled.report import SHOWN
from trainers.data.reachable import reachable
from trainers.encoders import ENCODERS
from trainers.errors import RunError, UserError
from trainers.kinds import KINDS, kind_of
from trainers.parameters import entry
from trainers.plans.config import sweep_of
from trainers.runs.damage import reading

if TYPE_CHECKING:
    from trainers.image_text.class_groups import NameEncoder

_SHORTER = "The time is {:g} minutes, the longest that this page allows; the limit on steps is that of the run."


_ByName = Annotated[dict[str, Any], needs("values by name")]
_Row = Annotated[list[str], MinLen(2), MaxLen(2)]


MOST_MAPS = 4
MANY_RUNS, MANY_MINUTES, MANY_STEPS = 12, 60, 5_000
"""What is more is asked about before it begins."""


class Described(Body):
    """What the form holds: the kind, the values of its fields, and the plan with its own."""

    kind: Optional = ""
    settings: _ByName = Field(default_factory=dict)
    plan: Optional = ""
    own: _ByName = Field(default_factory=dict)
    vary: Annotated[list[_Row], needs("pairs of what is varied and its values")] = Field(default_factory=list)
    sure: bool = False


class Original(Described):
    """An image of those that a look showed, by the name of its file."""

    name: Text = REQUIRED


class Searched(Body):
    """What somebody types: the words, and the kind, see :data:`trainers.data.hub_search.TAGS`."""

    text: Text = REQUIRED
    kind: Optional = ""


class Grouped(Body):
    """The classes to group, and into how many groups, or into groups of which names.

    ``groups`` has that of each class where groups are to be grouped.
    """

    classes: Annotated[list[Text], list_of(SHOWN, "names of classes")] = REQUIRED
    count: Annotated[int, whole(2, SHOWN)] = 2
    into: Annotated[list[Text], needs("names of groups")] = Field(default_factory=list)
    groups: Annotated[list[int], needs("a group of each class")] = Field(default_factory=list)
    by: Text = "meaning"
    seed: Annotated[int, whole(0, 2**31 - 1)] = 0


class FormService:
    """Everything that the form asks."""

    def __init__(self, runs: Runs, drops: Drops, turns: Turns | None = None) -> None:
        self._runs = runs
        self.drops = drops
        self._maps = Tasks(noun="maps of images", most=MOST_MAPS, each=MOST_MAPS)
        self._originals = OriginalImages(turns or Turns(), public=runs.public)
        reachable()  # asked for now, so that the first form knows

    @cached_property
    def _forms(self) -> dict[str, Form]:
        """Those of the sidebar, by kind."""
        pages = {name: PAGES.get(name) or KindPage(name=name) for name in KINDS}
        public = self._runs.public
        return {name: Form(kind=KINDS[name], page=page, public=public) for name, page in pages.items() if page.sidebar}

    @cached_property
    def _name_encoder(self) -> NameEncoder:
        """What embeds the names of classes for all visitors."""
        from trainers.image_text.class_groups import NameEncoder

        return NameEncoder()

    def start(self) -> Json:
        """Describe all forms."""
        registries = sorted({path for form in self._forms.values() for path in form.registries()})
        most = self._runs.most_runs
        return {
            "kinds": [{**form.json(), "plans": plans_json(form, most)} for form in self._forms.values()],
            "registries": {path: registry_json(path) for path in registries},
            "sources": registry_json("trainers.data:SOURCES"),
            "folders": access.opens_folders(),
            "dropped": self.drops.json(),
            "maps": not self._runs.public,
        }

    def look(self, asked: Described) -> Json:
        """Describe the images that are chosen."""
        form, choice = self._form(asked), self._images(asked)
        begins, why = form.kind.begins_with(choice)
        settings = {name: as_json(form.known[name], value) for name, value in begins.items()}
        return {**looked_at(choice), "begins": settings, "why": why}

    def original(self, asked: Original, caller: Caller) -> Json:
        """Show the file of one of the images that were looked at; the visitor has named their dataset."""
        return self._originals.shown(self._images(asked), asked.name, caller.address, mine=True)

    def search(self, asked: Searched) -> Json:
        """Search the Hub for datasets with images, models of timm, or image-text models of open_clip."""
        kind: Any = asked.kind if asked.kind in TAGS else "datasets"
        try:
            hits = search(asked.text, kind)
        except UserError as error:
            return {"hits": [], "problem": str(error)}
        return {"hits": [{"name": hit.name, "words": hit.words} for hit in hits]}

    def groups(self, asked: Grouped) -> Json:
        """Propose superclasses: groups of classes with similar names, or of groups.

        Returns:
            ``of``, the group of each, and ``named_after``, which of them each group is named after; of groups whose
            names are given ``of`` alone.
        """
        from trainers.image_text.class_groups import class_groups, nearest_groups

        how: dict[str, Any] = {"of": asked.groups or None, "by": asked.by, "encoder": self._name_encoder}
        try:
            if asked.into:
                return {"of": nearest_groups(asked.classes, asked.into, **how).tolist()}
            made = class_groups(asked.classes, asked.count, seed=asked.seed, **how)
        except UserError as error:
            return {"problem": str(error)}
        return {"of": made.of.tolist(), "named_after": made.named_after.tolist()}

    def views(self, asked: Described) -> Json:
        """Show augmented views of the images that are chosen."""
        form = self._form(asked)
        wanted = {
            name: value for name, value in asked.settings.items() if name.startswith("data.") or name == "augmentation"
        }
        try:
            if form.page.views is None:
                raise UserError(f"Runs of the kind {form.kind.title} have no views to show.")
            return dict(form.page.views(form.config(wanted)))
        except UserError as error:
            return {"problem": str(error)}

    def count(self, asked: Described) -> Json:
        """Say how many runs a plan has and how long they take, or what is wrong; and what can be varied.

        Of a single run say what is too large for this page; the rest of what is wrong is said when it is to be trained.
        """
        form = self._form(asked)
        axes = axes_of(form, asked.settings)
        try:
            made = planned(form, asked.settings, asked.plan, asked.own, asked.vary)
        except (UserError, OSError) as error:
            return {"axes": axes, **({"problem": str(error)} if asked.plan else {})}
        try:
            self._runs.check(made)
        except (UserError, OSError) as error:
            return {"axes": axes, "problem": str(error)}
        return {"axes": axes, "said": self._work(made) if asked.plan else ""}

    def _work(self, made: Config) -> str:
        steps = made.single.steps
        said = work(*self._runs.work(made), at_most=steps is not None)
        ends = f" Each ends after {steps:,} steps." if steps else ""
        return f"{said}{ends} Trained with {seeds_in_words(sweep_of(made).seeds)}."

    def _large(self, config: Config) -> str:
        """Say how much there is to train where a person would want to know before it begins; empty: it is little, or
        what may be started on a public page is bounded.
        """
        if self._runs.public:
            return ""
        count, minutes = self._runs.work(config)
        run = config.single
        endless = minutes is None and (run.steps is None or count * run.steps > MANY_STEPS)
        if count <= MANY_RUNS and not endless and (minutes or 0) <= MANY_MINUTES:
            return ""
        return f"{work(count, minutes, at_most=run.steps is not None)} Press the button again to begin."

    def train(self, asked: Described, token: str, caller: Caller) -> Json:
        """Queue what the form describes; what is large is asked about before, in ``asks``."""
        form = self._form(asked)
        try:
            config = planned(form, asked.settings, asked.plan, asked.own, asked.vary)
            if not asked.sure and (large := self._large(config)):
                return {"asks": large}
            started = self._runs.start(config, token, caller)
        except (UserError, OSError) as error:
            return {"problem": str(error)}
        said = [*kind_of(config).advice(config), self._runs.lost]
        waits = waiting(self._runs.wait(started))
        return {"id": started, "waits": waits, "said": [line for line in said if line]}

    def map(self, asked: Described, caller: Caller) -> Json:
        """Show the chosen images as a map of published features; the features are read in the background."""
        if self._runs.public:
            raise RunError("Maps of images alone are not made on a public page.")
        from trainers.brought.image_folder import open_images  # it imports encoders

        folder, finish = open_images(self._runs.place, self._images(asked).source)
        self._maps.add(Task(work=lambda _tell: finish(), caller=caller))
        return {"id": folder.id}

    def of_run(self, run_id: str) -> Json:
        """Return what the form shows of a run's settings, within what may be started here."""
        folder = self._runs.find(run_id)
        config = folder.config.changed(processes=folder.processes)
        form = self._forms.get(config.single.kind)
        if form is None:
            title = KINDS[config.single.kind].title
            raise RunError(f"Runs of the kind {title} are not started here. Choose a run of another kind.")
        within = self._runs.affordable(config)
        said = "" if within == config else _SHORTER.format(within.single.minutes)
        return {"kind": form.kind.name, "settings": form.values(within.single), **plan_values(within), "said": said}

    def starters(self, kind: str) -> Json:
        """List the arms of finished runs whose encoders a run of a kind can start from, with encoder and images."""
        form = self._form(Described(kind=kind))
        allowed = form.page.entries.get("encoder", tuple(ENCODERS))
        made: list[Json] = []
        for folder in self._runs.trained_here():
            try:
                with reading(folder.id):
                    config = folder.config
                    run, trained = config.single, folder.has_checkpoint or kind_of(config).plans
                    if run.encoder_prefix and trained and run.encoder.name in allowed:  # type: ignore[attr-defined]
                        made += _arms(form, folder.id, config)
            except UserError:
                continue  # a damaged run stops no other
        return {"runs": made}

    def _images(self, asked: Described) -> DataChoice:
        data = {name: value for name, value in asked.settings.items() if name.startswith("data.")}
        choice: DataChoice = self._form(asked).part(data).data  # type: ignore[attr-defined]
        return choice

    def _form(self, asked: Described) -> Form:
        return entry(self._forms, asked.kind, "kind of run")


def _arms(form: Form, run_id: str, config: Config) -> list[Json]:
    kind, run = kind_of(config), config.single
    given = {name: getattr(run, name) for name in ("encoder", "data") if hasattr(run, name)}
    values = form.values(form.kind.config(**given))
    sets = {name: value for name, value in values.items() if name.partition(".")[0] in given}
    on = f"on {kind.data_title(config)}" + (", its run of the same seed" if kind.plans else "")
    return [
        {"value": f"{run_id}:{arm}" if arm else run_id, "title": f"{view.title} {on}", "sets": sets}
        for arm, view in enumerate(kind.arms(config))
    ]
