"""open_clip models from folders, checkpoints and names, with small random networks; and what can be wrong."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

import open_clip
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from trainers.errors import UserError
from trainers.image_text.encoding import encode_images, encode_texts
from trainers.image_text.models import MODELS
from trainers.image_text.models._open_clip_source import REGISTERED, missing

TEXT = {"context_length": 20, "vocab_size": 49_408, "width": 16, "heads": 2, "layers": 1}
VISION = {"image_size": 32, "patch_size": 16, "width": 16, "head_width": 8, "layers": 1}
SEEN = {"mean": [0.1, 0.2, 0.3], "std": [0.5, 0.6, 0.7], "resize_mode": "squash"}
SENTENCES = ["a dog", "two cats on a mat", "A photo of a frisbee."]


def tiny(bias: float | None = None, **text) -> dict:
    config = {"embed_dim": 8, "vision_cfg": dict(VISION), "text_cfg": {**TEXT, **text}}
    return config if bias is None else {**config, "init_logit_bias": bias, "init_logit_scale": math.log(10)}


def network(config: dict) -> open_clip.CLIP:
    torch.manual_seed(0)
    return open_clip.CLIP(**json.loads(json.dumps(config))).eval()


def write(folder: Path, config: dict, half: bool = False) -> open_clip.CLIP:
    folder.mkdir(exist_ok=True)
    net = network(config)
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": SEEN}))
    state = {name: value.half() if half else value for name, value in net.state_dict().items()}
    save_file(state, folder / "open_clip_model.safetensors")
    return net


@pytest.fixture
def builtin(tmp_path):
    """A small architecture under a name of open_clip's, taken away again."""
    path = tmp_path / "tiny-rankscope.json"
    path.write_text(json.dumps(tiny()))
    open_clip.add_model_config(path)
    yield "tiny-rankscope"
    open_clip.factory._MODEL_CONFIG_PATHS.remove(path)
    open_clip.factory._MODEL_CONFIGS.pop("tiny-rankscope")


def build(model: str, pretrained: str = "", name: str = "open_clip"):
    return MODELS[name].build({"model": model, "pretrained": pretrained})


def made(folder: Path, **config):
    """The model of a folder, which is written."""
    write(folder, tiny(**config))
    return build(f"local-dir:{folder}")


@pytest.mark.parametrize("front", ["", "module.", "_orig_mod.", "module._orig_mod."])
@pytest.mark.parametrize("named", [False, True])
def test_a_checkpoint_of_open_clips_training_is_read(tmp_path, builtin, front, named):
    folder = tmp_path / "trained"
    net = write(folder, tiny())
    (folder / "open_clip_model.safetensors").unlink()
    state = {f"{front}{name}": value for name, value in net.state_dict().items()}
    held = {"epoch": 3, "name": "run", "state_dict": state, "args": argparse.Namespace(lr=0.1, logs=Path("logs"))}
    torch.save(held, folder / "epoch_3.pt" if named else folder / "open_clip_pytorch_model.bin")
    model = build("tiny-rankscope", str(folder / "epoch_3.pt")) if named else build(f"local-dir:{folder}")
    torch.testing.assert_close(model.net.visual.proj, net.visual.proj)


def test_a_checkpoint_that_would_run_something_is_refused(tmp_path):
    write(tmp_path / "clip", tiny())
    (tmp_path / "clip" / "open_clip_model.safetensors").unlink()
    torch.save({"state_dict": {}, "of": nn.Linear(1, 1)}, tmp_path / "clip" / "open_clip_pytorch_model.bin")
    with refused(r"holds more than tensors \(torch.nn.modules.linear.Linear\), and nothing of a file is run here"):
        build(f"local-dir:{tmp_path / 'clip'}")
    torch.save({"a": torch.zeros(2)}, tmp_path / "clip" / "open_clip_pytorch_model.bin")
    with refused("holds no network of open_clip: none of its tensors is called logit_scale"):
        build(f"local-dir:{tmp_path / 'clip'}")


def refused(words: str):
    return pytest.raises(UserError, match=words)


def in_cache(root: Path, repository: str) -> Path:
    """The folder of a repository's only commit in the Hub's cache, as its library lays it out."""
    folder = root / f"models--{repository.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("0" * 40)
    (folder / "snapshots" / ("0" * 40)).mkdir(parents=True)
    return folder / "snapshots" / ("0" * 40)


