"""The claims as the page shows them: with the results that ship, and with the runs of them that are here."""

from __future__ import annotations

from collections.abc import Callable

from explorer.page.tab import Shared
from explorer.server.states import Json
from explorer.server.visitors import Caller
from trainers.claims import tables
from trainers.claims.base import Claim
from trainers.claims.catalogue import CLAIMS
from trainers.claims.runs import check_at_hand, described, mark, plans_of, result, steps
from trainers.comparison.markup import markdown_text
from trainers.errors import RunError, UserError
from trainers.kinds import kind_of
from trainers.parameters import entry
from trainers.plans.children import Children, lacking_among, lacks, total
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.runs.records import PHASES


class Board:
    """What the tab keeps: which of the plans in the runs folder are those of claims."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._texts: dict[tuple[str, int], str] = {}

    def listing(self, work: str, verdict: str) -> tuple[str, list[list[str]]]:
        """Count the verdicts of all claims, as a sentence; and return title and verdict of those of a work with a
        verdict, empty for all.
        """
        rows = list(zip(CLAIMS.values(), tables.rows(tables.results()), strict=True))
        asked = [[claim.title, row[3]] for claim, row in rows if work in ("", claim.work) and verdict in ("", row[3])]
        return tables.counted(row[3] for _, row in rows), asked

    def named(self, title: str) -> str:
        """Return the name of the claim with a title.

        Raises:
            UserError: there is none.
        """
        for name, claim in CLAIMS.items():
            if claim.title == title:
                return name
        raise UserError(f"There is no claim {title[:80]!r}.")

    def of(self, name: str) -> Json:
        """Describe a claim with the result that ships.

        Raises:
            UserError: there is no such claim.
        """
        claim = entry(CLAIMS, name, "claim")
        return tables.as_json(claim, tables.results(claims={name: claim})[name]) | {"protocol": described(claim)}

    def stands(self, name: str) -> Json | None:
        """Say where the runs of a claim stand here; None where there are none."""
        claim = entry(CLAIMS, name, "claim")
        return self._stands(plans_of(claim, self._there()), claim)

    def here(self, name: str) -> Json:
        """Return a claim with the numbers of its finished runs here.

        Raises:
            UserError: there is no such claim, or its runs are not finished.
        """
        claim = entry(CLAIMS, name, "claim")
        plans = plans_of(claim, self._there())
        if len(plans) < len(steps(claim)) or not plans or plans[-1].state().phase != "finished":
            raise RunError(f"The runs of {claim.title} are not finished here. Run it first.")
        with reading(plans[-1].id):
            return tables.as_json(claim, result(claim, plans[-1]))

    def start(self, name: str, token: str, caller: Caller) -> Json:
        """Queue the next plan of a claim, or let one go on that was interrupted.

        Raises:
            UserError: there is no such claim, it cannot be run here, or its runs are here already.
        """
        claim = entry(CLAIMS, name, "claim")
        check_at_hand(claim)
        plans, start = plans_of(claim, self._there()), ""
        for plan, make in zip([*plans, None], steps(claim), strict=False):
            if plan is None:
                config = make().changed(start=start) if start else make()
                kind_of(config).check(config)
                self._shared.runs.check(config)
                run = self._shared.runs.start(config, token, caller)
                mark(claim, self._shared.runs.find(run))
                return {"id": run, "said": "It is queued, and trains when it is its turn. The tab Compare shows it."}
            phase = plan.state().phase
            if ("resume" in PHASES[phase].acts and not PHASES[phase].active) or lacks(plan):
                return {"id": plan.id, "said": self._shared.runs.resume(plan.id, token, caller)}
            if phase != "finished":
                raise UserError(
                    f"The runs of {claim.title} are {PHASES[phase].label} already; the tab Compare shows them."
                )
            start = plan.id
        raise UserError(f"The runs of {claim.title} are finished here; delete them in the tab Runs to train them anew.")

    def csv(self) -> str:
        """Write the table of the results that ship as CSV."""
        return tables.as_csv(tables.results())

    def latex(self) -> str:
        """Write it as LaTeX."""
        return tables.as_latex(tables.results())

    def _there(self) -> Callable[[SweepConfig], RunFolder | None]:
        """Return what finds the newest plan here with some settings."""
        there: dict[str, RunFolder] = {}
        for folder in self._shared.runs.trained_here():
            try:
                written = folder.path / "config.json"  # which changes when a plan gets more seeds
                key = (folder.id, written.stat().st_mtime_ns)
                if key not in self._texts:
                    with reading(folder.id):
                        plan = not folder.part_of and kind_of(folder.config).plans
                        self._texts[key] = folder.config.to_json() if plan else ""
                if text := self._texts[key]:
                    there.setdefault(text, folder)
            except (RunError, OSError):
                continue
            finally:
                folder.db.close()
        return lambda config: there.get(config.to_json())

    def _stands(self, plans: list[RunFolder], claim: Claim) -> Json | None:
        """Say where the runs of a claim stand; None where there are none."""
        if not plans:
            return None
        folder = plans[-1]
        try:
            with reading(folder.id):
                phase = folder.state().phase
                wanted = len(steps(claim))
                done = phase == "finished" and len(plans) == wanted
                children = Children(folder).all()
                lost = lacking_among(phase, (child.phase for child in children), len(children))
                return {
                    "id": folder.id,
                    "phase": PHASES[phase].label,
                    "moving": PHASES[phase].moving,
                    "finished": done,
                    "lacking": bool(lost),
                    "part": f"part {len(plans)} of {wanted}, " if wanted > 1 else "",
                    "words": total(children).message,
                }
        except RunError:
            return None
        finally:
            folder.db.close()


def about(claim: Json) -> str:
    """Write what a claim says, what is printed, and what came of it here, in Markdown."""
    verdict, _, why = claim["words"].partition(". ")
    texts = [
        f"{claim['work_title']} · {claim['where']}",
        claim["statement"],
        f"Printed there: {claim['printed']}" if claim["printed"] else "",
    ]
    result = claim["result"]
    reasons = [why, origin(result) if result else ""]
    first, *others = (markdown_text(text) for text in reasons)
    said = [f"### {claim['title']}", *map(markdown_text, texts), f"**{verdict}.** {first}", *others]
    return "\n\n".join(filter(None, said))


def protocol(claim: Json) -> str:
    """Write what is run here, what is not as in the paper, and the run at full size, in Markdown."""
    lines: list[str] = []
    if claim["runs"]:
        lines += [*(f"- {one}" for one in claim["protocol"]), "", "Not as in the paper:", ""]
        lines += [*(f"- {one}" for one in claim["ours"]), ""]
        lines += ["Also looked at:", "", f"- {claim['tried']}", ""] if claim["tried"] else []
        lines += [f"```\npython -m trainers claims {claim['name']}\n```", ""]
    lines += ["At full size, with the paper's data and a GPU:", "", f"```\n{claim['recipe']}\n```"]
    return "\n".join(lines)


def state(claim: Json, here: Json | None) -> str:
    """Say where the runs here stand, or what they would cost."""
    if here is not None:
        return f"Here: {here['part']}{here['phase']}: {here['words']}."
    if not claim["runs"]:
        return ""
    took = "It took" if claim["measured"] else "It takes about"
    guess = "" if claim["measured"] else ", at a guess"
    return f"{took} {claim['minutes']:.3g} minutes of one processor core{guess}."


def origin(result: Json) -> str:
    """Write seeds, time, machine, commit, versions and day of a result."""
    seeds, known = result["seeds"], result["stands_on"]
    counted = f"{len(seeds)} seeds"
    if len(known) < len(seeds):
        counted = f"{len(known)} of {len(seeds)} seeds ({', '.join(map(str, known)) or 'none'})"
    commit = f"commit {result['commit']}" if result["commit"] else ""
    where = ", ".join(filter(None, (result["machine"], commit, result["versions"], result["made"])))
    return f"{counted}, {result['minutes']:.1f} minutes on {where}. {result['budget']}"
