"""Exported models: their cards' loaders run without this program, in another process, and embed as the run did."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from _pytest.mark import ParameterSet
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PIL import Image
from safetensors.torch import load, load_file

from explorer.exports.encoders import write_models
from explorer.server.library import Library
from tests.finetuning.world import mend_config, write_coco
from tests.image_text.test_open_clip_models import tiny, write
from tests.tiny import opened, tiny_config, tiny_contrastive, to_end, write_images
from trainers.cli.main import main
from trainers.config import RunConfig
from trainers.data.decode import decode_query
from trainers.data.picture import LONGEST, read_picture
from trainers.encoders import ENCODERS
from trainers.errors import UserError
from trainers.image_text.encoding import squash
from trainers.metrics.measures import final_numbers
from trainers.parameters import Choice
from trainers.publishing import embedding_model
from trainers.retrieval.encoders import encoders_of, images_of, read_images
from trainers.runs import RunFolder


def timm(model: str, **parameters: object) -> Choice:
    frozen = "hidden" in parameters
    return Choice(
        name="timm_frozen" if frozen else "timm", parameters={"model": model, "pretrained": False, **parameters}
    )


ENCODER = {
    "conv4": Choice(name="conv4", parameters={"width": 8}),
    "small_conv": Choice(name="small_conv", parameters={"width": 8}),
    "resnet": timm("test_resnet"),
    "resnet_gem": timm("test_resnet", pooling="gem", layer_norm=True, side=40),
    "vit": timm("test_vit"),
    "vit_cls": timm("test_vit", pooling="cls", side=32),
    "vit_average": timm("test_vit3", pooling="average"),
    "convnext": timm("test_convnext", pooling="average", side=64),
    "frozen": timm("test_resnet", hidden=16),
    "frozen_linear": timm("test_vit", hidden=0),
}
MODEL = {
    "two_towers": {"name": "two_towers", "parameters": {"encoder": "timm:model=test_resnet;pretrained=false"}},
    "two_small_towers": {"name": "two_towers", "parameters": {"encoder": "conv4:width=8", "dim": 16}},
    "vsepp": {"name": "vsepp", "parameters": {"dim": 16, "width": 4, "words": 16}},
    "tiny_clip": {"name": "tiny_clip", "parameters": {"fresh": True}},
    "open_clip": {"name": "open_clip", "parameters": {}},
}
CONTRASTIVE = {"contrastive": "batch", "contrastive_group": "group"}
CASES = (*ENCODER, *CONTRASTIVE, *MODEL)
QUICK = ("conv4", "resnet_gem", "vit_cls", "frozen", "contrastive_group", "two_small_towers")
NEEDS_OPEN_CLIP = ("tiny_clip", "open_clip")
PROGRAM = """
import importlib.util, json, os, pathlib, re, sys, sysconfig

class Only:  # what a finder finds, where it is in the list
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, *more):
        return self.finder.find_spec(name, *more) if name.partition(".")[0] in allowed else None

sysconfig.get_config_vars()  # its data have a module of no fixed name
allowed = {*json.loads(sys.argv[4]), *sys.stdlib_module_names}
sys.meta_path[:] = [Only(finder) for finder in sys.meta_path]
assert importlib.util.find_spec("pydantic") is None and importlib.util.find_spec("PIL") is not None
import numpy as np, torch
torch.set_num_threads(1)
for name in json.loads(sys.argv[1]):
    os.chdir(pathlib.Path(sys.argv[2], name))
    (code,) = re.findall(r"```python\\n(.*?)```", pathlib.Path("embedding.md").read_text(), re.DOTALL)
    names = {}
    exec(code, names)
    np.save("rows", names["embed"](torch.from_numpy(np.load("images.npy")).float() / 255).numpy())
    files = sorted(pathlib.Path(sys.argv[3]).iterdir())
    np.save("read", torch.cat([names["read"](file) for file in files]).numpy())