def test_a_folder_is_loaded_as_open_clip_does(tmp_path):
    net = write(tmp_path / "clip", tiny())
    model = build(f"local-dir:{tmp_path / 'clip'}")
    assert (model.side, model.context) == (32, 20)
    torch.testing.assert_close(model.mean.flatten(), torch.tensor(SEEN["mean"]))
    images = torch.randint(0, 255, (3, 3, 32, 32), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    shifted = (images / 255 - model.mean) / model.std
    tokens = open_clip.get_tokenizer(f"local-dir:{tmp_path / 'clip'}")(SENTENCES)
    with torch.no_grad():
        expected = net.encode_image(shifted, normalize=True), net.encode_text(tokens, normalize=True)
    torch.testing.assert_close(encode_images(model, images), expected[0])
    torch.testing.assert_close(encode_texts(model, SENTENCES), expected[1])
    assert MODELS["open_clip"].lacking({"model": f"local-dir:{tmp_path / 'clip'}"}) is None


def test_half_weights_are_lifted(tmp_path):
    whole, _ = write(tmp_path / "a", tiny()), write(tmp_path / "b", tiny(), half=True)
    model = build(f"local-dir:{tmp_path / 'b'}")
    assert {value.dtype for value in model.parameters()} == {torch.float32}
    torch.testing.assert_close(model.net.visual.proj, whole.visual.proj, rtol=1e-3, atol=1e-3)


def test_losses_follow_the_model(tmp_path):
    images, texts = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(2))
    clip, siglip = made(tmp_path / "clip"), made(tmp_path / "siglip", bias=-10.0)
    units = torch.nn.functional.normalize(images), torch.nn.functional.normalize(texts)
    assert list(clip.terms(images, texts)) == ["clip"] and list(siglip.terms(images, texts)) == ["siglip"]
    expected = open_clip.loss.SigLipLoss()(*units, torch.tensor(10.0), torch.tensor(-10.0))
    torch.testing.assert_close(siglip.terms(images, texts)["siglip"], expected)
    for model in (clip, siglip):
        model.net.logit_scale.data.fill_(7.0)
        model.after_step()
    assert clip.net.logit_scale.item() == pytest.approx(math.log(100)) and siglip.net.logit_scale.item() == 7.0


def test_sentences_are_counted_and_cut(tmp_path):
    model = made(tmp_path / "clip")
    assert model.lengths(["", "a dog", "dog " * 50]) == [2, 4, 52]
    assert model.tokenise(["dog " * 50]).shape == (1, 20), "cut after it was counted"


def test_the_small_vocabulary_is_recognised(tmp_path):
    model = made(tmp_path / "small", vocab_size=6514)
    assert model.tokenise(SENTENCES).max() == 6513 and encode_texts(model, SENTENCES).isfinite().all()
    with refused("5000 word pieces"):
        made(tmp_path / "other", vocab_size=5000)


def test_a_name_with_a_checkpoint(tmp_path, builtin):
    net = network(tiny())
    save_file(net.state_dict(), tmp_path / "w.safetensors")
    torch.save({"state_dict": net.state_dict()}, tmp_path / "w.pt")
    for name in ("w.safetensors", "w.pt"):
        model = build(builtin, str(tmp_path / name))
        torch.testing.assert_close(model.net.visual.proj, net.visual.proj)
    assert build(builtin, str(tmp_path / "w.pt")).mean[0, 0, 0, 0].item() == pytest.approx(0.48145466)  # OpenAI's


class Planted:
    """Something a weights-only reader must not make."""

    def __reduce__(self):
        return (Path.touch, (Path("planted"),))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"state_dict": Planted()}, r"holds more than tensors \(builtins\.getattr\)"),
        ([1, 2], "holds no dictionary of tensors"),
        ({"something": torch.zeros(2)}, "holds no network of open_clip"),
    ],
    ids=["code", "list", "other weights"],
)
def test_a_checkpoint_of_something_else_is_refused(tmp_path, builtin, monkeypatch, content, words):
    monkeypatch.chdir(tmp_path)
    torch.save(content, tmp_path / "bad.pt")
    with refused(words):
        build(builtin, str(tmp_path / "bad.pt"))
    assert not (tmp_path / "planted").exists()


