"""Settings that reach beyond their run: in no form, and refused on a public page."""

from __future__ import annotations

import gc
from pathlib import Path

import gradio as gr
import pytest

from explorer.page.kinds import PAGES, FormContext, form_of
from explorer.server.executor import ProcessExecutor
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.explorer.served_page import GRADIO_WARNINGS
from trainers.config import RunConfig, StartConfig
from trainers.errors import ParameterError
from trainers.kinds import KINDS
from trainers.kinds.base import Kind
from trainers.parameters import specs

pytestmark = GRADIO_WARNINGS


def private(config: type[RunConfig]) -> set[str]:
    return {one.name for one in specs(config) if one.rule.private}


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_kind_whose_encoder_is_exported_can_start_from_one(kind: Kind) -> None:
    assert private(kind.config) == ({"start"} if issubclass(kind.config, StartConfig) else set())
    assert isinstance(kind.config(), StartConfig) or not kind.config().encoder_prefix
    assert not private(kind.config) & {*kind.main, *kind.more}


@pytest.mark.parametrize("name", list(KINDS))
def test_no_form_has_it(name: str) -> None:
    own = PAGES.get(name)
    forms = [form_of(KINDS[name]), *([own.form] if own is not None and own.form is not None else [])]
    for form in forms:
        with gr.Blocks():
            fields = form(FormContext(drawn=gr.Textbox(), note=gr.HTML())).fields
        assert fields and not private(KINDS[name].config) & set(fields)
    gc.collect()  # Gradio leaves an event loop open: found here, not in the next file's tests


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
