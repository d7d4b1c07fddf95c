"""Odd addresses, damaged and deleted runs, recordings: a sentence, never a crash, never a write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from explorer.server.routes import PREFIX
from tests.explorer.page import Page
from tests.synthetic import make_run


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("run/..%2f..%2fetc", 404),
        ("run/%2e%2e", 404),
        ("run/%00", 404),
        ("run/ÄÖ☃", 404),
        ("run/0123456789ABCDEFGHJKMNPQRS", 404),
        ("run/{id}/poll?after=x", 400),
        ("run/{id}/poll?after=-2", 400),
        ("run/{id}/poll?row=99999999999999999999", 400),
        ("run/{id}/frame/-1", 400),
        ("run/{id}/frame/99", 404),
        ("run/{id}/frame/٣", 400),
        ("run/{id}/frameinfo/" + "9" * 5000, 400),
        ("run/{id}/frameinfo/99", 404),
        ("run/{id}/sheet/..%2fconfig.json", 404),
        ("run/{id}/sheet/0.png", 400),
        ("run/{id}/neighbours/0/48", 404),
        ("run/{id}/neighbours/9/0", 404),
        ("run/{id}/neighbours/0/x", 400),
        ("run/{id}/download/secrets", 404),
        ("assets/..%2fapp.py", 404),
        ("assets/map.py", 404),
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


def test_a_deleted_run_is_gone_at_once(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1)
    page.json(f"run/{folder.id}")
    folder.delete()
    assert page.get(f"run/{folder.id}/poll").status_code == 404
    assert page.json("runs")["runs"] == []


def test_recordings_are_never_written(page: Page, root: Path, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "recorded", points=48, frames=2)
    folder.db.close()
    kept = sorted(path.name for path in folder.path.rglob("*"))
    for path in (folder.path, *folder.path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        (card,) = page.json("runs")["runs"]
        assert card["recorded"] is True and card["phase"] == "finished"
        assert page.json("start") == {"id": folder.id}
        assert page.json(f"run/{folder.id}")["recorded"] is True
        assert page.json(f"run/{folder.id}/poll")["frame"]["k"] == 1
        assert page.get(f"run/{folder.id}/frame/1").status_code == 200
        assert page.watched.ids == []
        assert sorted(path.name for path in folder.path.rglob("*")) == kept
    finally:
        for path in (folder.path, *folder.path.rglob("*")):
            path.chmod(0o755)


def test_a_copy_beside_the_recording_counts_once(page: Page, root: Path, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "recorded", points=48, frames=1)
    folder.db.close()
    shutil.copytree(folder.path, root / folder.id)
    (card,) = page.json("runs")["runs"]
    assert card["recorded"] is False