def test_what_can_be_wrong_with_a_folder(tmp_path):
    source = f"local-dir:{tmp_path / 'bare'}"
    bare = tmp_path / "bare"
    with refused("no folder"):
        build(source)
    bare.mkdir()
    with refused("no open_clip_config.json"):
        build(source)
    (bare / "open_clip_config.json").write_text(json.dumps({"model_cfg": tiny()}))
    with refused("no weights"):
        build(source)
    assert "no weights" in MODELS["open_clip"].lacking({"model": source})
    (bare / "open_clip_model.safetensors").write_bytes(b"nothing")
    with refused("could not be loaded"):
        build(source)
    save_file(network({**tiny(), "embed_dim": 4}).state_dict(), bare / "open_clip_model.safetensors")
    with refused("size mismatch"):
        build(source)
    for broken in ("{", "[]", '{"model_cfg": {}}', '{"model_cfg": {"vision_cfg": 1, "text_cfg": 2}}'):
        (bare / "open_clip_config.json").write_text(broken)
        with refused("vision_cfg"):
            build(source)


@pytest.mark.parametrize("asked", [{"trust_remote_code": True}, {"bpe_path": "/etc/hostname"}])
def test_configurations_that_ask_for_more_than_weights(tmp_path, asked):
    with refused("not followed here"):
        made(tmp_path / "clip", tokenizer_kwargs=asked)


def test_a_link_out_of_the_folders_that_may_be_opened_is_refused(tmp_path, monkeypatch):
    write(tmp_path / "clip", tiny())
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.setenv("RANKSCOPE_FOLDERS", str(inside))
    (inside / "open_clip_config.json").write_text(json.dumps({"model_cfg": tiny()}))
    (inside / "model.safetensors").symlink_to(tmp_path / "clip" / "open_clip_model.safetensors")
    with refused("link"):
        build(f"local-dir:{inside}")


@pytest.mark.parametrize(
    ("model", "weights", "words"),
    [
        ("ViT-B-23", "openai", r"no model 'ViT-B-23'; near it: .*ViT-B-32"),
        ("", "openai", "knows no model ''"),
        ("ViT-B-32", "opnai", "openai, laion"),
        ("ViT-B-32", "", "needs weights"),
        ("tiny-rankscope", "./w.pt", r"no checkpoint 'w\.pt'"),
        ("tiny-rankscope", "./w.npz", "must end in"),
        ("hf-hub:../etc", "", "organisation/name"),
    ],
)
def test_names_and_weights_that_do_not_exist(tmp_path, builtin, monkeypatch, model, weights, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.npz").write_bytes(b"")
    with refused(words):
        build(model, weights.replace(".", str(tmp_path), 1) if "/" in weights else weights)


def test_without_network(hub_cache):
    for name, parameters in (
        ("open_clip", {"model": "hf-hub:nobody/nothing"}),
        ("open_clip", {"model": "ViT-B/32", "pretrained": "openai"}),
        ("clip_vit_b32", {}),
    ):
        entry = MODELS[name]
        assert "local-dir:" in entry.lacking(parameters)
    with refused("cannot be downloaded now"):
        build("hf-hub:nobody/nothing")
    with refused("check the network"):
        MODELS["clip_vit_b32"].build({})


def test_a_repository_in_the_cache(hub_cache):
    """Without network."""
    folder = in_cache(hub_cache, "someone/small")
    net = write(folder, tiny())
    entry = MODELS["open_clip"]
    assert entry.lacking({"model": "hf-hub:someone/small"}) is None
    torch.testing.assert_close(build("hf-hub:someone/small").net.visual.proj, net.visual.proj)
    (folder / "open_clip_model.safetensors").unlink()
    assert "cannot be downloaded" in entry.lacking({"model": "hf-hub:someone/small"})
    with refused("check the network"):
        build("hf-hub:someone/small")


def test_the_published_clip_is_built_with_its_own_activation(monkeypatch):
    asked = {}

    def instead(name, pretrained, **choices):
        asked.update(name=name, pretrained=pretrained, **choices)
        raise RuntimeError("enough seen")

    monkeypatch.setattr(open_clip, "create_model_from_pretrained", instead)
    with refused("enough seen"):
        MODELS["clip_vit_b32"].build({})
    assert asked["name"] == "ViT-B-32" and asked["force_quick_gelu"] and asked["weights_only"]


def test_without_transformers_the_line_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)  # as Python treats a library that is not there
    write(tmp_path / "hf", tiny())
    config = {"model_cfg": tiny(hf_tokenizer_name="some/tokeniser")}
    (tmp_path / "hf" / "open_clip_config.json").write_text(json.dumps(config))
    for name, parameters in (("open_clip", {"model": f"local-dir:{tmp_path / 'hf'}"}), ("siglip_b16", {})):
        assert "pip install transformers" in MODELS[name].lacking(parameters)
        with refused("pip install transformers"):
            MODELS[name].build(parameters)


