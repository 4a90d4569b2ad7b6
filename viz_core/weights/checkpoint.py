"""Save and load a model's parameters as safetensors, a format without code."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as to_bytes
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.messages import translate as _
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
        raise ValueError(_("{name} cannot be read ({strerror}); train it again: python -m viz_core.training.",
                           name=path.name, strerror=error.strerror)) from None
    except SafetensorError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(_("{name} is truncated or not a safetensors file ({reason}); train or fetch it again.",
                           name=path.name, reason=reason)) from None


def _check_tensors(file: str, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    for name in sorted(expected.keys() - found.keys()):
        raise ValueError(_("{file} lacks the tensor {name!r}; use a file that was saved with this config.", file=file, name=name))
    for name in sorted(found.keys() - expected.keys()):
        raise ValueError(_("{file} holds a tensor {name!r} that the model lacks; use a file that was saved with this config.",
                           file=file, name=name))
    for name, want in expected.items():
        x = found[name]
        if x.shape != want.shape:
            shapes = _("is {shape} where the model has {shape_2}", shape=list(x.shape), shape_2=list(want.shape))
            raise ValueError(_("{file}: {name!r} {shapes}; use a file that was saved with this config.",
                               file=file, name=name, shapes=shapes))
        if x.dtype not in DTYPES:
            raise ValueError(_("{file}: {name!r} holds {dtype}; save it as float32 or float16.",
                               file=file, name=name, dtype=str(x.dtype).removeprefix("torch.")))
        if not x.isfinite().all():
            raise ValueError(_("{file}: {name!r} holds numbers that are not finite; train it again.", file=file, name=name))
