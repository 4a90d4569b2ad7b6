"""Matching the files of a published checkpoint to our parameters, without reading a tensor.

config.json gives the layout and our config; the headers of the safetensors files give the slice from which each of our
parameters is read.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from viz_core.config import TransformerConfig
from viz_core.config.limits import MAX_PARAMETERS
from viz_core.messages.errors import UserError
from viz_core.weights.files import CONFIG, INDEX, MAX_FOLDERS, FileVersion, read_json_object
from viz_core.weights.layouts import LAYOUTS, Layout, RawConfig, TensorSlice, as_json
from viz_core.weights.shards import Shards, StoredTensor, read_tensor_table

FLOAT_DTYPES = ("F64", "F32", "F16", "BF16")
# Wrapper modules of torch (compile, DataParallel, FSDP, checkpointing), which appear in the names of the weights.
WRAPPERS = ("_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
MAX_SHOWN = 60  # characters of a tensor's name that an error message quotes


class CheckpointContents(NamedTuple):
    """The contents of a checkpoint folder.

    raw: the contents of config.json. slices: torch name of each of our parameters -> where it is stored. tied_head_copy: the
    second copy of a tied head, if there is one. unused_names: the top-level modules of the other tensors.
    """

    layout: Layout
    config: TransformerConfig
    raw: RawConfig
    slices: Mapping[str, TensorSlice]
    tied_head_copy: TensorSlice | None
    unused_names: str


@lru_cache(maxsize=2 * MAX_FOLDERS)
def inspect_checkpoint(config_file: FileVersion, shards: Shards) -> CheckpointContents:
    """Return the contents of the files. Raises `ValueError`, one sentence, if they do not fit each other or the model."""
    settings = read_json_object(config_file.path)
    layout, config = read_layout(settings)
    parts, again, unused = _match_parameters(layout, config, read_tensor_table(shards), shards)
    return CheckpointContents(layout, config, settings, MappingProxyType(parts), again, unused)


def read_layout(raw: RawConfig) -> tuple[Layout, TransformerConfig]:
    """Return the layout and the config that config.json describes."""
    if "model_type" not in raw:
        raise UserError("model_type_missing", config=CONFIG, layouts=", ".join(LAYOUTS))
    kind = raw["model_type"]
    if not isinstance(kind, str) or kind not in LAYOUTS:
        raise UserError("model_type_unknown", config=CONFIG, kind=as_json(kind), layouts=", ".join(LAYOUTS))
    layout = LAYOUTS[kind]
    for switch, value in layout.required_values.items():
        if raw.get(switch, value) != value:
            raise UserError("config_switch", config=CONFIG, switch=switch, setting=as_json(raw[switch]), value=as_json(value))
    for alias, own in layout.aliases.items():
        if alias in raw and own in raw and as_json(raw[alias]) != as_json(raw[own]):
            raise UserError("config_alias", config=CONFIG, own=own, value=as_json(raw[own]), alias=alias, other=as_json(raw[alias]))
    try:
        return layout, layout.config(raw)
    except ValueError as error:
        raise UserError("config_unusable", config=CONFIG, error=error) from None


def _match_parameters(
    layout: Layout, config: TransformerConfig, stored: Mapping[str, StoredTensor], shards: Shards
) -> tuple[dict[str, TensorSlice], TensorSlice | None, str]:
    """Return the slice of each parameter, under the tensor names of these files, the second copy of a tied head, and the top-level
    modules of the unused tensors."""
    names, files = _strip_wrappers(stored), shards.names
    table = files[0] if shards.index is None else INDEX  # the file that lists all tensors
    anchor = f"{layout.embedding_modules[0].hf_name}.weight"
    prefix = layout.prefix if layout.prefix + anchor in names else ""
    if prefix + anchor not in names:
        first = min(stored, default="–")[:MAX_SHOWN]
        raise UserError("anchor_missing", anchor=anchor, tensors=table, config=CONFIG, first=first)
    parts: dict[str, TensorSlice] = {}
    total = 0
    for ours, part in layout.tensor_slices(config):
        clean = _find_name(part.name, "" if ours.startswith("head.") else prefix, names, table)
        parts[ours] = part = _check_slice(part, names[clean], stored, files)
        total += part.numel
        if total > MAX_PARAMETERS:
            raise UserError("model_size", limit=MAX_PARAMETERS)
    head, again = f"{layout.head_module.hf_name}.weight" if layout.head_module else "", None
    if config.tie_output and head in names:
        embedding = parts[next(iter(parts))]
        again = _check_slice(embedding, names[head], stored, files)
    used = {part.name for part in parts.values()} | {names.get(head, "")}
    others = {clean.removeprefix(prefix): stored[name] for clean, name in names.items() if name not in used}
    others = {name: tensor for name, tensor in others.items() if not re.fullmatch(layout.buffer_pattern, name)}
    for name, tensor in others.items():
        if name.startswith(layout.body):
            raise UserError("tensor_extra", name=name[:MAX_SHOWN], tensors=files[tensor.file_index], config=CONFIG)
    return parts, again, ", ".join(sorted({name.split(".")[0][:40] for name in others})[:8])


def _strip_wrappers(stored: Mapping[str, object]) -> Mapping[str, str]:
    """Return a mapping from each tensor name without wrapper modules to the name in the file."""
    names: dict[str, str] = {}
    for name in stored:
        clean = ".".join(part for part in name.split(".") if part not in WRAPPERS)
        if clean in names:
            raise UserError("tensor_twice", name=names[clean][:MAX_SHOWN], other=name[:MAX_SHOWN])
        names[clean] = name
    return names


def _check_slice(expected: TensorSlice, name: str, stored: Mapping[str, StoredTensor], files: Sequence[str]) -> TensorSlice:
    """Return the slice with its name in the file. Raises `ValueError` if the stored shape or dtype is not usable."""
    kind, shape, file = stored[name]
    if shape != expected.shape:
        raise UserError("tensor_shape", name=name, tensors=files[file], shape=str(list(shape)), config=CONFIG,
                        expected=str(list(expected.shape)))
    if kind not in FLOAT_DTYPES:
        raise UserError("tensor_dtype", name=name, tensors=files[file], kind=kind, floats=", ".join(FLOAT_DTYPES))
    return expected._replace(name=name, file_index=file)


def _find_name(name: str, prefix: str, names: Mapping[str, str], table_file: str) -> str:
    """Return the tensor's name without wrapper modules. In old BERT files a norm's parameters are named gamma and beta."""
    old = re.sub(r"(LayerNorm)\.weight$", r"\1.gamma", re.sub(r"(LayerNorm)\.bias$", r"\1.beta", name))
    for candidate in (prefix + name, prefix + old):
        if candidate in names:
            return candidate
    raise UserError("tensor_missing", name=prefix + name, tensors=table_file, config=CONFIG)
