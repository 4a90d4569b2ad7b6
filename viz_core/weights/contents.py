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
from viz_core.language import translate as _
from viz_core.limits import MAX_PARAMETERS
from viz_core.weights.files import CONFIG, MAX_FOLDERS, TENSORS, File
from viz_core.weights.layouts import LAYOUTS, Layout, TensorPart

MAX_HEADER = 2**20  # bytes of a safetensors file's table of contents; 150 tensors take 20 KB
FLOATS = ("F64", "F32", "F16", "BF16")


@lru_cache(maxsize=2 * MAX_FOLDERS)
def inspected(files: tuple[File, ...]) -> tuple[Layout, TransformerConfig, Mapping[str, TensorPart], str]:
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
        raise ValueError(_("{name} is not JSON that can be read; save the model again", name=path.name)) from None
    if not isinstance(settings, dict):
        raise ValueError(_("{name} is not a JSON object; save the model again", name=path.name))
    return MappingProxyType(settings)


def interpret(settings: Mapping[str, Any]) -> tuple[Layout, TransformerConfig]:
    """The layout and config that config.json asks for."""
    kind = settings.get("model_type")
    if not isinstance(kind, str) or kind not in LAYOUTS:
        raise ValueError(_("{config} says model_type={kind!r}; this model can be {layouts}",
                           config=CONFIG, kind=kind, layouts=", ".join(LAYOUTS)))
    layout = LAYOUTS[kind]
    for switch, value in layout.plain.items():
        if settings.get(switch, value) != value:
            raise ValueError(_("{config} says {switch}={setting!r}, which this model cannot do; it needs {value!r}",
                               config=CONFIG, switch=switch, setting=settings[switch], value=value))
    try:
        return layout, layout.config(settings)
    except ValueError as error:
        raise ValueError(_("{config} cannot be used: {error}", config=CONFIG, error=error)) from None


def _contents(path: Path) -> Mapping[str, tuple[str, tuple[int, ...]]]:
    """The type and shape of every tensor in a safetensors file; checks that the file holds all of them."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
        if header > MAX_HEADER:
            raise ValueError(_("{tensors} has a header of {header:,} bytes and the limit is {max_header:,}; save it again",
                               tensors=TENSORS, header=header, max_header=MAX_HEADER))
        with safe_open(path, framework="numpy") as tensors:
            slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118, not a mapping
            return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    except (SafetensorError, OSError):
        raise ValueError(_("{tensors} is cut off or no safetensors file; fetch it again", tensors=TENSORS)) from None


def _matched(
    layout: Layout, config: TransformerConfig, contents: Mapping[str, tuple[str, tuple[int, ...]]]
) -> tuple[dict[str, TensorPart], str]:
    """The part of each parameter, by the name that it has in this very file; and the other tensors, by first name."""
    anchor = f"{layout.embedding[0].theirs}.weight"
    prefix = layout.prefix if layout.prefix + anchor in contents else ""
    parts: dict[str, TensorPart] = {}
    total = 0
    for ours, part in layout.parts(config):
        name = _stored(part.name, "" if ours.startswith("head.") else prefix, contents)
        kind, shape = contents[name]
        if shape != part.shape:
            raise ValueError(_("{name} in {tensors} has the shape {shape}, and {config} asks for {shape_2}",
                               name=name, tensors=TENSORS, shape=list(shape), config=CONFIG, shape_2=list(part.shape)))
        if kind not in FLOATS:
            raise ValueError(_("{name} in {tensors} holds {kind} numbers; this model reads {floats}",
                               name=name, tensors=TENSORS, kind=kind, floats=", ".join(FLOATS)))
        parts[ours] = part._replace(name=name)
        total += part.numbers
        if total > MAX_PARAMETERS:
            raise ValueError(_("it has more than {max_parameters:,} parameters, the limit; choose a smaller model",
                               max_parameters=MAX_PARAMETERS))
    used = {part.name for part in parts.values()} | ({f"{layout.head.theirs}.weight"} if layout.head else set())
    others = [name.removeprefix(prefix) for name in contents if name not in used]
    others = [name for name in others if not re.fullmatch(layout.buffers, name)]
    for name in others:
        if name.startswith(layout.body):
            raise ValueError(_("{name} in {tensors} is no part of the model that {config} describes; save the model again",
                               name=name, tensors=TENSORS, config=CONFIG))
    return parts, ", ".join(sorted({name.split(".")[0][:40] for name in others})[:8])


def _stored(name: str, prefix: str, contents: Mapping[str, object]) -> str:
    """A tensor's name in this file. The oldest BERTs call a norm's γ and β gamma and beta."""
    old = re.sub(r"(LayerNorm)\.weight$", r"\1.gamma", re.sub(r"(LayerNorm)\.bias$", r"\1.beta", name))
    for candidate in (prefix + name, prefix + old):
        if candidate in contents:
            return candidate
    raise ValueError(_("{prefix} is missing in {tensors}, and {config} asks for it; save the model again",
                       prefix=prefix + name, tensors=TENSORS, config=CONFIG))
