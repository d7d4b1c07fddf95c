"""One's own loop, embeddings, checkpoint and loss, by command and on the page, and all that is taken away again."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from tests.brought.test_docs import CODES
from tests.browser.conftest import Site
from tests.browser.pages import open_tab, until, visit
from tests.browser.test_own_images import drop
from tests.browser.test_runs_tab import button, press
from tests.campaigns._page import QUIET
from tests.distributed.processes import free_port
from tests.examples import ROOT
from tests.plugins.program import NAME, SMALL, write_example
from tests.waiting import wait
from trainers.encoders import ENCODERS
from trainers.runs import RunFolder, list_runs
from trainers.runs.label import read_label

TRAIN = ("-m", "trainers", "train", *SMALL, "--losses", NAME, "--weights", "mine.pt", "--quiet")
pytestmark = pytest.mark.long

LOGGED = "triplet on my birds"
SPECIES = np.repeat(np.arange(8), 6)


def begun(place: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    """A command in a folder, with the program on its path."""
    told = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(
        [sys.executable, *words], cwd=place, env=told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def said(process: subprocess.Popen[str]) -> str:
    text = process.communicate(timeout=120)[0]
    assert process.returncode == 0, text
    return text


@contextmanager
def page_of(place: Path, run: str, *words: str) -> Iterator[Site]:
    """``trainers open RUN``, whose browser only notes the address."""
    browser, seen = place / "browser", place / "address"
    browser.write_text(f"#!/bin/sh\necho $1 > {seen}\n")
    browser.chmod(0o755)
    more = {"BROWSER": f"{browser} %s", "GRADIO_SERVER_PORT": str(free_port()), "RANKSCOPE_CACHE": str(place / "cache")}
    process = begun(place, "-m", "trainers", "open", run, *words, **more)
    try:
        wait(lambda: process.poll() is not None or (seen.is_file() and seen.read_text().strip()), 240)
        assert process.poll() is None, process.communicate()[0]
        url, _, opened = seen.read_text().strip().partition("/?run=")
        yield Site(url=url, root=place / "runs", finished=RunFolder.open(place / "runs", opened))
    except BaseException:
        process.kill()
        raise
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=60)[0]
    assert process.returncode == 0 and "Traceback" not in text, text


def write_weights(checkpoint: Path) -> None:
    """Write weights as somebody's own training would have: within others, behind a prefix."""
    encoder = ENCODERS["conv4"].build(channels=3, side=16, dim=8, parameters={"width": 8})
    torch.save({"state_dict": {f"module.{name}": value for name, value in encoder.state_dict().items()}}, checkpoint)


def embeddings() -> bytes:
    draws, file = np.random.default_rng(0), io.BytesIO()
    rows = np.eye(8)[SPECIES] + 0.3 * draws.normal(size=(len(SPECIES), 8))
    labels = {"species": [f"s{one}" for one in SPECIES], "genus": [f"g{one // 2}" for one in SPECIES]}
    pd.DataFrame({**labels, "embedding": list(rows.astype(np.float32))}).to_parquet(file)
    return file.getvalue()


def shown(page: Page, run: str) -> None:
    """Wait until the map of a run is on screen."""
    until(page, "s.run === a && s.k !== null", run)


def taken(page: Page, title: str) -> bytes:
    """What an entry of the menu of downloads saves; a film is made first."""
    menu = page.locator(".rs-live .rs-downloads")
    menu.get_by_role("button", name="Download").click()
    with page.expect_download() as got:
        menu.locator(".rs-menu").get_by_text(title, exact=True).click()
    return Path(got.value.path()).read_bytes()


def opened_from_runs(page: Page, name: str, run: str) -> None:
    open_tab(page, "Runs")
    expect(page.locator("#rs-runs-list")).to_contain_text(name)  # the first list of this process
    press(page, name)
    button(page, "Open")
    shown(page, run)


def test_a_day_of_a_researcher(browser: Browser, tmp_path: Path) -> None:
    write_example(tmp_path)
    write_weights(tmp_path / "mine.pt")
    (tmp_path / "loop.py").write_text(CODES["A training loop"], encoding="utf-8")
    loop, training = begun(tmp_path, "loop.py"), begun(tmp_path, *TRAIN)
    wait(lambda: any(read_label(run.path).name == LOGGED for run in list_runs(tmp_path / "runs")))
    with page_of(tmp_path, LOGGED, "--plugin", NAME) as site:
        said(loop)
        told = said(training)
        assert "tensors are in the file (in 'state_dict' behind 'module.')" in told
        with visit(browser, site, site.at(site.finished)) as page:
            until(page, "s.run === a && s.phase === 'finished' && s.k !== null", site.finished.id)
            assert taken(page, "Film of the maps (MP4)")[4:8] == b"ftyp"
            whole = taken(page, "Everything, to import elsewhere (zip)")
            page.evaluate("() => window.rankscope.live.images.lasso([3, 4, 5, 9])")
            link = copied_link(page)
            drop(page, sparrows__parquet=embeddings())
            expect(page.locator(".rs-live h2").first).to_contain_text("sparrows")
            opened_from_runs(page, "Soft margin on Drawn world", re.findall(r"run (\w{26}) in", told)[0])
            with zipfile.ZipFile(io.BytesIO(taken(page, "Model with its head (safetensors)"))) as models:
                assert sorted(models.namelist()) == ["0_soft_margin.md", "0_soft_margin.safetensors"]
            open_tab(page, "Runs")
            press(page, LOGGED)
            button(page, "Delete")
            button(page, "Delete for good")
            expect(page.locator("#rs-runs-said")).to_contain_text("The run is deleted.")
            assert not site.finished.path.exists()
            drop(page, run__zip=whole)
            shown(page, site.finished.id)
        with visit(browser, site, link) as page:
            page.wait_for_function("() => window.rankscope.live.images.lassoed.length === 4")
            expect(page.locator(".rs-live h2").first).to_contain_text(LOGGED)


def copied_link(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied")).to_be_visible()
    return str(page.evaluate("() => navigator.clipboard.readText()"))