def test_a_tokeniser_of_transformers(tmp_path):
    from transformers import BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "two", "cats", "on", "mat"]
    write(tmp_path / "hf", tiny(vocab_size=len(words), hf_tokenizer_name="ignored/for-folders"))
    BertTokenizer(vocab={word: index for index, word in enumerate(words)}).save_pretrained(tmp_path / "hf")
    model = build(f"local-dir:{tmp_path / 'hf'}")
    assert model.tokenise(["a dog"])[0, :5].tolist() == [2, 5, 6, 3, 0]
    assert model.lengths(["a dog", "a " * 40]) == [4, 42]
    assert encode_texts(model, ["a dog", "two cats"]).shape == (2, 8)


def test_siglips_tokeniser(tmp_path):
    """Its kind of tokeniser with a vocabulary of twelve pieces: cleaned, ended and padded as SigLIP was trained."""
    from transformers import T5Tokenizer

    pieces = ["<pad>", "</s>", "<unk>", "▁", "a", "▁a", "▁two", "▁dog", "s", "▁on", "▁mat", "▁dogs"]
    scores = {"▁": -3.0, "a": -3.0, "s": -2.0}
    vocabulary = [(piece, scores.get(piece, -1.0 if piece[0] == "▁" else 0.0)) for piece in pieces]
    settings = {"hf_tokenizer_name": "ignored/for-folders", "tokenizer_kwargs": {"clean": "canonicalize"}}
    pooling = {"no_causal_mask": True, "proj_bias": True, "pool_type": "last"}
    write(tmp_path / "siglip", tiny(bias=-10.0, **{**settings, **pooling, "vocab_size": len(pieces)}))
    T5Tokenizer(vocab=vocabulary, extra_ids=0).save_pretrained(tmp_path / "siglip")
    model = build(f"local-dir:{tmp_path / 'siglip'}")
    named = [[pieces[token] for token in row] for row in model.tokenise(["Two DOGS, on a mat.", "a dog"]).tolist()]
    assert named[0][:7] == ["▁two", "▁dogs", "▁on", "▁a", "▁mat", "</s>", "<pad>"]  # in small letters, without marks
    assert named[1] == ["▁a", "▁dog", "</s>", *["<pad>"] * (TEXT["context_length"] - 3)]
    assert model.lengths(["Two DOGS, on a mat.", "a " * 40]) == [6, 41]
    assert encode_texts(model, ["a dog", "two dogs"]).shape == (2, 8)


@pytest.mark.parametrize(("name", "tag"), list(REGISTERED), ids="/".join)
@pytest.mark.parametrize("transformers", [True, False], ids=["with transformers", "without"])
def test_the_menu_is_told_without_open_clip_as_open_clip_would(name, tag, transformers, monkeypatch, hub_cache):
    """Listing the models imports nothing that takes seconds, and says the same."""
    if not transformers:
        monkeypatch.setitem(sys.modules, "transformers", None)
    weights, hf_tokenizer = REGISTERED[name, tag]
    repository = weights.repository
    assert open_clip.get_pretrained_cfg(name, tag)["hf_hub"] == f"{repository}/"
    assert hf_tokenizer == bool(open_clip.get_model_config(name)["text_cfg"].get("hf_tokenizer_name"))
    for cached in (False, True):
        if cached:
            (in_cache(hub_cache, repository) / "open_clip_model.safetensors").write_bytes(b"")
        long = missing(name, tag)
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, "open_clip")
            short = missing(name, tag)
            assert "open_clip" not in sys.modules
        assert short == long and (long is None) == (cached and (transformers or not hf_tokenizer))


def test_the_menu_has_every_choice_that_is_listed():
    chosen = [entry.checked({}) for entry in MODELS.values()]
    tags = {one.pretrained for one in chosen if hasattr(one, "pretrained")}
    assert tags == {tag for _, tag in REGISTERED}