assert not {"trainers", "explorer", "rankscope"} & sys.modules.keys()
print(sorted({"timm", "open_clip"} & sys.modules.keys()))
"""


def config_of(name: str, images: Path, coco: Path, clip: Path) -> RunConfig:
    if name in MODEL:
        chosen = dict(MODEL[name]["parameters"])  # type: ignore[call-overload]
        chosen |= {"model": f"local-dir:{clip}", "pretrained": ""} if name == "open_clip" else {}
        return mend_config(
            coco, {"removed": False}, {}, model=Choice(name=name.replace("small_", ""), parameters=chosen)
        )
    if name in CONTRASTIVE:
        return tiny_contrastive(images, Choice(name="simclr"), Choice(name="supcon"), norm=CONTRASTIVE[name])
    config = tiny_config(images, "smooth_ap", "supcon_out", steps=3)
    none = {"augmentation": Choice(name="none")} if ENCODERS[ENCODER[name].name].frozen else {}
    return dataclasses.replace(config, encoder=ENCODER[name], **none)


@dataclass(frozen=True)
class Exports:
    """Runs by name, the folder with what was exported of each, and the files that were read."""

    runs: dict[str, RunFolder]
    place: Path
    files: Path


def photographs(folder: Path) -> Path:
    folder.mkdir()
    draws = np.random.default_rng(0)
    for number, (suffix, size) in enumerate((("png", (50, 31)), ("jpg", (640, 900)), ("jpg", (700, 520)))):
        small = Image.fromarray(draws.integers(0, 256, (9, 7, 3), np.uint8))
        image = small.resize(size, Image.Resampling.BICUBIC)
        exif = Image.Exif()
        exif[0x0112] = 6 if number == 2 else 1
        image.save(folder / f"{number}.{suffix}", exif=exif)
    Image.fromarray(draws.integers(0, 256, (33, 40), np.uint8)).save(folder / "grey.png")
    return folder


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Exports]:
    """Export the second arm of every run of a group, and load and run them where torch and timm alone are there."""

    @cache
    def group(quick: bool) -> Exports:
        names = [name for name in CASES if (name in QUICK) == quick]
        made = exported(tmp_path_factory.mktemp("exports"), names)
        for there in ([name for name in names if name not in NEEDS_OPEN_CLIP], [*NEEDS_OPEN_CLIP][quick * 2 :]):
            others = ["open_clip_torch"] if there == [*NEEDS_OPEN_CLIP] else []
            packages = brought_by("torch", "timm", *others)
            words = [sys.executable, "-I", "-c", PROGRAM]
            words += [json.dumps(there), str(made.place), str(made.files), json.dumps(packages)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=250, check=False)
            assert done.returncode == 0, done.stderr
            assert ("open_clip" in done.stdout) == (there == [*NEEDS_OPEN_CLIP])
        return made

    return lambda name: group(name in QUICK)


def brought_by(*distributions: str) -> list[str]:
    """What can be imported where these distributions were installed with what they require."""
    needed, more = set[str](), {canonicalize_name(name) for name in distributions}
    while more:
        needed |= more
        lines = [line for name in more for line in metadata.requires(name) or ()]
        asked = [one for one in map(Requirement, lines) if one.marker is None or one.marker.evaluate({"extra": ""})]
        more = {canonicalize_name(one.name) for one in asked} - needed
    names = metadata.packages_distributions().items()
    return sorted(name for name, from_ in names if needed & {canonicalize_name(one) for one in from_})


def exported(home: Path, names: Sequence[str]) -> Exports:
    images, coco = write_images(home / "images"), write_coco(home / "coco")
    write(home / "clip", tiny())
    made = Exports(runs={}, place=home / "out", files=photographs(home / "photographs"))
    for name in names:
        loop = to_end(opened(home / "runs", config_of(name, images, coco, home / "clip")))
        if name not in MODEL:
            loop.finish()
        run, out = loop.folder, made.place / name
        out.mkdir(parents=True)
        words = ["export", run.id, "--arm", "1", "--runs", str(home / "runs"), "--out"]
        assert main([*words, str(out / "embedding.safetensors")]) == 0
        encoder, draws = encoders_of(run.id, home / "runs").read(1), np.random.default_rng(0)
        colours = draws.integers(0, 200, (100, encoder.channels, 1, 1))
        shape = (100, encoder.channels, encoder.side, encoder.side)
        np.save(out / "images", (colours + draws.integers(0, 56, shape)).astype(np.uint8))
        made.runs[name] = run
    return made


def cases(*quick: str, among: Iterable[str] = CASES) -> list[ParameterSet]:
    return [pytest.param(name, marks=() if name in quick else pytest.mark.long) for name in among]


def embedded(run: RunFolder, images: np.ndarray) -> np.ndarray:
    return encoders_of(run.id, run.path.parent).read(1).embed(torch.from_numpy(images)).numpy()


@pytest.mark.parametrize("name", cases(*QUICK))
def test_the_cards_loader_embeds_as_the_run(exports: Callable[[str], Exports], name: str) -> None:
    made = exports(name)
    run, out = made.runs[name], made.place / name
    images = np.load(out / "images.npy")
    expected = embedded(run, images)
    assert expected.std(0).max() > 1e-3, "images differ"
    assert np.abs(np.load(out / "rows.npy") - expected).max() < 1e-5
    again = encoders_of(str(out / "embedding.safetensors"), out)
    if name == "contrastive_group":
        with pytest.raises(UserError, match="it lacks batch normalisation"):
            again.read(0)
        return
    assert np.abs(again.read(0).embed(torch.from_numpy(images)).numpy() - expected).max() < 1e-5


@pytest.mark.parametrize("name", cases(*QUICK))
def test_the_loader_is_five_lines_and_reads_files_as_the_run(exports: Callable[[str], Exports], name: str) -> None:
    made_of = exports(name)
    out = made_of.place / name
    card = (out / "embedding.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    lines = [node for node in ast.parse(code).body if not isinstance(node, ast.Import | ast.ImportFrom)]
    made, loaded, embed, read = lines
    assert isinstance(embed, ast.FunctionDef) and isinstance(read, ast.FunctionDef) and read.name == "read"
    statements = [made, loaded, *embed.body[1:]]
    assert len(statements) <= 5
    assert ("so the loader needs open_clip as well" in card) == (name in NEEDS_OPEN_CLIP)
    side = np.load(out / "images.npy").shape[-1]
    for file, pixels in zip(sorted(made_of.files.iterdir()), np.load(out / "read.npy"), strict=True):
        data = file.read_bytes()
        if name in MODEL:
            own = squash(read_picture(data, LONGEST).pixels, side)
        else:
            own = decode_query(data, channels=3, side=side)[0]
        assert np.array_equal(np.rint(pixels * 255), own.numpy()), file.name


@pytest.mark.parametrize("name", cases(*QUICK, among=(*ENCODER, "contrastive")))
def test_the_exported_model_gives_the_runs_r_at_1(exports: Callable[[str], Exports], name: str) -> None:
    made = exports(name)
    run = made.runs[name]
    test = read_images(images_of(run)).test
    rows = encoders_of(str(made.place / name / "embedding.safetensors"), run.path).read(0).embed(test.images)
    alike = (rows @ rows.T).fill_diagonal_(-2)
    hits = test.labels[alike.argmax(1), 0] == test.labels[:, 0]
    scored = final_numbers(run.scalars(), 2)[1]["R_at_1"]
    assert hits.float().mean().item() == pytest.approx(scored, abs=1e-6)
    assert f"{scored:.4f}" in (made.place / name / "embedding.md").read_text()


@pytest.mark.parametrize("name", cases("conv4"))
def test_onnx_embeds_as_the_run(exports: Callable[[str], Exports], name: str, tmp_path: Path) -> None:
    made = exports(name)
    run = made.runs[name]
    words = ["export", run.id, "--arm", "1", "--onnx", "--runs", str(run.path.parent), "--out"]
    assert main([*words, str(tmp_path / "model.onnx")]) == 0
    images = np.load(made.place / name / "images.npy")
    (code,) = re.findall(r"```python\n(.*?)```", (tmp_path / "model.onnx.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(code.replace("model.onnx", str(tmp_path / "model.onnx")), names)
    rows = names["embed"](images.astype(np.float32) / 255)  # type: ignore[operator]
    apart = np.abs(rows - embedded(run, images)).max(1)
    # features are rounded to half precision in training: another order of sums may round one the other way
    assert np.quantile(apart, 0.5) < 1e-5
    assert apart.max() < {"frozen": 2e-4, "frozen_linear": 2e-4, "contrastive_group": 2e-5}.get(name, 1e-5)
    read = names["read"](sorted(made.files.iterdir())[0])  # type: ignore[operator]
    assert read.dtype == np.float32 and np.array_equal(read[0], np.load(made.place / name / "read.npy")[0])
    about = onnxruntime.InferenceSession(tmp_path / "model.onnx").get_modelmeta().custom_metadata_map
    assert about["run"] == run.id and about["arm"] == "1"


def test_the_download_holds_every_arm_with_its_card(exports: Callable[[str], Exports], tmp_path: Path) -> None:
    made = exports("conv4")
    out, library = made.place / "conv4", Library(made.runs["conv4"].path.parent, tmp_path)
    write_models(library.get(made.runs["conv4"].id), tmp_path / "models.zip")
    library.close()
    with zipfile.ZipFile(tmp_path / "models.zip") as archive:
        first, second = ("0_smooth_ap", "1_supcon_out")
        ends = (".safetensors", ".md")
        assert archive.namelist() == [f"{name}{end}" for name in (first, second) for end in ends]
        one, other = load(archive.read(f"{second}.safetensors")), load_file(out / "embedding.safetensors")
        assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)
        card = (out / "embedding.md").read_text().replace("embedding.safetensors", f"{second}.safetensors")
        assert archive.read(f"{second}.md").decode() == card.replace("# embedding", f"# {second}", 1)


def test_what_onnx_needs_is_said(exports: Callable[[str], Exports], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_model, "ONNX", ("no_onnx", "no_onnxscript"))
    model = embedding_model.EmbeddingModel.of(exports("conv4").runs["conv4"], 0)
    with pytest.raises(UserError, match="ONNX files need no_onnx and no_onnxscript: pip install onnx"):
        model.write_onnx(Path("never.onnx"))


def test_notes_beside_the_model_are_not_replaced_and_a_card_is(
    exports: Callable[[str], Exports], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, notes = exports("conv4").runs["conv4"], tmp_path / "notes.md"
    words = ["export", run.id, "--runs", str(run.path.parent), "--out", str(tmp_path / "notes.safetensors")]
    notes.write_text("# notes\n\nmine")
    assert main(words) == 1 and "not a card of this program" in capsys.readouterr().err
    assert notes.read_text() == "# notes\n\nmine" and [*tmp_path.iterdir()] == [notes]
    notes.unlink()
    assert main(words) == main([*words, "--arm", "1"]) == 0 and "SupCon" in notes.read_text()
