"""The verb ``recipe``: the list, what is printed, what is refused, and runs beside the paper's numbers."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tests.tiny import write_images
from trainers.cli.main import main
from trainers.parameters import Choice
from trainers.plans.config import SweepConfig
from trainers.recipes.catalogue import RECIPES, Dataset, Figure, Setting
from trainers.recipes.printed import BESIDE_HEAD, HEAD, NO_FIGURES
from trainers.runs import RunFolder, list_runs


def test_the_list_has_every_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [title.upper() for title in HEAD]
    assert [line.split()[0] for line in lines[1:]] == list(RECIPES)
    assert main(["recipe", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == list(RECIPES)
    assert all(setting["source"] for entry in listed for setting in entry["settings"])


def test_a_recipe_is_printed_with_sources_figures_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "sop_hierarchy", "--data", "here/sop"]) == 0
    text = capsys.readouterr().out
    assert "section VII-A" in text and "published code (SupRank)" in text and "ours: " in text
    assert "59.4" in text and "Table V, SOP" in text and RECIPES["sop_hierarchy"].differs[0] in text
    assert text.splitlines()[-1].startswith("python -m trainers sweep ") and "--data here/sop" in text
    assert main(["recipe", "cars_contextual"]) == 0
    assert NO_FIGURES in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no_such"], "There is no recipe 'no_such'"),
        (["sop_hierachy"], "Did you mean 'sop_hierarchy'?"),
        (["sop_hierarchy", "--run"], "Name it with --data PATH."),
        (["--run"], "Which recipe is meant is not given."),
        (["sop_hierarchy", "--run", "--data", "no/such/folder"], "got 'no/such/folder'"),
        (["sop_hierarchy", "--of", "0" * 26], "0" * 26),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recipe", *words, "--runs", str(tmp_path)]) == 1
    assert said in capsys.readouterr().err
    assert not list_runs(tmp_path)


def test_a_recipe_trains_and_its_numbers_stand_beside_the_printed_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    images = write_images(tmp_path / "images")
    sizes = {"dim": 8, "classes_per_batch": 4, "images_per_class": 3, "steps": 2, "probe_size": 20, "device": "cpu"}
    given = {"encoder": "conv4:width=8", "data.image_size": 24, **sizes}
    quick = dataclasses.replace(
        RECIPES["sop_deit"],
        name="quick",
        dataset=Dataset(title="Discs", source=str(images), layout="A folder.", levels=1),
        settings={name: Setting(value=value, source="section 1") for name, value in given.items()},
        arms=Setting(value=("smooth_ap", "supcon_out"), source="section 1"),
        figures=(Figure(arm="supcon_out", metric="R_at_1", value=85.2, where="Table 1", row="SupCon"),),
    )
    monkeypatch.setattr("trainers.recipes.catalogue.RECIPES", {"quick": quick})
    runs = ["--runs", str(tmp_path / "runs")]
    assert main(["recipe", "quick", "--run", *runs]) == 0
    table = capsys.readouterr().out.splitlines()
    assert any(all(word in line for word in ("SupCon", "85.2", "Table 1: SupCon")) for line in table)
    assert "Not as in the recipe:" not in table
    plan = next(run for run in list_runs(tmp_path / "runs") if not run.part_of)
    assert plan.state().phase == "finished"

    assert main(["recipe", "quick", "--of", plan.id, "--json", *runs]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["run"] == plan.id and values["differs"] == []
    first, *others = values["numbers"]
    assert list(first) == list(BESIDE_HEAD) and first["seeds"] == 3 and first["printed"] == "85.2"
    assert 0 < float(first["here"]) <= 100 and any(first["here"] in line and "85.2" in line for line in table)
    assert others and all(row["here"] is not None and row["printed"] is None for row in others)


def not_as_in(name: str, config: SweepConfig, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What ``--of`` lists of a run, which need not have ended."""
    run = RunFolder.create(folder, config)
    run.db.close()
    assert main(["recipe", name, "--of", run.id, "--json", "--runs", str(folder)]) == 0
    differs: list[str] = json.loads(capsys.readouterr().out)["differs"]
    return differs


def test_settings_of_a_run_that_are_not_the_recipes_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = RECIPES["sop_hierarchy"]
    config = recipe.config("here/sop")
    images = "images: here/sop, not checked to be Stanford Online Products"
    assert not_as_in(recipe.name, config, tmp_path, capsys) == [images]
    losses = list(config.run.losses)  # type: ignore[attr-defined]
    losses[0] = Choice(name="smooth_ap", parameters={"tau": 0.01})  # its default, so no difference
    losses[4] = Choice(name="happier", parameters={"preset": "inat"})
    changed = {"learning_rate": 1e-3, "classes_per_batch": 16, "encoder": Choice(name="conv4"), "epochs": 2.0}
    run = config.run.changed(losses=tuple(losses), device="cpu", **changed)
    run = run.changed(data=dataclasses.replace(run.data, image_size=64))  # type: ignore[attr-defined]
    assert set(not_as_in(recipe.name, SweepConfig(run=run, seeds=(7,)), tmp_path, capsys)) == {
        images,
        "losses: happier:preset=sop → happier:preset=inat",
        "learning_rate: 0.0001 → 0.001",
        "classes_per_batch: 64 → 16",
        "encoder: timm:model=resnet50.tv_in1k,layer_norm=true → conv4",
        "data.image_size: 224 → 64",
        "epochs: 100 → 2",
        "seeds: 0 1 2 → 7",
    }


@pytest.mark.parametrize("vary", [{}, {"weight_decay": [0.0, 1e-4]}])
def test_other_losses_and_varied_settings_are_no_run_of_a_recipe(
    vary: dict[str, list[float]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their numbers would stand in the rows of the recipe's."""
    config = RECIPES["sop_recall"].config("here/sop")
    losses = config.run.losses  # type: ignore[attr-defined]
    run = config.run.changed(losses=losses if vary else losses[::-1])
    folder = RunFolder.create(tmp_path, SweepConfig(run=run, vary=vary))
    folder.db.close()
    assert main(["recipe", "sop_recall", "--of", folder.id, "--runs", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "of losses smooth_recall, sup_recall, rod_recall, rod_recall;" in said
    assert ("and varies other settings" in said) == bool(vary)
