"""What the files of a model in the Hugging Face layout hold, without a tensor being read.

config.json gives the layout and our config; the table of contents of model.safetensors gives the part of the file that
each of our parameters is read from.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from viz_core.config import TransformerConfig
from viz_core.limits import MAX_PARAMETERS
from viz_core.weights.files import CONFIG, MAX_FOLDERS, TENSORS, File
from viz_core.weights.layouts import LAYOUTS, Layout, Part

MAX_HEADER = 2**20  # bytes of a safetensors file's table of contents; 150 tensors take 20 KB
FLOATS = ("F64", "F32", "F16", "BF16")


@lru_cache(maxsize=2 * MAX_FOLDERS)
def inspected(files: tuple[File, ...]) -> tuple[Layout, TransformerConfig, Mapping[str, Part], str]:
    """What the folder holds: layout, config, our parameters' parts by their full names, and what of the file is not used."""
    layout, config = interpret(json_object(files[0].path))
    parts, unused = _matched(layout, config, _contents(files[1].path))
    return layout, config, MappingProxyType(parts), unused


def json_object(path: Path) -> Mapping[str, Any]:
    """config.json, which has no NaN and is an object."""

    def refuse(word: str) -> float:
        raise ValueError(word)

    try:
        settings = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except (OSError, ValueError, RecursionError):
        raise ValueError(f"{path.name} is not JSON that can be read; save the model again") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{path.name} is not a JSON object; save the model again")
    return MappingProxyType(settings)


def interpret(settings: Mapping[str, Any]) -> tuple[Layout, TransformerConfig]:
    """The layout and config that config.json asks for."""
    kind = settings.get("model_type")
    if not isinstance(kind, str) or kind not in LAYOUTS:
        raise ValueError(f"{CONFIG} says model_type={kind!r}; this model can be {', '.join(LAYOUTS)}")
    layout = LAYOUTS[kind]
    for switch, value in layout.plain.items():
        if settings.get(switch, value) != value:
            raise ValueError(f"{CONFIG} says {switch}={settings[switch]!r}, which this model cannot do; it needs {value!r}")
    try:
        return layout, layout.config(settings)
    except ValueError as error:
        raise ValueError(f"{CONFIG} cannot be used: {error}") from None


def _contents(path: Path) -> Mapping[str, tuple[str, tuple[int, ...]]]:
    """The type and shape of every tensor in a safetensors file; checks that the file holds all of them."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
        if header > MAX_HEADER:
            raise ValueError(f"{TENSORS} has a header of {header:,} bytes and the limit is {MAX_HEADER:,}; save it again")
        with safe_open(path, framework="numpy") as tensors:
            slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118, not a mapping
            return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    except (SafetensorError, OSError):
        raise ValueError(f"{TENSORS} is cut off or no safetensors file; fetch it again") from None


def _matched(
    layout: Layout, config: TransformerConfig, contents: Mapping[str, tuple[str, tuple[int, ...]]]
) -> tuple[dict[str, Part], str]:
    """The part of each parameter, by the name that it has in this very file; and the other tensors, by first name."""
    anchor = f"{layout.embedding[0].theirs}.weight"
    prefix = layout.prefix if layout.prefix + anchor in contents else ""
    parts: dict[str, Part] = {}
    total = 0
    for ours, part in layout.parts(config):
        name = _stored(part.name, "" if ours.startswith("head.") else prefix, contents)
        kind, shape = contents[name]
        if shape != part.shape:
            raise ValueError(f"{name} in {TENSORS} has the shape {list(shape)}, and {CONFIG} asks for {list(part.shape)}")
        if kind not in FLOATS:
            raise ValueError(f"{name} in {TENSORS} holds {kind} numbers; this model reads {', '.join(FLOATS)}")
        parts[ours] = part._replace(name=name)
        total += part.numbers
        if total > MAX_PARAMETERS:
            raise ValueError(f"it has more than {MAX_PARAMETERS:,} parameters, the limit; choose a smaller model")
    used = {part.name for part in parts.values()} | ({f"{layout.head.theirs}.weight"} if layout.head else set())
    others = [name.removeprefix(prefix) for name in contents if name not in used]
    others = [name for name in others if not re.fullmatch(layout.buffers, name)]
    for name in others:
        if name.startswith(layout.body):
            raise ValueError(f"{name} in {TENSORS} is no part of the model that {CONFIG} describes; save the model again")
    return parts, ", ".join(sorted({name.split(".")[0][:40] for name in others})[:8])


def _stored(name: str, prefix: str, contents: Mapping[str, object]) -> str:
    """A tensor's name in this file. The oldest BERTs call a norm's γ and β gamma and beta."""
    old = re.sub(r"(LayerNorm)\.weight$", r"\1.gamma", re.sub(r"(LayerNorm)\.bias$", r"\1.beta", name))
    for candidate in (prefix + name, prefix + old):
        if candidate in contents:
            return candidate
    raise ValueError(f"{prefix + name} is missing in {TENSORS}, and {CONFIG} asks for it; save the model again")
