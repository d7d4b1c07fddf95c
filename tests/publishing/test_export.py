"""Exported models: what their cards say loads them, and they embed as the run did; timm's without this program."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PIL import Image
from safetensors.torch import load, load_file, save_file

from explorer.exports.encoders import write_models
from explorer.server.library import Library
from tests.equivalence import always
from tests.finetuning.world import mend_config, write_coco
from tests.image_text.test_open_clip_models import tiny, write
from tests.tiny import opened, tiny_config, tiny_contrastive, to_end, write_images
from trainers.cli.main import main
from trainers.config import RunConfig
from trainers.data.decode import decode_query
from trainers.data.picture import LONGEST, read_picture
from trainers.encoders import ENCODERS, Encoder
from trainers.encoders.timm_models import _resized
from trainers.errors import UserError
from trainers.image_text.encoding import squash
from trainers.metrics.measures import final_numbers
from trainers.parameters import Choice
from trainers.publishing import embedding_model
from trainers.retrieval.encoders import encoders_of, images_of, read_images, without_features
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
BY_TIMM = ("resnet_gem", "vit_cls", "frozen")
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
allowed = {*json.loads(sys.argv[1]), *sys.stdlib_module_names}
sys.meta_path[:] = [Only(finder) for finder in sys.meta_path]
assert importlib.util.find_spec("pydantic") is None
import torch
torch.set_num_threads(1)
from safetensors.torch import load_file, save_file
for place in sys.argv[2:]:
    os.chdir(place)
    code = re.findall(r"```python\\n(.*?)```", pathlib.Path("embedding.md").read_text(), re.DOTALL)[1]
    names = {}
    exec(code, names)
    with torch.inference_mode():
        save_file({"rows": names["encoder"](load_file("seen")["pixels"]).contiguous()}, "rows")
assert not {"trainers", "explorer", "rankscope"} & sys.modules.keys()
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
class Exported:
    """A run, the folder with its second arm, which was exported, and the names that its card's first lines make."""

    run: RunFolder
    place: Path
    names: dict[str, Any]

    @property
    def card(self) -> str:
        return (self.place / "embedding.md").read_text()

    @property
    def images(self) -> torch.Tensor:
        """A hundred images, each of a colour."""
        model, draws = self.names["model"], torch.Generator().manual_seed(0)
        colours = torch.randint(0, 200, (100, model.channels, 1, 1), generator=draws)
        return (colours + torch.randint(0, 56, (100, model.channels, model.side, model.side), generator=draws)).byte()


def lines_of(card: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", card, re.DOTALL)


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
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sorted(photographs(tmp_path_factory.mktemp("read") / "photographs").iterdir())


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Exported]:
    """Train, export and load by name."""
    home = tmp_path_factory.mktemp("exports")
    images, coco = write_images(home / "images"), write_coco(home / "coco")
    write(home / "clip", tiny())

    @cache
    def exported(name: str) -> Exported:
        loop = to_end(opened(home / "runs", config_of(name, images, coco, home / "clip")))
        if name not in MODEL:
            loop.finish()
        run, out, names = loop.folder, home / name, dict[str, Any]()
        out.mkdir()
        words = ["export", run.id, "--arm", "1", "--runs", str(home / "runs"), "--out"]
        assert main([*words, str(out / "embedding.safetensors")]) == 0
        code = lines_of((out / "embedding.md").read_text())[0].partition("rows = ")[0]
        exec(code.replace("embedding.safetensors", str(out / "embedding.safetensors")), names)
        return Exported(run=run, place=out, names=names)

    return exported


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


def of_cases(*quick: str, among: Iterable[str] = CASES) -> Callable[[Callable[..., None]], Any]:
    return always("name", quick, [name for name in among if name not in quick])


def embedded(run: RunFolder, images: torch.Tensor) -> np.ndarray:
    return encoders_of(run.id, run.path.parent).read(1).embed(images).numpy()


@of_cases(*QUICK)
def test_the_card_loads_what_embeds_as_the_run(exports: Callable[[str], Exported], name: str) -> None:
    made = exports(name)
    expected = embedded(made.run, made.images)
    assert expected.std(0).max() > 1e-3, "images differ"
    assert np.abs(made.names["model"].embed(made.images) - expected).max() < 1e-5


@of_cases(*QUICK)
def test_the_card_reads_files_as_the_run(
    exports: Callable[[str], Exported], files: list[Path], name: str, tmp_path: Path
) -> None:
    model = exports(name).names["model"]
    for file in files:
        data = file.read_bytes()
        if name in MODEL:
            own = squash(read_picture(data, LONGEST).pixels, model.side)
        else:
            own = decode_query(data, channels=3, side=model.side)[0]
        assert torch.equal(model.read(file), own), file.name
    expected = embedded(exports(name).run, torch.stack([*map(model.read, files)]))
    assert np.abs(model.embed([str(file) for file in files]) - expected).max() < 1e-5
    damaged, needed = tmp_path / "no.png", "A list of image files was needed"
    damaged.write_bytes(b"none")
    for images, said in (([damaged], "is not used"), (["none"], "none cannot be read"), ([], needed), ("one", needed)):
        with pytest.raises(UserError, match=said):
            model.embed(images)


