"""The strip under the tabs: whose runs it shows, in which order, and who may act on them."""

from __future__ import annotations

from explorer.server.training import SHOWN
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served
from tests.made_up_plan import make_plan, sweep
from tests.synthetic import alive, make_run
from tests.waiting import wait
from trainers.runs import RunFolder

pytestmark = GRADIO_WARNINGS
MINE, THEIRS = {"x-rankscope-token": "mine"}, {"x-rankscope-token": "theirs"}


def start(page: Served, **headers: str) -> str:
    described = {"kind": "metric_learning", "settings": {}}
    return str(page.post(f"{PREFIX}/form/train", described, **headers).json()["id"])


def listed(page: Served, viewed: str = "", **headers: str) -> tuple[list[str], int]:
    reply = page.client.get(f"{PREFIX}/training", params={"viewed": viewed}, headers=headers).json()
    return [run["id"] for run in reply["runs"]], reply["more"]


def act(page: Served, run: str, action: str, **headers: str) -> dict[str, str]:
    reply: dict[str, str] = page.post(f"{PREFIX}/training/act", {"id": run, "action": action}, **headers).json()
    return reply


def test_everybody_sees_their_own_and_acts_on_no_other(public: Served) -> None:
    run = start(public, **MINE)
    public.explorer.training.look_again()
    assert run in listed(public, **MINE)[0]
    assert listed(public, **THEIRS) == ([], 0)
    assert listed(public) == ([], 0), "who shows no token has none"
    assert listed(public, viewed=run, **THEIRS) == ([], 0), "looking at a run makes it nobody's"
    assert "Only the visitor" in act(public, run, "stop", **THEIRS)["problem"]
    assert "said" in act(public, run, "stop", **MINE)
    assert "paused, resumed or stopped" in act(public, run, "delete", **MINE)["error"]
    assert "A run id is 26" in act(public, "../x", "stop", **MINE)["problem"]
    wait(lambda: run not in listed(public, **MINE)[0])  # it may have begun
    shown, _ = listed(public, viewed=run, **MINE)
    assert run in shown, "the one on screen can be resumed"


def test_first_what_moves_then_the_newest_interrupted_one_and_a_count_of_the_rest(local: Served) -> None:
    root = local.explorer.library.root
    make_run(root, points=40, frames=1)
    lost = [make_run(root, points=40, frames=1, phase="running") for _ in range(2)]
    broken = make_run(root, points=40, frames=1, phase="running")
    (broken.path / "config.json").write_text("{")
    waiting = [make_run(root, points=40, frames=0, phase="queued") for _ in range(SHOWN)]
    plan = make_plan(root, sweep("smooth_ap", "happier"), phase="queued")
    assert listed(local) == ([run.id for run in waiting], 2), "the sweep waits too, and one was interrupted"
    assert listed(local, plan.id) == ([*(run.id for run in waiting[: SHOWN - 1]), plan.id], 2), "it is on screen"
    for run in waiting[1:]:
        run.delete()
    local.explorer.training.look_again()
    shown, more = listed(local)
    assert (shown, more) == ([waiting[0].id, plan.id, lost[1].id], 0)
    with alive(RunFolder.open(root, lost[0].id)):
        local.explorer.training.look_again()
        reply = local.client.get(f"{PREFIX}/training").json()["runs"]
    assert reply[0]["id"] == lost[0].id, "the oldest that moves"
    assert reply[0]["acts"] == ["pause", "stop"]
    assert reply[0]["number"]["title"] == "R@1" and len(reply[0]["number"]["values"]) == 2


def test_a_stranger_sees_a_recording_first_and_an_owner_their_own(public: Served) -> None:
    root = public.explorer.library.root
    recorded = make_run(public.explorer.library.recorded, points=40, frames=1)
    mine = make_run(root, points=40, frames=1)
    (mine.path / "owner").write_text((RunFolder.open(root, start(public, **MINE)).path / "owner").read_text())
    first = public.client.get(f"{PREFIX}/start", headers=MINE).json()["id"]
    assert first != recorded.id
    assert public.client.get(f"{PREFIX}/start", headers=THEIRS).json()["id"] == recorded.id
    assert public.client.get(f"{PREFIX}/start").json()["id"] == recorded.id
