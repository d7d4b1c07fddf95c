"""The Compare tab: the runs of a sweep, what they say together, and how they train."""

from __future__ import annotations

from typing import Any

import gradio as gr
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.components.open_plan import OpenPlan
from explorer.components.work import Work
from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.tab import Tab, opened_tab
from explorer.server.http import attachment, json_reply, unless_known
from explorer.server.routes import TOKEN_HEADER, about_run, reads
from explorer.server.run import Run
from explorer.server.visitors import caller
from explorer.tabs.compare import curves
from explorer.tabs.compare.reports import PlanReports
from explorer.tabs.compare.shown import Asked, Shown, asked_of
from explorer.tabs.compare.view import Head, Members, Pictures, Table, Updates, Verdicts
from trainers.comparison.markup import markdown_text
from trainers.errors import UserError

_NONE = """No comparison yet. A sweep trains the same losses, methods or recipes over several seeds, so that a
difference can be told from chance."""
_OTHERWISE = """One run in Live may say otherwise: it is one of these seeds. So may Claims, where the settings of each
side were searched first."""
_HUB = """Numbers that somebody has pushed with Push to the Hub. Tables and verdicts are computed here; nothing is
trained."""
_SWEEP = "(id) => { window.rankscopeSweep?.(id ?? ''); return []; }"
_OPEN = "(id) => { if (id) window.rankscope?.show(id); return []; }"
_AGAIN = "() => String(performance.now())"
_SHOW = "(id) => { window.rankscopeWanted = id; return String(performance.now()); }"
_ASKED = """async (plan, ...given) => {
  const wanted = window.rankscopeWanted;
  window.rankscopeWanted = null;
  return [wanted || plan, ...await rankscopeAsMe(given)];
}"""
_TABLE = "(part, metrics) => window.rankscopePlan.save('table.tex', { part: part ?? '', metrics })"
_CURVES = "(part, under, key) => window.rankscopePlan.save('curves.csv', { part: part ?? '', under: under ?? '', key })"
_HIDDEN = gr.update(visible=False)


def build(reports: PlanReports) -> None:
    """Lay out the plan that is open, and show another when one is asked for, or this one as it goes on."""
    looked, plan, token = (gr.Textbox(visible=False) for _ in range(3))
    seen = OpenPlan()
    said = parts.sentence(elem_id="rs-compare-said")
    opening = parts.sentence("Opening the comparison …")
    with gr.Column(visible=False) as vacant:
        parts.text(_NONE)
        parts.small("Make a sweep", variant="primary").click(fn=None, js=_SWEEP)
    with gr.Column(visible=False, elem_id="rs-compare") as whole:
        head = Head(plan)
    with gr.Column(visible=False, elem_id="rs-compared") as compared:
        verdicts, table, pictures, members = Verdicts(), Table(), Pictures(), Members()
        parts.sentence(_OTHERWISE)
    _hub(reports, seen, looked)
    menus = [verdicts.part, verdicts.metric, verdicts.under, table.metrics, pictures.axis, pictures.at, pictures.curve]

    def look(request: gr.Request, plan_id: str, *given: Any) -> Updates:
        """Show a plan; where none is asked for, or it is gone, the first one."""
        *chosen, token = given
        plans, lost = reports.list(), {}
        first = reports.first(plans)
        try:
            opened = reports.find(plan_id or first)
        except UserError as error:
            if not plans:
                return {
                    vacant: gr.update(visible=True),
                    seen: None,
                    **dict.fromkeys([opening, whole, compared], _HIDDEN),
                }
            opened, lost = reports.find(first), {said: markdown_text(str(error))}
        about, shown = reports.about(opened, token, caller(request)), Shown(reports.report(opened), asked_of(chosen))
        told = reports.curves.metrics_of(opened.folder, shown)
        key = str(chosen[-1]) if chosen[-1] in told else next(iter(told), "")
        return {
            plan: opened.id,
            seen: {"id": opened.id, "hub": about["hub"]},
            **dict.fromkeys([opening, vacant], _HIDDEN),
            **dict.fromkeys([whole, compared], gr.update(visible=True)),
            **head.fill(about, plans, reports.runs.public),
            **verdicts.fill(shown, about["state"]["moving"]),
            **table.fill(shown),
            **pictures.fill(shown, told, key, reports.curves.of(opened.folder, shown, key)),
            **members.fill(shown),
            **lost,
        }

    def press(event: gr.SelectData, plan: str, *chosen: Any) -> Updates:
        """Show the runs behind a number."""
        return table.press(Shown(reports.report(reports.find(plan)), asked_of(chosen)), *parts.place(event))

    gr.on(
        [looked.change, *(menu.input for menu in menus)],
        look,
        [plan, *menus, token],
        [plan, seen, said, opening, vacant, whole, compared, *_components(head, verdicts, table, pictures, members)],
        js=_ASKED,
        trigger_mode="always_last",
        **QUIET,
    )
    opened_tab().select(fn=None, js=_AGAIN, outputs=looked)
    seen.moved(fn=None, js=_AGAIN, outputs=looked)
    head.menu.input(fn=None, js=_SHOW, inputs=head.menu, outputs=looked)
    table.rows.select(press, [plan, *menus], [table.cell, table.number, table.seeds, table.ids], **QUIET)
    table.close.click(lambda: _HIDDEN, None, table.cell, **QUIET)
    table.latex.click(fn=None, inputs=[verdicts.part, table.metrics], js=_TABLE)
    pictures.csv.click(fn=None, inputs=[verdicts.part, verdicts.under, pictures.curve], js=_CURVES)
    for listed, ids in ((table.seeds, table.ids), (members.runs, members.ids)):
        run = gr.Textbox(visible=False)
        listed.select(parts.at, ids, run, **QUIET).then(fn=None, inputs=run, js=_OPEN)
    _acts(reports, head, [plan, token], said, seen)


