"""Save and load a model's parameters as safetensors, a format without code."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as to_bytes
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer

DTYPES = (torch.float32, torch.float16)


def save(model: Transformer, path: Path, dtype: torch.dtype = torch.float32) -> None:
    """Write every parameter under its torch name as float32 or float16; a tied matrix is written once."""
    tensors = {name: parameter.detach().to("cpu", dtype).contiguous() for name, parameter in model.named_parameters()}
    path.write_bytes(to_bytes(tensors))


def load(path: Path, config: TransformerConfig) -> Transformer:
    """Return the model of this config with the file's parameters, float32 on the CPU, in eval mode.

    Raises `ValueError`, one sentence, if the file is missing, truncated or not a safetensors file, if its tensors differ from
    the config in name, shape or type, or if some numbers are not finite.
    """
    model = Transformer(config, seed=None).eval()
    expected = dict(model.named_parameters())
    tensors = _read(path)
    _check_tensors(path.name, tensors, expected)
    with torch.no_grad():
        for name, parameter in expected.items():
            parameter.copy_(tensors[name])
    return model


def _read(path: Path) -> dict[str, Tensor]:
    try:
        return read_tensors(path.read_bytes())
    except OSError as error:
        raise UserError("weights_unreadable", name=path.name, reason=error.strerror) from None
    except SafetensorError as error:
        reason = str(error).splitlines()[0]
        raise UserError("weights_truncated", name=path.name, reason=reason) from None


def _check_tensors(file: str, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    for name in sorted(expected.keys() - tensors.keys()):
        raise UserError("weights_lack", file=file, name=name)
    for name in sorted(tensors.keys() - expected.keys()):
        raise UserError("weights_extra", file=file, name=name)
    for name, want in expected.items():
        x = tensors[name]
        if x.shape != want.shape:
            raise UserError("weights_shape", file=file, name=name, shape=str(list(x.shape)), expected=str(list(want.shape)))
        if x.dtype not in DTYPES:
            raise UserError("weights_dtype", file=file, name=name, dtype=str(x.dtype).removeprefix("torch."))
        if not x.isfinite().all():
            raise UserError("weights_not_finite", file=file, name=name)