def test_timm_loads_the_encoder_alone_in_five_lines(exports: Callable[[str], Exported]) -> None:
    made = [exports(name) for name in BY_TIMM]
    expected = []
    for one in made:
        code = lines_of(one.card)[1]
        assert len([line for line in code.splitlines() if line]) == 5
        encoder = without_features(encoders_of(one.run.id, one.run.path.parent).read(1).network)
        assert isinstance(encoder, Encoder)
        with torch.inference_mode():
            pixels = _resized(encoder.normalise(one.images / 255), encoder.given_side)
            expected.append(encoder.backbone(pixels))  # type: ignore[operator]
        save_file({"pixels": pixels}, one.place / "seen")
    words = [sys.executable, "-I", "-c", PROGRAM, json.dumps(brought_by("torch", "timm", "safetensors"))]
    words += [str(one.place) for one in made]
    done = subprocess.run(words, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    for one, rows in zip(made, expected, strict=True):
        assert rows.std(0).max() > 1e-3 and (load_file(one.place / "rows")["rows"] - rows).abs().max() < 1e-5
    assert len(lines_of(exports("conv4").card)) == 1


@of_cases(*QUICK[:4], among=(*ENCODER, "contrastive"))
def test_the_exported_model_gives_the_runs_r_at_1(exports: Callable[[str], Exported], name: str) -> None:
    made = exports(name)
    run = made.run
    test = read_images(images_of(run)).test
    rows = torch.from_numpy(made.names["model"].embed(test.images))
    alike = (rows @ rows.T).fill_diagonal_(-2)
    hits = test.labels[alike.argmax(1), 0] == test.labels[:, 0]
    scored = final_numbers(run.scalars(), 2)[1]["R_at_1"]
    assert hits.float().mean().item() == pytest.approx(scored, abs=1e-6)
    assert f"{scored:.4f}" in made.card


@of_cases("conv4")
def test_onnx_embeds_and_reads_as_the_run(
    exports: Callable[[str], Exported], files: list[Path], name: str, tmp_path: Path
) -> None:
    made, place = exports(name), tmp_path / name
    place.mkdir()
    run, images, model = made.run, made.images, made.names["model"]
    words = ["export", run.id, "--arm", "1", "--onnx", "--runs", str(run.path.parent), "--out"]
    assert main([*words, str(place / "model.onnx")]) == 0
    (code,) = lines_of((place / "model.onnx.md").read_text())
    names: dict[str, Any] = {}
    exec(code.replace("model.onnx", str(place / "model.onnx")), names)
    apart = np.abs(names["embed"](images.numpy().astype(np.float32) / 255) - embedded(run, images)).max(1)
    # features are rounded to half precision in training: another order of sums may round one the other way
    assert np.quantile(apart, 0.5) < 1e-5
    assert apart.max() < {"frozen": 2e-4, "frozen_linear": 2e-4, "contrastive_group": 2e-5}.get(name, 1e-5)
    for file in files:
        read = names["read"](file)
        assert read.dtype == np.float32
        assert np.array_equal(np.rint(read[0] * 255), model.read(file).numpy()), file.name
    about = onnxruntime.InferenceSession(place / "model.onnx").get_modelmeta().custom_metadata_map
    assert about["run"] == run.id and about["arm"] == "1"


def test_the_download_holds_every_arm_with_its_card(exports: Callable[[str], Exported], tmp_path: Path) -> None:
    made = exports("conv4")
    out, library = made.place, Library(made.run.path.parent, tmp_path)
    write_models(library.get(made.run.id), tmp_path / "models.zip")
    library.close()
    with zipfile.ZipFile(tmp_path / "models.zip") as archive:
        first, second = ("0_smooth_ap", "1_supcon_out")
        ends = (".safetensors", ".md")
        assert archive.namelist() == [f"{name}{end}" for name in (first, second) for end in ends]
        one, other = load(archive.read(f"{second}.safetensors")), load_file(out / "embedding.safetensors")
        assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)
        card = (out / "embedding.md").read_text().replace("embedding.safetensors", f"{second}.safetensors")
        assert archive.read(f"{second}.md").decode() == card.replace("# embedding", f"# {second}", 1)


def test_what_onnx_needs_is_said(exports: Callable[[str], Exported], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_model, "ONNX", ("no_onnx", "no_onnxscript"))
    model = embedding_model.EmbeddingModel.of(exports("conv4").run, 0)
    with pytest.raises(UserError, match="ONNX files need no_onnx and no_onnxscript: pip install onnx"):
        model.write_onnx(Path("never.onnx"))


def test_notes_beside_the_model_are_not_replaced_and_a_card_is(
    exports: Callable[[str], Exported], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, notes = exports("conv4").run, tmp_path / "notes.md"
    words = ["export", run.id, "--runs", str(run.path.parent), "--out", str(tmp_path / "notes.safetensors")]
    notes.write_text("# notes\n\nmine")
    assert main(words) == 1 and "not a card of this program" in capsys.readouterr().err
    assert notes.read_text() == "# notes\n\nmine" and [*tmp_path.iterdir()] == [notes]
    notes.unlink()
    assert main(words) == main([*words, "--arm", "1"]) == 0 and "SupCon" in notes.read_text()