def _components(*sections: object) -> list[Any]:
    found = [one for section in sections for one in vars(section).values()]
    return [each for one in found for each in (one.outputs if isinstance(one, parts.Question) else [one])]


def _acts(reports: PlanReports, head: Head, mine: list[gr.Textbox], said: gr.Markdown, seen: OpenPlan) -> None:
    """Let the buttons of the plan do what they say; ``mine``: its id, and the visitor's token."""

    def seed(count: float | None, plan: str, token: str, request: gr.Request) -> str:
        return markdown_text(reports.runs.add_seeds(plan, token, int(count or 0), caller(request)))

    def delete(plan: str, token: str, request: gr.Request) -> list[Any]:
        return [markdown_text(reports.runs.delete(plan, token, caller(request))), "", None]

    asked: dict[str, Any] = {"js": parts.AS_ME, **QUIET}
    doing = [
        head.add.click(seed, [head.count, *mine], said, **asked),
        head.delete.sure.click(delete, mine, [said, mine[0], seen], **asked),
    ]
    for done in doing:
        done.success(fn=None, js=parts.CHANGED)
    head.again.click(fn=None, inputs=mine[0], js=_SWEEP)


def _hub(reports: PlanReports, seen: OpenPlan, looked: gr.Textbox) -> None:
    """Add a way to open a comparison of the Hub; the job stands outside the fold, which may be closed."""
    with parts.fold("Open from the Hub"):
        parts.sentence(_HUB)
        with gr.Row(equal_height=False, elem_classes="rs-bottoms"):
            name = gr.Textbox(label="Comparison on the Hub", placeholder="owner/name", max_lines=1, max_length=200)
            opening = parts.small("Open")
    work, opened = Work("hub/job"), gr.Textbox(visible=False)
    said = parts.sentence(elem_id="rs-hub-said")

    def begin(name: str, request: gr.Request) -> tuple[Any, str]:
        return {"job": reports.hub.open(name.strip(), caller(request))}, ""

    def wanted(event: gr.EventData, request: gr.Request) -> tuple[Any, str]:
        """Open the comparison that the address of the page names."""
        asked = event._data if isinstance(event._data, dict) else {}
        return begin(str(asked.get("name") or "")[:200], request)

    def ended(job: str) -> tuple[Any, str]:
        try:
            return parts.ended(reports.hub.jobs.get(job)).wait()["id"], ""
        except UserError as error:
            return "", markdown_text(str(error))

    gr.on([name.submit, opening.click], begin, name, [work, said], **QUIET)
    seen.hub(wanted, None, [work, said], **QUIET)
    work.ended(ended, work, [opened, said], **QUIET).success(fn=None, js=_SHOW, inputs=opened, outputs=looked)


def routes(reports: PlanReports) -> list[Route]:
    """Return the addresses of what is polled of a plan, and of its tables."""

    def plan(run: Run, request: Request) -> Response:
        about = reports.about(run, request.headers.get(TOKEN_HEADER) or None, caller(request))
        return unless_known(request, about["revision"], json_reply(about), varies=f"{TOKEN_HEADER}, cookie")

    def table(run: Run, request: Request) -> Response:
        asked = request.query_params
        text = reports.latex(run, asked.get("part", ""), asked.get("metrics", "").split(",")[:200])
        return attachment(text, f"rankscope-{run.id}-table.tex")

    def trained(run: Run, request: Request) -> Response:
        asked = request.query_params
        shown = Shown(reports.report(run), Asked(part=asked.get("part", ""), under=asked.get("under", "")))
        key = asked.get("key", "")[:200]
        text = curves.csv(reports.curves.of(run.folder, shown, key), key)
        return attachment(text, f"rankscope-{run.id}-curves.csv")

    answers = {"/plan/{id}": plan, "/plan/{id}/table.tex": table, "/plan/{id}/curves.csv": trained}
    return reads({path: about_run(reports.library, answer) for path, answer in answers.items()})


DESCRIPTOR = Tab(
    name="compare",
    title="Compare",
    order=5,
    service=lambda shared: PlanReports(shared.library, shared.runs, shared.hub),
    build=build,
    routes=routes,
    trains=True,
)
