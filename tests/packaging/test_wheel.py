"""The wheel in an environment that has the libraries and not this checkout: its commands, its page, its names."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from tests.examples import examples
from tests.tiny import tiny_config, write_images
from trainers.runs import RunFolder

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own that borrows the libraries of this one; returns its folder of programs."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=True)
    packages = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (packages / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"])
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, timeout=300)
    assert sorted(path.name for path in packages.glob("rankscope*")) == ["rankscope", "rankscope-0.1.0.dist-info"]
    assert not any((packages / name).exists() for name in ("trainers", "explorer", "app.py", "assets"))
    return home / "bin"


def done(command: list[object], cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_it_holds_what_the_page_needs_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
        texts = {name: archive.read(name).decode() for name in names if name.endswith((".py", ".md", ".js", ".toml"))}
    assert {name.split("/")[0] for name in names} == {"rankscope", "rankscope-0.1.0.dist-info"}
    assert {name.split("/")[1] for name in names if name.startswith("rankscope/")} == {
        *("__init__.py", "app.py", "py.typed", "trainers", "explorer", "assets", "docs")
    }
    assert not [name for name in names if "screens" in name or "tests" in name or name.endswith(".pyi")]
    requirements = (ROOT / "requirements.txt").read_text().splitlines()
    wanted = [line for line in requirements if line and not line.startswith("#")]
    assert metadata.count("\nRequires-Dist: ") == len(wanted) + 4
    assert "\nRequires-Dist: av<20,>=15; extra == 'films'\n" in metadata
    assert "\nRequires-Dist: h5py<4,>=3.12; extra == 'hdf5'\n" in metadata
    assert "\nav>=15,<20 " in (ROOT / "tests" / "requirements.txt").read_text()
    assert not [name for name, text in texts.items() if "python -m trainers" in text or "python app.py" in text]
    assert sum(1 for name in names if "/assets/recorded/" in name) > 50
    assert wheel.stat().st_size < 35_000_000


def test_its_commands_train_show_and_keep_to_one_package(installed: Path, tmp_path: Path) -> None:
    images = write_images(tmp_path / "images")
    help_text = done([installed / "rankscope", "--help"], tmp_path)
    assert "train" in help_text and "--public" in help_text and "python -m" not in help_text
    either = examples()["my_loss.py"].replace("from rankscope.trainers.losses.base", "from trainers.losses.base")
    (tmp_path / "my_loss.py").write_text(either, encoding="utf-8")
    train = [
        "train",
        "--data",
        images,
        "--losses",
        "supcon_out",
        "my_loss.py",
        "--steps",
        "2",
        "--image-size",
        "24",
        "--device",
        "cpu",
    ]
    said = json.loads(done([installed / "rankscope", *train, "--probe-size", "30", "--json"], tmp_path))
    assert said["phase"] == "finished" and [arm["title"] for arm in said["arms"]][1] == "Soft margin"
    assert (tmp_path / said["path"]).is_dir()
    script = (
        "import sys, rankscope, torch\n"
        "assert 'torch' in sys.modules and 'rankscope.trainers' not in sys.modules\n"
        "run = rankscope.open_run('last')\n"
        "assert run.results().loc[run.losses[0], 'R_at_1'] >= 0 and len(run.picture()) > 1000\n"
        "model = torch.nn.Linear(4, 8)\n"
        "loss = rankscope.losses['roadmap'].build(num_classes=4, dim=8)\n"
        "optimiser = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "labels = (torch.arange(16) % 4)[:, None]\n"
        "for _ in range(3):\n"
        "    value = loss(torch.nn.functional.normalize(model(torch.randn(16, 4)), dim=1), labels)\n"
        "    optimiser.zero_grad(); value.backward(); optimiser.step()\n"
        "print(float(value), sorted(name for name in sys.modules if name.split('.')[0] in ('trainers', 'explorer')))\n"
    )
    value, _, others = done([installed / "python", "-c", script], tmp_path).partition(" ")
    assert float(value) > 0 and others.strip() == "[]"


def test_results_of_claims_are_read_there_and_no_commit_is_named(installed: Path, tmp_path: Path) -> None:
    script = (
        "from rankscope.trainers.claims.catalogue import CLAIMS\n"
        "from rankscope.trainers.claims.results import commit, read, versions\n"
        "print(sum(read(claim) is not None for claim in CLAIMS.values()), repr(commit()), versions())\n"
    )
    count, known, version = done([installed / "python", "-c", script], tmp_path).split(maxsplit=2)
    assert int(count) > 40 and known == "''" and version.startswith("rankscope 0.")


def test_its_page_opens_at_a_run_and_trains_it_in_a_process_of_its_own(installed: Path, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "runs", tiny_config(write_images(tmp_path / "images")))
    opened, seen = tmp_path / "browser", tmp_path / "address"
    opened.write_text(f"#!/bin/sh\necho $1 > {seen}\n")
    opened.chmod(0o755)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    page = subprocess.Popen(
        [str(installed / "rankscope"), "--port", str(port), "--run", "last"],
        cwd=tmp_path,
        env={**environment, "BROWSER": f"{opened} %s"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 240
        while not (seen.is_file() and seen.read_text().strip()) or folder.state().phase != "finished":
            assert page.poll() is None, page.communicate()[1]
            assert time.monotonic() < deadline, folder.state()
            time.sleep(0.3)
        assert seen.read_text().strip() == f"http://127.0.0.1:{port}/?run={folder.id}"
        with urllib.request.urlopen(seen.read_text().strip(), timeout=30) as answer:
            assert answer.status == 200
    finally:
        page.terminate()
        page.communicate(timeout=60)
