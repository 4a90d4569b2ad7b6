"""The tensors of a model: one safetensors file, or several with an index that says which tensor lies in which.

`transformers` splits a large model into model-00001-of-00003.safetensors and so on, beside model.safetensors.index.json. An
index is a stranger's text: what it names is a plain file of the folder itself, or nothing is opened.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from viz_core.language import translate as _
from viz_core.weights.files import INDEX, NAME, TENSORS, File, check_size, json_object, listing, regular_file

MAX_HEADER = 2**20  # bytes of a safetensors file's table of contents; 150 tensors take 20 KB
MAX_SHARDS = 64
MAX_SHOWN = 60  # characters of a name of a stranger that a sentence repeats
SHARD = re.compile(rf"{NAME.pattern}\.safetensors")


@dataclass(frozen=True, slots=True)
class Shards:
    """The files that hold a model's tensors, and their names. index: which holds which tensor; None where there is one file."""

    files: tuple[File, ...]
    names: tuple[str, ...] = (TENSORS,)
    index: File | None = None


class Stored(NamedTuple):
    """One tensor of the files: its type, its shape, and the number of the file that holds it."""

    kind: str
    shape: tuple[int, ...]
    file: int


def find_shards(folder: Path, root: Path) -> Shards:
    """The files of a folder, as `transformers` chooses them: model.safetensors where there is one, else those of the index.

    root: the folder that no file may lead out of. `ValueError`: one sentence, for an index or a file that may not be opened.
    """
    if INDEX not in (there := listing(folder)) or TENSORS in there:
        return Shards((regular_file(folder, TENSORS, root),))
    index = regular_file(folder, INDEX, root)
    names = shard_names(json_object(index.path))
    files = tuple(regular_file(folder, name, root) for name in names)
    check_size(TENSORS, sum(file.size for file in files))
    return Shards(files, names, index)


def shard_names(index: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the files in an index, each once and checked."""
    return tuple(dict.fromkeys(_places(index).values()))


def contents(shards: Shards) -> Mapping[str, Stored]:
    """The type, shape and place of every tensor; checks that the files hold all of them."""
    found = [_contents(file.path, name) for file, name in zip(shards.files, shards.names, strict=True)]
    if shards.index is None:
        return {name: Stored(*tensor, 0) for name, tensor in found[0].items()}
    places, numbers = _places(json_object(shards.index.still())), {name: i for i, name in enumerate(shards.names)}
    for tensor, name in places.items():
        if tensor not in found[numbers[name]]:
            raise ValueError(_("{index} says that {tensor} is in {name}, which lacks it; fetch the model again",
                               index=INDEX, tensor=tensor[:MAX_SHOWN], name=name))
    return {tensor: Stored(*found[numbers[name]][tensor], numbers[name]) for tensor, name in places.items()}


def _places(index: Mapping[str, object]) -> Mapping[str, str]:
    """The file of each tensor. `ValueError` for a name that is no plain safetensors file of the folder, or for too many files."""
    places = index.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ValueError(_("{index} has no weight_map, which says where each tensor lies; save the model again", index=INDEX))
    for name in places.values():
        if not isinstance(name, str) or not SHARD.fullmatch(name):
            raise ValueError(_("{index} names {name!r}, and only safetensors files of the same folder are read; save the model "
                               "again", index=INDEX, name=str(name)[:MAX_SHOWN]))
    if (count := len(set(places.values()))) > MAX_SHARDS:
        raise ValueError(_("{index} names {count:,} files and the limit is {max_shards}; save the model in larger parts",
                           index=INDEX, count=count, max_shards=MAX_SHARDS))
    return places


def _contents(path: Path, name: str) -> Mapping[str, tuple[str, tuple[int, ...]]]:
    """The type and shape of every tensor in one safetensors file. name: what the folder calls it."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
        if header > MAX_HEADER:
            raise ValueError(_("{tensors} has a header of {header:,} bytes and the limit is {max_header:,}; save it again",
                               tensors=name, header=header, max_header=MAX_HEADER))
        with safe_open(path, framework="numpy") as tensors:
            slices = {key: tensors.get_slice(key) for key in tensors.keys()}  # noqa: SIM118, not a mapping
            return {key: (part.get_dtype(), tuple(part.get_shape())) for key, part in slices.items()}
    except (SafetensorError, OSError):
        raise ValueError(cut_off(name)) from None


def cut_off(name: str) -> str:
    """What is wrong with a file whose tensors cannot be read."""
    return _("{tensors} is cut off or no safetensors file; fetch it again", tensors=name)
