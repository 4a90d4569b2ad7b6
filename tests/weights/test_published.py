"""Published checkpoints in our model against `transformers`."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.weights.published import CLOSE, batch, close, minilm_folder, tensors, transformers, write, write_tensors
from viz_core import tables
from viz_core.analysis.labelled_weights import weights_read
from viz_core.analysis.rows import reads_and_writes
from viz_core.analysis.summary import predictions
from viz_core.experiments.word_order import words_of
from viz_core.problems import Problem
from viz_core.run import prepare, run, trace
from viz_core.ui.shell.setup import problem_words
from viz_core.weights.folder import read_folder
from viz_core.weights.local_models import FOLDERS, MINILM, cards, problems

ROWS = [[2, 9, 14, 7, 30, 11, 3], [2, 5, 3], [2, 8, 8, 19, 3]]  # a batch with padding


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
    """Typed text opens with <|endoftext|> and is closed by it; the padding is the same id and does not count."""
    theirs = write(tmp_path, "GPT2LMHeadModel")
    card = read_folder(tmp_path)
    said = ["the cat sat", "the animal didn't cross the street"]
    capture = run(card.config, target=said, weights=card)
    end = card.tokenizers()["target"].eos_id
    assert (capture["ids.target"][:, 0] == end).all() and (capture["ids.labels"][1, -1] == end).all()
    ids, labels = (torch.from_numpy(capture[f"ids.{side}"].copy()) for side in ("target", "labels"))
    whole = torch.cat([ids[:, :1], labels], dim=1)  # they shift inside
    lengths = torch.tensor([[row.index("<pad>") if "<pad>" in row else len(row)] for row in capture.tokens("labels")])
    assert lengths.unique().numel() > 1  # one is padded
    padding = torch.arange(whole.shape[1]) > lengths  # [B, 1 + T]
    expected = theirs(input_ids=whole, labels=torch.where(padding, -100, whole)).loss
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
    monkeypatch.delenv(FOLDERS, raising=False)
    return folder


def test_other_weights_of_that_name_are_not_accepted(elsewhere: Path) -> None:
    (card,) = cards()
    with pytest.raises(ValueError, match=r"^minilm: model\.safetensors is not the file that was published .*\.$"):
        card.load()
    (elsewhere / "model" / "model.safetensors").unlink()
    assert cards() == [] and len(problems()) == 1 and problems()[0].startswith("minilm: there is no model.safetensors")


def test_padding_is_behind_the_length_of_a_sentence(tmp_path: Path) -> None:
    """The id that opens, closes and pads a text of GPT-2 is one and the same: only what is behind a sentence is padding."""
    theirs = write(tmp_path, "GPT2LMHeadModel")
    card = read_folder(tmp_path)
    said = ["the animal didn't cross the street", "the cat sat"]
    capture = run(card.config, target=said, weights=card)
    lengths = [len(card.tokenizers()["target"].read(words)[1]) + 1 for words in said]
    assert capture.is_token("target").sum(axis=1).tolist() == lengths and lengths[0] > lengths[1]
    ids = torch.from_numpy(capture["ids.target"].copy())
    out = theirs(ids, output_attentions=True, output_hidden_states=True)
    for item, n in enumerate(lengths):
        table = tables.heads(capture, "decoder", item)
        weights = torch.stack([layer[item, :, :n, :n] for layer in out.attentions]).flatten(0, 1)  # [layers · H, T, S]
        entropy = -torch.xlogy(weights, weights).sum(-1).mean(-1)  # [layers · H]
        np.testing.assert_allclose(table["entropy"], entropy.detach(), atol=CLOSE)
        np.testing.assert_allclose(table["largest"], weights.amax(dim=(1, 2)).detach(), atol=CLOSE)
        assert (table["queries"] == n).all() and (table["padding"] == 0).all()
        assert [p.answer for p in predictions(capture, item)] == capture["ids.labels"][item, :n].tolist()
        assert reads_and_writes(capture, "target", item)[n - 1].writes == "<|endoftext|>"
        __, rows, keys = weights_read(capture, "decoder", 0, item)  # Home: the last row predicts the end, and the first key is read
        assert rows[-1] == keys[0] == "<|endoftext|>" and len(rows) == len(keys) == n
        read = words_of(card.config, prepare(card.config, None, said, card.tokenizers()), item)
        assert list(read.ids) == capture["ids.target"][item, 1:n].tolist()
    found = tables.depth(capture).set_index(["metric", "curve", "stage"])["value"]["power", "stream", "decoder.embed"]
    embedded = torch.cat([out.hidden_states[0][item, :n].detach() for item, n in enumerate(lengths)])
    assert found == pytest.approx(float((embedded**2).mean()), rel=CLOSE)


def test_a_run_of_no_text_is_refused_as_in_the_app(tmp_path: Path) -> None:
    write(tmp_path, "GPT2LMHeadModel")
    card = read_folder(tmp_path)
    with pytest.raises(Problem, match="There is nothing to read yet") as told:
        run(card.config, target=[""], weights=card)
    assert problem_words(told.value) == "There is nothing to read yet: type a sentence."
