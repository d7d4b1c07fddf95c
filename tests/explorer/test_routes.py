"""The addresses that the page fetches, over real run folders."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from explorer.server.visitors import digest
from tests.explorer.page import Page
from tests.synthetic import add_snapshot, alive, make_run
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.runs.records import ACTIVE, PHASES, Frame, FrameArm, Scalar


def test_an_empty_place_has_no_runs(page: Page) -> None:
    assert page.json("runs")["runs"] == []
    assert page.json("start") == {"id": None}


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_is_told(page: Page, root: Path, phase: str) -> None:
    folder = make_run(root, points=48, frames=2, phase=phase)
    with alive(folder):
        (card,) = page.json("runs")["runs"]
        about, poll = page.json(f"run/{folder.id}"), page.json(f"run/{folder.id}/poll?after=-1&row=0")
    for told in (card, about, poll):
        assert told["phase"] == phase and told["label"] == PHASES[phase].label
        assert told["acts"] == list(PHASES[phase].acts) and told["moving"] == (
            phase in ("queued", "between slices") or phase in ACTIVE
        )
        assert (told["finished"], told["failed"]) == (phase == "finished", phase == "failed")
    assert card["queue_position"] == poll["queue_position"] == (3 if phase == "queued" else None)
    assert (card["error"] is not None) == (phase == "failed")
    early = phase in ("queued", "starting")
    assert about["points"] == (0 if early else 48)
    assert (poll["frame"] is None) == early
    assert page.watched.ids == [folder.id]


def test_the_card_names_the_run(page: Page, root: Path) -> None:
    before = time.time()
    folder = make_run(root, points=48, frames=2)
    (card,) = page.json("runs")["runs"]
    assert card["title"] == "Smooth-AP vs HAPPIER on Made-up world"
    assert card["losses"] == ["Smooth-AP", "HAPPIER"] and card["data"] == "Made-up world"
    assert [(number["key"], number["title"]) for number in card["headline"]] == [("R_at_1", "R@1"), ("HAP", "H-AP")]
    assert card["headline"][0]["values"] == pytest.approx([0.9, 0.95])
    assert before - 1 < card["created"] < time.time() + 1
    assert card["bytes"] == folder.size()
    assert card["mine"] is None and card["recorded"] is False


def test_a_run_belongs_to_the_holder_of_its_token(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1)
    (card,) = page.get("runs", **{"X-Rankscope-Token": "mine"}).json()["runs"]
    assert card["mine"] is False, "a run without an owner is nobody's"
    write_bytes(folder.path / "owner", digest("mine").encode())
    for token, mine in (("mine", True), ("other", False)):
        (card,) = page.get("runs", **{"X-Rankscope-Token": token}).json()["runs"]
        assert card["mine"] is mine


def test_about_describes_the_tree(page: Page, root: Path) -> None:
    folder = make_run(root, points=100, frames=3)
    about = page.json(f"run/{folder.id}")
    assert about["levels"] == ["product", "kind", "aisle"]
    assert about["words"] == ["unrelated", "same aisle", "same kind", "same product"]
    assert [len(level) for level in about["names"]] == [24, 6, 3]
    assert about["parents"] == [[i // 4 for i in range(24)], [i // 2 for i in range(6)]]
    assert np.array_equal(np.array(about["labels"]).T, folder.probe().labels)
    assert about["frames"] == [[0, 0], [1, 25], [2, 50]]
    assert about["summary"].endswith("32 classes x 4 images, 3 min, seed 0")
    assert (about["tile"], about["columns"], about["sheets"]) == (32, 12, 1)


def test_a_class_without_images_has_no_parent(page: Page, root: Path) -> None:
    folder = make_run(root, points=10, frames=1)
    assert page.json(f"run/{folder.id}")["parents"][0][9:] == [2, *[-1] * 14]


def test_poll_sends_only_what_is_new(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=3)
    first = page.json(f"run/{folder.id}/poll?after=-1&row=0")
    assert first["frame"]["k"] == 2 and first["frames"] == [[0, 0], [1, 25], [2, 50]]
    arm = first["frame"]["arms"][0]
    assert (arm["quality"], arm["drift"], arm["method"]) == (0.3, pytest.approx(0.5 / 3), "pca")
    assert [0, 0, "loss", 1.0] in first["metrics"]
    again = page.json(f"run/{folder.id}/poll?after=2&row={first['row']}")
    assert again["frame"] is None and again["frames"] == [] and again["metrics"] == []
    add_snapshot(folder, 3)
    more = page.json(f"run/{folder.id}/poll?after=2&row={first['row']}")
    assert more["frame"]["k"] == 3 and more["frames"] == [[3, 75]] and len(more["metrics"]) == 26


def test_poll_after_a_rewind_starts_over(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=4)
    row = page.json(f"run/{folder.id}/poll")["row"]
    old = page.get(f"run/{folder.id}/frame/2").content
    folder.rewind(30)
    poll = page.json(f"run/{folder.id}/poll?after=3&row={row}")
    assert poll["rewound"] and poll["frame"]["k"] == 1 and poll["frames"] == [[0, 0], [1, 25]]
    assert page.get(f"run/{folder.id}/frame/2").status_code == 404
    add_snapshot(folder, 2, of=3)
    after = page.json(f"run/{folder.id}/poll?after=1&row={row}")
    assert len(after["metrics"]) > 20, "rows of the resumed part have new numbers"
    assert page.get(f"run/{folder.id}/frame/2").content != old, "not the forgotten frame from the cache"


def test_poll_caps_the_metrics(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1)
    folder.db.add_metrics(
        Scalar(arm=0, step=i, seconds=0.0, key="loss", value=float("inf") if i == 7 else 0.5) for i in range(1, 3001)
    )
    row, got = 0, []
    for _ in range(3):
        poll = page.json(f"run/{folder.id}/poll?row={row}")
        assert len(poll["metrics"]) <= 2000
        row, got, more = poll["row"], got + poll["metrics"], poll["more"]
        assert more == (len(got) < 26 + 2999)
    assert len(got) == 26 + 2999, "all rows but the infinite one"


def test_a_frame_is_the_coordinates_and_nothing_else(page: Page, root: Path) -> None:
    folder = make_run(root, points=5000, frames=1, layout=False)
    rng = np.random.default_rng(0)
    maps = [rng.integers(0, 65536, (5000, 2), dtype=np.uint16) for _ in range(2)]
    ids = np.zeros((5000, 20), dtype=np.int32)
    arms = tuple(FrameArm(xy=xy, neighbours=ids, quality=0.3, drift=0.1, method="umap") for xy in maps)
    folder.add_frame(Frame(k=0, step=0, seconds=0.0, limit=8.0, arms=arms))
    reply = page.get(f"run/{folder.id}/frame/0")
    assert reply.content == maps[0].tobytes() + maps[1].tobytes()
    assert len(reply.content) / 2 <= 6 * 5000 + 1024, "payload budget of one map"
    assert "immutable" in reply.headers["cache-control"]
    assert page.json(f"run/{folder.id}/frameinfo/0")["limit"] == 8.0


def test_frames_of_a_run_that_can_go_on_are_revalidated(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1, phase="stopped")
    first = page.get(f"run/{folder.id}/frame/0")
    assert first.headers["cache-control"] == "no-cache"
    again = page.get(f"run/{folder.id}/frame/0", **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
    add_snapshot(folder, 0)
    assert page.get(f"run/{folder.id}/frame/0", **{"If-None-Match": first.headers["etag"]}).status_code == 200


def test_sheets_are_pictures(page: Page, root: Path) -> None:
    folder = make_run(root, points=200, frames=1)
    reply = page.get(f"run/{folder.id}/sheet/1.webp")
    assert reply.content == folder.sheet_path(1).read_bytes() and reply.headers["content-type"] == "image/webp"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert page.get(f"run/{folder.id}/sheet/2.webp").status_code == 404


def test_assets_are_revalidated(page: Page, tmp_path: Path) -> None:
    write_bytes(tmp_path / "assets" / "live" / "webgl_renderer.js", b"export const one = 1;\n")
    first = page.get("assets/live/webgl_renderer.js")
    assert first.headers["content-type"].startswith("text/javascript") and first.headers["cache-control"] == "no-cache"
    again = page.get("assets/live/webgl_renderer.js", **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""


def test_the_first_view_prefers_what_moves(page: Page, root: Path, tmp_path: Path) -> None:
    recording = make_run(tmp_path / "recorded", points=48, frames=1)
    assert page.json("start")["id"] == recording.id
    finished = make_run(root, points=48, frames=1)
    make_run(root, points=48, frames=1, phase="failed")
    assert page.json("start")["id"] == finished.id
    running = make_run(root, points=48, frames=1, phase="running")
    make_run(root, phase="queued")
    with alive(running):
        assert page.json("start")["id"] == running.id
    assert page.json("start")["id"] == finished.id
    ids = [card["id"] for card in page.json("runs")["runs"]]
    assert ids[-1] == recording.id and ids[:-1] == sorted(ids[:-1], reverse=True)


def test_twenty_pollers_and_one_writer(page: Page, root: Path) -> None:
    folder = make_run(root, points=600, frames=1, phase="running")
    answered: list[int] = []
    failed: list[str] = []

    def watch() -> None:
        for _ in range(10):
            reply = page.get(f"run/{folder.id}/poll?after=-1&row=0")
            answered.append(reply.status_code)
            if reply.status_code != 200:
                failed.append(reply.text)

    with alive(folder):
        threads = [threading.Thread(target=watch) for _ in range(20)]
        for thread in threads:
            thread.start()
        for k in range(1, 6):
            add_snapshot(RunFolder(folder.path), k)
        for thread in threads:
            thread.join()
    assert not failed and len(answered) == 200
