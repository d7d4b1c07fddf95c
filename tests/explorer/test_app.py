"""The launched page as programs see it: its config, its public endpoints, many clients at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from explorer import Explorer
from tests.explorer.served_page import GRADIO_WARNINGS, served

ROOT = Path(__file__).resolve().parents[2]
pytestmark = GRADIO_WARNINGS
PUBLIC = {
    "/start_run",
    "/start_kind",
    "/list_kinds",
    "/run_status",
    "/stop_run",
    "/add_seeds",
    "/list_runs",
    "/remove_object",
    "/score_objects",
    "/retrieve_images",
    "/list_mistakes",
    "/measure_background",
}


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    with served(tmp_path_factory.mktemp("explorer")) as page:
        yield page.explorer


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Client:
    return Client(explorer.blocks.local_url, verbose=False)


def until(client: Client, run_id: str, phase: str) -> dict:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        status = client.predict(run_id, api_name="/run_status")
        if status["phase"] == phase:
            return status
        time.sleep(0.1)
    raise AssertionError(f"not {phase} within 30 s: {status}")


def test_a_run_is_started_watched_and_stopped(client: Client):
    run_id = client.predict(["smooth_ap", "supcon"], api_name="/start_run")
    assert until(client, run_id, "running")["losses"] == ["smooth_ap", "supcon"]
    assert run_id in [run["id"] for run in client.predict(api_name="/list_runs")]
    client.predict(run_id, api_name="/stop_run")
    assert until(client, run_id, "stopped")["step"] > 0


def test_the_settings_reach_the_run(client: Client, explorer: Explorer):
    run_id = client.predict(
        ["supcon"],
        loss_parameters=[{"temperature": 0.2}],
        training={"minutes": 1, "seed": 7},
        api_name="/start_run",
    )
    config = explorer.library.get(run_id).config
    assert (config.minutes, config.seed, config.losses[0].parameters["temperature"]) == (1.0, 7, 0.2)
    client.predict(run_id, api_name="/stop_run")


def test_a_run_of_any_kind_is_started_by_its_settings(client: Client, explorer: Explorer):
    kinds = {kind["name"]: kind for kind in client.predict(api_name="/list_kinds")}
    assert {"steps", "recipes"} <= {setting["name"] for setting in kinds["finetuning"]["settings"]}
    settings = {"losses": [{"name": "supcon"}], "data": {"source": "drawn", "max_images": 200}, "seed": 3}
    run_id = client.predict("metric_learning", settings, api_name="/start_kind")
    config = explorer.library.get(run_id).config
    assert (config.seed, config.losses[0].name, config.data.max_images) == (3, "supcon", 200)
    client.predict(run_id, api_name="/stop_run")
    for wrong, words in (({"losses": ["supcon"]}, "needs its fields by name"), ({"device": "cpu"}, "no setting")):
        with pytest.raises(Exception, match=words):
            client.predict("metric_learning", wrong, api_name="/start_kind")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"losses": ["nope"]}, "There is no loss 'nope'"),
        ({"losses": ["supcon"], "loss_parameters": [{"temperature": 99}]}, "temperature needs"),
        ({"losses": ["supcon"], "encoder": "huge"}, "There is no encoder 'huge'"),
    ],
)
def test_what_is_wrong_comes_back_as_a_sentence(client: Client, arguments: dict, sentence: str):
    with pytest.raises(AppError, match=sentence):
        client.predict(**arguments, api_name="/start_run")


def test_an_unknown_run_is_a_sentence(client: Client):
    for run_id in ("0" * 26, "../x", ""):
        for name in ("/run_status", "/stop_run"):
            with pytest.raises(AppError, match="run"):
                client.predict(run_id, api_name=name)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("/remove_object", {"image": "0", "models": ["nobody"]}, "There is no model 'nobody'"),
        ("/remove_object", {"image": "9999999", "models": ["tiny_clip"]}, "there is no number 9999999"),
        ("/remove_object", {"image": "no picture", "models": ["tiny_clip"]}, "an image file in base64"),
        ("/retrieve_images", {"runs": ["0" * 26], "row": 1}, "There is no run"),
        ("/retrieve_images", {"runs": [], "row": 1}, "a list of 1 to 4 runs"),
        ("/retrieve_images", {"runs": ["0" * 26], "image": "no picture"}, "An image file in base64"),
        ("/list_mistakes", {"run": "0" * 26}, "There is no run"),
        ("/list_mistakes", {"run": "../x", "k": 0}, "k needs a whole number"),
        ("/measure_background", {"run": "0" * 26}, "There is no run"),
        ("/measure_background", {"run": "0" * 26, "queries": 1}, "queries needs a whole number"),
        ("/score_objects", {"dataset": "elsewhere", "models": ["tiny_clip"]}, "is not open"),
        ("/score_objects", {"fill": "magic", "models": ["tiny_clip"]}, "There is no fill 'magic'"),
    ],
)
def test_what_is_wrong_with_a_removal_comes_back_as_a_sentence(
    client: Client, name: str, arguments: dict, sentence: str
):
    with pytest.raises(AppError, match=sentence):
        client.predict(**arguments, api_name=name)


def test_several_clients_at_once(explorer: Explorer):
    def visit(_number: int) -> str:
        client = Client(explorer.blocks.local_url, verbose=False)
        run_id = client.predict(["supcon"], api_name="/start_run")
        status = client.predict(run_id, api_name="/run_status")
        assert status["phase"] in ("queued", "running", "starting")
        client.predict(run_id, api_name="/stop_run")
        return run_id

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(visit, range(4)))
    assert len(set(runs)) == 4


def test_only_these_endpoints_are_public(client: Client):
    described = client.view_api(return_format="dict", print_info=False)
    assert set(described["named_endpoints"]) == PUBLIC
    start = described["named_endpoints"]["/start_run"]
    assert [each["parameter_name"] for each in start["parameters"]][:2] == ["losses", "images"]


def test_nothing_keeps_a_connection_open(explorer: Explorer):
    config = explorer.blocks.config
    assert not [block for block in config["components"] if block["type"] in ("state", "timer")]
    assert config["connect_heartbeat"] is False


def test_the_page_asks_nobody_else(explorer: Explorer):
    with urllib.request.urlopen(explorer.blocks.local_url) as reply:
        page = reply.read().decode()
    assert "fonts.googleapis" not in page
    assert "page/sidebar.js" in page


def test_the_page_is_light(explorer: Explorer):
    # the form and the catalogue are drawn by scripts; the styles of the form and its editor of classes are within
    assert len(json.dumps(explorer.blocks.config)) < 75_000


def test_importing_the_package_loads_no_page():
    """The maps' process imports the package too; Gradio would cost it seconds."""
    code = "import sys, explorer, explorer.layout; assert not {'gradio', 'torch', 'plotly'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_the_program_explains_its_flags():
    command = [sys.executable, "app.py", "--help"]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for flag in ("--host", "--port", "--runs", "--share", "--public", "--max-parallel", "--detach"):
        assert flag in told
