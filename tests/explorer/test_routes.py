"""The addresses that the page fetches, over real run folders; odd ones get a sentence."""

from __future__ import annotations

import itertools
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from explorer.server.routes import PREFIX
from explorer.tabs.live import baselines, routes, view
from explorer.tabs.live.suggestion import ahead, most_telling
from tests.explorer.page import Page
from tests.synthetic import add_snapshot, alive, make_run
from trainers.kinds.metric_learning.measures import PLOTS
from trainers.retrieval.baseline import differences
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.runs.records import ACTIVE, PHASES, Frame, FrameArm, Scalar


def test_an_empty_place_has_no_runs(page: Page) -> None:
    assert page.cards() == []
    assert page.json("start") == {"id": None}


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_is_told(page: Page, root: Path, phase: str) -> None:
    folder = make_run(root, points=48, frames=2, phase=phase)
    with alive(folder):
        (card,) = page.cards()
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


def test_viewers_of_one_moment_share_an_answer(page: Page, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, read, poll = make_run(root, points=48, frames=2, phase="running"), [], view.poll
    monkeypatch.setattr(routes, "SHARED", 1e9)
    monkeypatch.setattr(view, "poll", lambda *about: read.append(about) or poll(*about))
    with alive(folder):
        address = f"run/{folder.id}/poll?after=1&row="
        row = page.json(f"{address}0")["row"]
        assert [page.json(f"{address}{row}")["metrics"] for _ in range(3)] == [[]] * 3 and len(read) == 2
        folder.db.add_metrics([Scalar(arm=0, step=77, key="loss", value=0.5, seconds=9.0)])
        assert page.json(f"{address}{row}")["metrics"] == [[0, 77, "loss", 0.5]] and len(read) == 3


def test_the_card_names_the_run(page: Page, root: Path) -> None:
    before = time.time()
    folder = make_run(root, points=48, frames=2)
    (card,) = page.cards()
    assert card["title"] == "Smooth-AP vs HAPPIER on Made-up world"
    assert card["losses"] == ["Smooth-AP", "HAPPIER"] and card["data"] == "Made-up world"
    assert [(key, told["title"]) for key, told in card["numbers"].items()] == [("R_at_1", "R@1"), ("HAP", "H-AP")]
    assert [line["values"]["R_at_1"] for line in card["lines"]] == pytest.approx([0.9, 0.95])
    assert before - 1 < card["created"] < time.time() + 1
    assert card["bytes"] == folder.size()
    assert card["recorded"] is False


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
    few = make_run(root, points=10, frames=1)
    assert page.json(f"run/{few.id}")["parents"][0][9:] == [2, *[-1] * 14], "a class without images has no parent"


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


def test_frames_of_a_run_that_can_go_on_are_revalidated(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1, phase="stopped")
    first = page.get(f"run/{folder.id}/frame/0")
    assert first.headers["cache-control"] == "no-cache"
    again = page.get(f"run/{folder.id}/frame/0", **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
    add_snapshot(folder, 0)
    assert page.get(f"run/{folder.id}/frame/0", **{"If-None-Match": first.headers["etag"]}).status_code == 200


def test_assets_are_revalidated(page: Page, tmp_path: Path) -> None:
    write_bytes(tmp_path / "assets" / "live" / "webgl_renderer.js", b"export const one = 1;\n")
    first = page.get("assets/live/webgl_renderer.js")
    assert first.headers["content-type"].startswith("text/javascript") and first.headers["cache-control"] == "no-cache"
    again = page.get("assets/live/webgl_renderer.js", **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""


def test_the_first_view_prefers_what_moves(page: Page, root: Path, tmp_path: Path) -> None:
    recording = make_run(tmp_path / "recorded", points=48, frames=1)
    assert page.json("start")["id"] == recording.id
    page.json(f"run/{recording.id}/poll")
    assert page.watched.ids == [], "its maps need not be drawn"
    finished = make_run(root, points=48, frames=1)
    make_run(root, points=48, frames=1, phase="failed")
    assert page.json("start")["id"] == finished.id
    running = make_run(root, points=48, frames=1, phase="running")
    make_run(root, phase="queued")
    with alive(running):
        assert page.json("start")["id"] == running.id
    assert page.json("start")["id"] == finished.id
    ids = [card["id"] for card in page.cards()]
    assert ids[-1] == recording.id and ids[:-1] == sorted(ids[:-1], reverse=True)


def test_twenty_pollers_and_one_writer(page: Page, root: Path) -> None:
    folder = make_run(root, points=600, frames=1, phase="running")

    def watch(_: int) -> list[int]:
        return [page.get(f"run/{folder.id}/poll?after=-1&row=0").status_code for _ in range(10)]

    with alive(folder), ThreadPoolExecutor(20) as pool:
        answered = pool.map(watch, range(20))
        for k in range(1, 6):
            add_snapshot(RunFolder(folder.path), k)
        assert list(answered) == [[200] * 10] * 20


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("run/..%2f..%2fetc", 404),
        ("run/%00", 404),
        ("run/ÄÖ☃", 404),
        ("run/0123456789ABCDEFGHJKMNPQRS", 404),
        ("run/{id}/poll?after=x", 400),
        ("run/{id}/poll?row=99999999999999999999", 400),
        ("run/{id}/frame/99", 404),
        ("run/{id}/frame/٣", 400),
        ("run/{id}/frameinfo/" + "9" * 5000, 400),
        ("run/{id}/frameinfo/99", 404),
        ("run/{id}/sheet/..%2fconfig.json", 404),
        ("run/{id}/neighbours/0/48", 404),
        ("run/{id}/neighbours/9/0", 404),
        ("run/{id}/download/secrets", 404),
        ("assets/..%2fapp.py", 404),
        ("nothing", 404),
    ],
)
def test_odd_addresses_get_a_sentence(page: Page, root: Path, path: str, status: int) -> None:
    folder = make_run(root, points=48, frames=1)
    reply = page.get(path.replace("{id}", folder.id))
    assert reply.status_code == status and len(reply.json()["error"]) > 10
    assert str(root) not in reply.text


def test_only_reading_is_possible(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1)
    for method in ("post", "put", "delete", "patch"):
        reply = getattr(page.client, method)(f"{PREFIX}/run/{folder.id}")
        assert reply.status_code == 405


def other_images(root: Path) -> RunFolder:
    """A run whose probe names other images."""
    folder = make_run(root, points=48, frames=1)
    config = folder.path / "config.json"
    config.write_text(config.read_text().replace('"max_images": 20000', '"max_images": 960'))
    return RunFolder(folder.path)


def test_runs_on_the_same_images_can_be_pinned(page: Page, root: Path, tmp_path: Path) -> None:
    run = make_run(root, points=48, frames=2)
    recorded = make_run(tmp_path / "recorded", points=48, frames=1)
    other = make_run(root, points=48, frames=1, arms=1)
    make_run(root, phase="queued")
    broken = make_run(root, points=48, frames=1)
    (broken.path / "probe.safetensors").write_bytes(b"no tensors")
    apart = other_images(root)
    runs = page.json(f"run/{run.id}/baselines")["runs"]
    assert [one["id"] for one in runs] == [other.id, recorded.id]
    assert runs[0]["title"] == "Smooth-AP on Made-up world" and runs[1]["recorded"]
    for folder, words in ((apart, "not on the same images"), (broken, broken.id)):
        refused = page.json(f"run/{run.id}/baseline/{folder.id}")
        assert list(refused) == ["why"] and words in refused["why"]
    assert "nothing" in page.json(f"run/{run.id}/baseline/nothing")["why"]


def test_its_numbers_are_those_of_its_run(page: Page, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = make_run(root, points=48, frames=3), make_run(root, points=40, frames=2, arms=1)
    whole = page.json(f"run/{run.id}/baseline/{other.id}")
    assert (whole["why"], whole["moving"], whole["more"], whole["whole"]) == (None, False, False, False)
    assert whole["arms"] == ["Smooth-AP"]
    assert tuple(whole["pairs"]) == differences(run, other).pairs == (0, 0)
    stored = [[scalar.arm, scalar.step, scalar.key, scalar.value] for scalar in other.scalars()]
    assert sorted(whole["metrics"]) == sorted(stored)
    monkeypatch.setattr(baselines, "ROWS", 10)
    found, row, more = [], 0, True
    while more:
        part = page.json(f"run/{run.id}/baseline/{other.id}?row={row}")
        found, row, more = found + part["metrics"], part["row"], part["more"]
        assert len(part["metrics"]) <= 10
    assert found == whole["metrics"]


FOLDER = Path(__file__).resolve().parents[2] / "assets" / "live" / "plots"


def test_the_page_has_every_form() -> None:
    listed = re.search(r"new Map\(\[(.*?)\]", (FOLDER / "forms.js").read_text())
    assert listed is not None
    scripts = "".join(path.read_text() for path in FOLDER.glob("*.js"))
    forms = dict(re.findall(r"export const (\w+) = \{ name: \"(\w+)\"", scripts))
    assert {forms[constant] for constant in listed[1].split(", ")} == {plot.form for plot in PLOTS}


def test_controlled_mistakes_are_told_in_the_words_of_the_run(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1)
    reply = page.json(f"run/{folder.id}/controlled_errors")
    assert reply["words"] == page.json(f"run/{folder.id}")["words"]
    assert {case["shared"] for case in reply["cases"]} == {0, 1, 2} and len(reply["metrics"]) == 4
    first = reply["cases"][0]
    assert (first["mistakes"], first["rank"]) == (0, 1) and first["values"] == pytest.approx([1.0] * 4)


@pytest.mark.parametrize(("arms", "words"), [(2, "differences may be chance."), (1, "other seeds may give other")])
def test_a_comparison_says_that_it_is_one_run(page: Page, root: Path, arms: int, words: str) -> None:
    told = page.json(f"run/{make_run(root, points=48, frames=1, arms=arms).id}")["alone"]
    assert told.startswith("One run, one seed, one learning rate") and words in told
    planned = make_run(root, points=48, frames=1, arms=arms)
    (planned.path / "part_of").write_text("0" * 26)
    assert page.json(f"run/{planned.id}")["alone"] == ""


def test_a_script_two_folders_down_is_served_and_none_further(root: Path, tmp_path: Path) -> None:
    for name in ("a/b/c.js", "a/b/c/d.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("export {};")
    page = Page(root, root / "recorded", tmp_path)
    assert page.get("assets/a/b/c.js").status_code == 200
    for other in ("a/b/c/d.js", "a/../a/b/c.js", "a//b/c.js", "/a/b/c.js"):
        assert page.get(f"assets/{other.replace('/', '%2f')}").status_code == 404


LABELS = np.array([[0, 0], [0, 0], [0, 0], [1, 0], [1, 0], [2, 1], [2, 1], [2, 1]])


def test_the_queries_on_which_an_arm_is_ahead_are_counted_as_a_loop_counts_them() -> None:
    made = np.random.default_rng(0)
    others = [np.delete(np.arange(8), i) for i in range(8)]
    results = np.stack([[made.choice(rest, 3, replace=False) for rest in others] for _ in range(3)])
    expected = [[0, 0, 0, 0], [0, 0, 0, 0]]
    for level, query in itertools.product(range(2), range(8)):
        right = [sum(LABELS[j, level] == LABELS[query, level] for j in arm[query]) for arm in results]
        best = [arm for arm in range(3) if right[arm] == max(right)]
        expected[level][best[0] if len(best) == 1 else 3] += 1
    assert ahead(results, LABELS) == expected


def test_the_largest_difference_in_the_direction_of_the_average_is_suggested(page: Page, root: Path) -> None:
    first = np.array([[1, 2], [0, 2], [0, 1], [4, 0], [3, 0], [6, 7], [5, 7], [0, 1]])
    second = np.array([[1, 5], [0, 5], [5, 6], [4, 5], [3, 5], [0, 1], [5, 0], [5, 6]])
    # the first arm is the better one on average; image 7, which it gets wrong, is the second arm's best
    assert most_telling(np.stack([first, second]), LABELS) == most_telling(np.stack([second, first]), LABELS) == 2
    first = np.array([[3, 4], [3, 4], [3, 4], [0, 1], [0, 1], [6, 7], [5, 7], [5, 6]])
    second = np.array([[3, 4], [3, 4], [5, 6], [0, 1], [0, 1], [6, 7], [5, 7], [5, 6]])
    assert most_telling(np.stack([first, second]), LABELS) == 2, "a coarser level tells"
    alone = np.array([[1, 2], [0, 2], [0, 1], [4, 3], [3, 0], [6, 7], [5, 7], [5, 6]])
    assert most_telling(alone[None], LABELS) == 4, "of one loss an image that is half right"
    folder = make_run(root, points=48, frames=2)
    won = page.json(f"run/{folder.id}/neighbours/1/0")["ahead"]
    assert [len(level) for level in won] == [3] * len(won) and all(sum(level) == 48 for level in won)
    assert page.json(f"run/{make_run(root, points=48, frames=1, arms=1).id}/neighbours/0/0")["ahead"] == []
    assert 0 <= page.json(f"run/{folder.id}/suggestion/1")["index"] < 48
    assert page.get(f"run/{folder.id}/suggestion/9").status_code == 404
