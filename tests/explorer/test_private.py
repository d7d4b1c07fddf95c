"""Settings that reach beyond their run: not shown on a public page, and refused there."""

from __future__ import annotations

import dataclasses
import gc
import json
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest

from explorer.page.entry_picker import EntryPicker
from explorer.page.kinds import PAGES, FormContext, form_of
from explorer.page.start_picker import StartPicker
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.explorer.served_page import GRADIO_WARNINGS
from tests.tiny import tiny_config, write_images
from trainers.config import RunConfig, StartConfig
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.kinds import KINDS, kind_of
from trainers.kinds.base import Kind
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice, specs
from trainers.runs import RunFolder
from trainers.training.executor import ProcessExecutor

pytestmark = GRADIO_WARNINGS


def private(config: type[RunConfig]) -> set[str]:
    return {one.name for one in specs(config) if one.rule.private}


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_kind_whose_encoder_is_exported_can_start_from_one(kind: Kind) -> None:
    assert private(kind.config) == ({"start"} if issubclass(kind.config, StartConfig) else set())
    assert isinstance(kind.config(), StartConfig) or not kind.config().encoder_prefix
    assert not private(kind.config) & {*kind.main, *kind.more}


@pytest.fixture(params=[True, False], ids=["public", "own"])
def runs(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Runs]:
    settings = Settings(runs=tmp_path / "runs", recorded=tmp_path / "none", public=request.param)
    scheduler = Scheduler(settings, ProcessExecutor())
    yield Runs(settings, scheduler)
    scheduler.close()


OWN = [name for name, kind in KINDS.items() if private(kind.config) and name in PAGES and PAGES[name].form is not None]


@pytest.mark.parametrize("name", OWN)
def test_a_form_shows_it_unless_strangers_start_runs(name: str, runs: Runs) -> None:
    build = PAGES[name].form
    assert build is not None
    with gr.Blocks():
        form = build(FormContext(drawn=gr.Textbox(), note=gr.HTML(), runs=runs))
        shown, block = True, form.fields["start"]
        while block is not None:
            shown, block = shown and getattr(block, "visible", True) is not False, block.parent
    assert shown is not runs.public
    assert list(form.held(KINDS[name].config())) == list(form.fields)
    gc.collect()  # Gradio leaves an event loop open: found here, not in the next file's tests


@pytest.mark.parametrize("name", list(KINDS))
def test_a_form_made_of_the_settings_has_it_not(name: str) -> None:
    with gr.Blocks():
        fields = form_of(KINDS[name])(FormContext(drawn=gr.Textbox(), note=gr.HTML())).fields
    assert fields and not private(KINDS[name].config) & set(fields)
    gc.collect()


@pytest.mark.parametrize("runs", [False], indirect=True, ids=["own"])
def test_the_run_that_is_shown_is_taken_with_its_encoder(tmp_path: Path, runs: Runs) -> None:
    config = tiny_config(write_images(tmp_path / "images", train=4, test=3, each=6), "smooth_ap", "supcon_out", steps=2)
    encoder = Choice(name="conv4", parameters={"width": 8})
    folder = RunFolder.create(tmp_path / "runs", dataclasses.replace(config, encoder=encoder))
    picker = StartPicker(
        config=MetricLearningConfig,
        encoder=EntryPicker(spec=next(s for s in specs(MetricLearningConfig) if s.name == "encoder"), entries=ENCODERS),
    )
    assert "no checkpoint" in str(picker._taken(runs, folder.id, "1")[3])
    loop = kind_of(config).loop()(folder)
    while loop.advance(60):
        pass
    loop.checkpoint()
    start, name, text, note, turn = picker._taken(runs, folder.id, "2")
    assert (start, name, turn) == (folder.id, "conv4", "2")
    assert json.loads(str(text))["conv4"] == {"width": 8} and f"{folder.id}:1" in str(note)
    for unknown in ("", "0" * 26, "../x"):
        assert "rs-alert" in str(picker._taken(runs, unknown, "3")[3])


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if private(kind.config)])
def test_a_public_page_refuses_it_and_another_queues_it(tmp_path: Path, name: str, public: bool) -> None:
    settings = Settings(runs=tmp_path / "runs", recorded=tmp_path / "none", public=public)
    scheduler = Scheduler(settings, ProcessExecutor())
    runs = Runs(settings, scheduler)
    try:
        config = KINDS[name].config(start="0" * 26, minutes=1.0)  # type: ignore[call-arg]
        if public:
            with pytest.raises(ParameterError, match="Start from cannot be set on a public page"):
                runs.start(config, "mine")
            assert runs.listing() == []
        else:
            run_id = runs.start(config, "mine")
            assert runs.find(run_id).config.start == "0" * 26
    finally:
        scheduler.close()
