"""Parameters to a file and back; files that are not what they should be are refused with one sentence."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.run import build
from viz_core.weights.checkpoint import load, save

CONFIG = TransformerConfig(
    d_model=8, n_heads=2, d_ff=12, n_encoder_layers=1, n_decoder_layers=1, source_vocab_size=11, target_vocab_size=9, max_len=16
)
CONFIGS = {
    "encoder-decoder": CONFIG,
    "learned": replace(CONFIG, position="learned"),
    "tied": replace(CONFIG, tie_output=True, norm="pre"),
    "decoder": replace(CONFIG, architecture="decoder-only"),
    "segments": replace(CONFIG, architecture="encoder-only", n_segments=2, norm_embedding=True),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_there_and_back(name: str, tmp_path: Path) -> None:
    config, file = CONFIGS[name], tmp_path / "a.safetensors"
    model = build(config, seed=3)
    save(model, file)
    again = load(file, config)
    assert not again.training and again.config == config
    assert again.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(x, again.state_dict()[key]) for key, x in model.state_dict().items())
    assert all(p.requires_grad for p in again.parameters())
    ids = torch.tensor([[4, 5, 6]])
    assert torch.equal(model(ids, ids).hidden, again(ids, ids).hidden)
    assert set(load_file(file)) == {key for key, _ in model.named_parameters()}  # safetensors' own reader agrees


def test_a_loaded_tied_model_is_still_tied(tmp_path: Path) -> None:
    save(build(CONFIGS["tied"]), tmp_path / "a.safetensors")
    model = load(tmp_path / "a.safetensors", CONFIGS["tied"])
    assert model.head is not None and model.decoder is not None
    assert model.head.weight is model.decoder.tok_embedding.weight


def test_other_dtypes_are_saved_as_float32(tmp_path: Path) -> None:
    save(build(CONFIG).double(), tmp_path / "a.safetensors")
    assert all(p.dtype == torch.float32 for p in load(tmp_path / "a.safetensors", CONFIG).parameters())


Tensors = dict[str, Tensor]
HEAD = "head.bias"
WRONG: dict[str, tuple[Callable[[Tensors], Tensors], str]] = {
    "missing": (lambda x: {k: v for k, v in x.items() if k != HEAD}, "lacks the tensor 'head.bias'"),
    "extra": (lambda x: {**x, "head.scale": torch.ones(1)}, "holds a tensor 'head.scale' that the model lacks"),
    "renamed": (lambda x: {k.replace("w_q", "query"): v for k, v in x.items()}, "lacks the tensor"),
    "shape": (lambda x: {**x, HEAD: torch.zeros(10)}, r"'head.bias' is \[10\] where the model has \[9\]"),
    "broadcast": (lambda x: {**x, HEAD: torch.zeros(1)}, r"'head.bias' is \[1\] where the model has \[9\]"),
    "transposed": (lambda x: {**x, "head.weight": x["head.weight"].mT.contiguous()}, r"is \[8, 9\] where"),
    "double": (lambda x: {**x, HEAD: x[HEAD].double()}, "'head.bias' holds float64; save it as float32"),
    "whole": (lambda x: {**x, HEAD: x[HEAD].long()}, "'head.bias' holds int64"),
    "nan": (lambda x: {**x, HEAD: x[HEAD].fill_(float("nan"))}, "'head.bias' holds numbers that are not finite"),
    "infinite": (lambda x: {**x, HEAD: x[HEAD].fill_(float("inf"))}, "not finite"),
    "empty": (lambda x: {}, "lacks the tensor"),
}


@pytest.mark.parametrize("name", WRONG)
def test_tensors_that_do_not_fit(name: str, tmp_path: Path) -> None:
    change, problem = WRONG[name]
    file = tmp_path / "a.safetensors"
    save(build(CONFIG), file)
    save_file(change(load_file(file)), file)
    refused(file, problem)


def long_header(data: bytes) -> bytes:
    return (2**63 - 1).to_bytes(8, "little") + data[8:]


def past_the_end(data: bytes) -> bytes:
    """The header promises more bytes than follow."""
    header = json.dumps({HEAD: {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(8)


NO_FILES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "short": lambda data: data[:5],
    "cut in the header": lambda data: data[:100],
    "cut at the end": lambda data: data[:-1],
    "more behind the end": lambda data: data + b"\0",
    "header too long": long_header,
    "offsets past the end": past_the_end,
    "pickle": lambda data: b"\x80\x02cos\nsystem\n(S'true'\ntR.",
    "zip": lambda data: b"PK\x03\x04" + data,
    "text": lambda data: b'{"a": 1}\n' * 50,
}


@pytest.mark.parametrize("name", NO_FILES)
def test_bytes_that_are_no_checkpoint(name: str, tmp_path: Path) -> None:
    file = tmp_path / "a.safetensors"
    save(build(CONFIG), file)
    file.write_bytes(NO_FILES[name](file.read_bytes()))
    refused(file, "is truncated or not a safetensors file")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    refused(tmp_path / "a.safetensors", "cannot be read")
    refused(tmp_path, "cannot be read")


def test_weights_of_another_config(tmp_path: Path) -> None:
    file = tmp_path / "a.safetensors"
    save(build(CONFIGS["learned"]), file)
    refused(file, r"holds a tensor 'decoder\.pos_embedding\.weight' that the model lacks")


def refused(file: Path, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        load(file, CONFIG)
    said = str(caught.value)
    assert said.startswith(file.name) and said.endswith(".") and "\n" not in said
    assert str(file.parent) not in said  # what a visitor reads names no folder of the server
