"""Neighbours of a query before and after something is removed from it, for runs of every kind."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from trainers.cli.main import main
from trainers.data.labelled.datasets import drawn
from trainers.errors import DataError, UserError
from trainers.object_removal.drawing import Stroke
from trainers.object_removal.fills import FILLS, paint
from trainers.object_removal.reliance.queries import ALONE, WHOLE, WITHOUT
from trainers.object_removal.removal import Target
from trainers.parameters import Choice
from trainers.retrieval.encoders import encoders_of_run
from trainers.retrieval.results import ArmResult, Query, Removal, Retrieval, RunArm
from trainers.retrieval.retriever import Retriever
from trainers.runs import RunFolder

PROBE = Choice(name="probe")
BOX = Target.of(boxes=[[0.25, 0.25, 0.75, 0.5]])


def asked(folder: RunFolder, target: Target, row: int = 1, **query: object) -> Retrieval:
    arms = [RunArm(folder=folder, arm=arm) for arm in range(folder.config.arms)]
    query = {"row": row} | query
    removal = Removal(target=target, fill="mean")
    return Retriever().retrieve(arms, Query(removal=removal, **query), PROBE, k=5)  # type: ignore[arg-type]


def rows(arm: ArmResult, form: str = "") -> list[int]:
    assert arm.error is None and arm.ranking is not None and arm.after is not None, arm.error
    return [result.row for result in (arm.after.rankings[form] if form else arm.ranking).results]


@pytest.mark.parametrize("kind", ["run", "contrastive_run", "finetuned", "pots"])
def test_neighbours_are_those_of_a_slow_search(kind: str, request: pytest.FixtureRequest) -> None:
    folder: RunFolder = request.getfixturevalue(kind)
    answer = asked(folder, BOX)
    assert list(answer.forms) == [WHOLE, WITHOUT, ALONE] and answer.removed == ()
    images, _ = Retriever().gallery(folder, PROBE).images()
    side = images.shape[-1]
    mask = np.zeros((side, side), dtype=bool)
    mask[round(0.25 * side) : round(0.5 * side), round(0.25 * side) : round(0.75 * side)] = True
    assert answer.covered == pytest.approx(mask.mean())
    pixels = paint(FILLS["mean"], np.ascontiguousarray(images[1].permute(1, 2, 0).numpy()), mask)
    filled = torch.from_numpy(pixels).permute(2, 0, 1)
    assert torch.equal(answer.forms[WITHOUT], filled) and torch.equal(answer.forms[WHOLE], images[1])
    twin = (1 + len(images) // 2) % len(images)
    for number, arm in enumerate(answer.arms):
        encoder = encoders_of_run(folder).read(number)
        gallery, vector = encoder.embed(images).double(), encoder.embed(filled[None])[0].double()
        similarity = (gallery @ vector).numpy()
        similarity[[1, twin] if kind == "finetuned" else [1]] = -1  # the photograph itself
        found = similarity[rows(arm, WITHOUT)]
        assert found == pytest.approx(np.sort(similarity)[::-1][:5], abs=1e-5) and len(set(rows(arm, WITHOUT))) == 5
        assert arm.after is not None and arm.after.error is None
        assert arm.after.stays == len(set(rows(arm)) & set(rows(arm, WITHOUT))) / 5
    assert json.dumps(answer.as_json())


def test_the_drawn_pot_goes_by_its_class(pots: RunFolder) -> None:
    retriever = Retriever()
    (name,) = retriever.known_objects(pots, PROBE, 3)
    answer = asked(pots, Target.of([name]), row=3)
    row = int(retriever.gallery(pots, PROBE).rows[3])
    choice = pots.config.data  # type: ignore[attr-defined]
    mask = drawn.pot_mask(drawn.test_shots(choice)[row], 16, choice.seed, {})
    changed = (answer.forms[WITHOUT] != answer.forms[WHOLE]).any(0).numpy()
    assert answer.removed == (name,) and answer.covered == pytest.approx(mask.mean()) and not changed[~mask].any()
    with pytest.raises(UserError, match="The image has no 'cup'; it has object"):
        asked(pots, Target.of(["cup"]), row=3)


def test_several_classes_go_at_once(finetuned: RunFolder) -> None:
    both = Retriever().known_objects(finetuned, PROBE, 0)
    assert len(both) == 2
    one, two = (asked(finetuned, Target.of(names), row=0) for names in (list(both)[:1], list(both)))
    assert one.removed == tuple(both)[:1] and two.removed == tuple(both)
    assert two.covered == pytest.approx(sum(both.values())) and one.covered < two.covered
    again = Retriever().known_objects(finetuned, PROBE, len(finetuned.probe().rows) // 2)  # type: ignore[union-attr]
    assert len(again) == 1, "an image without an object has the others"


def test_a_recorded_fine_tuning_has_the_images_without_their_object(finetuned: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(finetuned.path, tmp_path / finetuned.id)
    shutil.rmtree(tmp_path / finetuned.id / "ckpt")
    recorded = RunFolder.open(tmp_path, finetuned.id)
    known, half = Retriever().known_objects, len(finetuned.probe().rows) // 2  # type: ignore[union-attr]
    (gone,) = set(known(finetuned, PROBE, 0)) - set(known(finetuned, PROBE, half))
    arms = [RunArm(folder=recorded, arm=0)]
    telea, mean = (
        Retriever().retrieve(arms, Query(row=0, removal=Removal(target=Target.of([gone]), fill=fill)), PROBE, k=5)
        for fill in ("telea", "mean")
    )
    (arm,), stored = telea.arms, recorded.embeddings(recorded.snapshots()[-1][0])[0].astype(np.float64)
    similarity = stored @ stored[half] / np.linalg.norm(stored, axis=1) / np.linalg.norm(stored[half])
    similarity[[0, half]] = -1
    assert similarity[rows(arm, WITHOUT)] == pytest.approx(np.sort(similarity)[::-1][:5], abs=1e-5)
    assert mean.arms[0].after is not None and "neither recordings" in str(mean.arms[0].after.error)


def test_an_image_of_ones_own(run: RunFolder) -> None:
    pixels = np.full((40, 60, 3), 90, np.uint8)
    pixels[10:30, 20:40] = (200, 30, 30)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    brush = Target.of(strokes=[Stroke(radius=0.2, points=[[0.5, 0.5]])])
    answer = asked(run, brush, row=None, image=file.getvalue())  # type: ignore[arg-type]
    assert (
        answer.query is None and 0.1 < answer.covered < 0.2 and all(len(rows(arm, ALONE)) == 5 for arm in answer.arms)
    )
    with pytest.raises(DataError, match="No object of this image is known"):
        asked(run, Target.of(["dog"]), row=None, image=file.getvalue())  # type: ignore[arg-type]


def test_the_command_prints_both(finetuned: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["retrieve", finetuned.id, "--runs", str(finetuned.path.parent), "--gallery", "probe", "--row", "0"]
    both = list(Retriever().known_objects(finetuned, PROBE, 0))
    assert main([*words, "--k", "3", "--remove", *both, "--fill", "mean"]) == 0
    printed = capsys.readouterr().out
    assert f"removed: {', '.join(both)}" in printed and printed.count("  row ") == 2 * 3 * 3
    assert printed.count("without it ") == 2 and printed.count("object alone:") == 2
    assert main([*words, "--k", "3", "--region", "0,0,0.5,0.5", "--region", "0.5,0.5,0.6,0.6"]) == 0
    assert "removed: a region, 26% of the query" in capsys.readouterr().out
    assert main([*words, "--remove", "unicorn"]) == 1
    assert "has no 'unicorn'" in capsys.readouterr().err
