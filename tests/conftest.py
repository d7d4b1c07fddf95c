"""What all tests share: a cache of their own, no analytics, no network, and trainers that start in milliseconds."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import zygote

if TYPE_CHECKING:
    from tests.explorer.bench import Bench

MAY_BE_SKIPPED = ("needs a CUDA device", "shared/")
"""How the reasons begin for which a test may be skipped where NO_SKIPS is set, as it is in continuous integration."""
COLLECTED = pytest.StashKey[dict[str, list[bool]]]()
"""Whether each item of each test is long."""

_BROWSER = "tests/browser"

# set at import, before any test module imports a library that reads it
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# gradio and lightning set these when they are imported: what is forked is to have the environment of what asks for it
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "True")
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("RANKSCOPE_LOOK_SECONDS", "0.02")  # whatever waits for another process looks that often
os.environ.setdefault("OMP_NUM_THREADS", "1")  # several test processes share the cores
# Gradio takes the first free port of a hundred: of others in every test process, since two may find the same one free
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
os.environ.setdefault("GRADIO_SERVER_PORT", str(7860 + 100 * _WORKER))


@pytest.fixture(scope="session", autouse=True)
def _cache_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Decoded and drawn images are shared by the processes of one run of pytest and by nobody else."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _starts_of_our_own() -> Iterator[None]:
    """Trainers and verbs are forked, see :mod:`tests.zygote`; ``zygote.cold()`` starts one as people do."""
    zygote.install()
    yield
    zygote.close()


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the Hub's library an empty cache, the folder of the test."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def pytest_itemcollected(item: pytest.Item) -> None:
    """Remember of each test which of its items are long, before any are left out."""
    tests = item.config.stash.setdefault(COLLECTED, {})
    tests.setdefault(item.nodeid.partition("[")[0], []).append(item.get_closest_marker("long") is not None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that drive a browser first: one process has them all, see :func:`pytest_xdist_make_scheduler`."""
    items.sort(key=lambda item: "browser" not in item.path.parts)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """With ``--dist loadfile`` files stay whole, and those that drive a browser are like one file.

    So one process alone starts a Chromium and the pages that it looks at.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return _BROWSER if file.startswith(f"{_BROWSER}/") else file

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where NO_SKIPS is set a test that is left out for any other reason has failed."""
    report = yield
    if report.skipped and os.environ.get("NO_SKIPS") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(MAY_BE_SKIPPED):
            report.outcome = "failed"
            report.longrepr = f"Nothing may be skipped here for this reason: {reason}"
    return report


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes a scheduler over a folder of runs, see :class:`tests.explorer.bench.Bench`."""
    from tests.explorer.bench import Bench

    made: list[Bench] = []

    def make(how: str = "600", **settings: object) -> Bench:
        made.append(Bench(tmp_path, how, **settings))
        return made[-1]

    yield make
    for each in made:
        each.scheduler.close()
