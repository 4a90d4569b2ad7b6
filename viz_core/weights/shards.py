"""The safetensors files of a model: a single file, or several shards with an index that maps tensors to files.

`transformers` splits a large model into model-00001-of-00003.safetensors and so on, with model.safetensors.index.json. An
index is untrusted: only safetensors files of the same folder are opened.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from viz_core.messages.errors import UserError
from viz_core.weights.files import (
    INDEX,
    NAME_PATTERN,
    TENSORS,
    FileVersion,
    check_regular_file,
    check_size,
    list_names,
    read_json_object,
)

MAX_HEADER = 2**20  # bytes of a safetensors header; 150 tensors take 20 KB
MAX_SHARDS = 64
MAX_SHOWN = 60  # characters of a name that an error message quotes
SHARD_PATTERN = re.compile(rf"{NAME_PATTERN.pattern}\.safetensors")


@dataclass(frozen=True, slots=True)
class Shards:
    """The files that hold a model's tensors, and their names. index: the index file; None for a single file."""

    files: tuple[FileVersion, ...]
    names: tuple[str, ...] = (TENSORS,)
    index: FileVersion | None = None


class StoredTensor(NamedTuple):
    """One stored tensor: its dtype ("F32"), its shape, and the index of its file."""

    dtype: str
    shape: tuple[int, ...]
    file_index: int


def find_shards(folder: Path, root: Path) -> Shards:
    """Return the files of a folder as `transformers` selects them: model.safetensors if there is one, else those of the index.

    root: the folder in which all files have to be, links resolved. Raises `ValueError`, one sentence, for an index or a file that
    may not be opened.
    """
    if INDEX not in (there := list_names(folder)) or TENSORS in there:
        return Shards((check_regular_file(folder, TENSORS, root),))
    index = check_regular_file(folder, INDEX, root)
    names = shard_names(read_json_object(index.path))
    files = tuple(check_regular_file(folder, name, root) for name in names)
    check_size(TENSORS, sum(file.size for file in files))
    return Shards(files, names, index)


def shard_names(index: Mapping[str, object]) -> tuple[str, ...]:
    """Return the distinct file names in an index, checked."""
    return tuple(dict.fromkeys(_tensor_files(index).values()))


def read_tensor_table(shards: Shards) -> Mapping[str, StoredTensor]:
    """Return the dtype, shape and file of every tensor. Raises `ValueError` if a file lacks a tensor of the index."""
    found = [_read_header(file.path, name) for file, name in zip(shards.files, shards.names, strict=True)]
    if shards.index is None:
        return {name: StoredTensor(*tensor, 0) for name, tensor in found[0].items()}
    places, numbers = (
        _tensor_files(read_json_object(shards.index.unchanged_path())),
        {name: i for i, name in enumerate(shards.names)},
    )
    for tensor, name in places.items():
        if tensor not in found[numbers[name]]:
            raise UserError("shard_lacks", index=INDEX, tensor=tensor[:MAX_SHOWN], name=name)
    return {tensor: StoredTensor(*found[numbers[name]][tensor], numbers[name]) for tensor, name in places.items()}


def _tensor_files(index: Mapping[str, object]) -> Mapping[str, str]:
    """Return the file name of each tensor in an index. Raises `ValueError` for invalid names and too many files."""
    places = index.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise UserError("index_no_map", index=INDEX)
    for name in places.values():
        if not isinstance(name, str) or not SHARD_PATTERN.fullmatch(name):
            raise UserError("index_file", index=INDEX, name=str(name)[:MAX_SHOWN])
    if (count := len(set(places.values()))) > MAX_SHARDS:
        raise UserError("index_count", index=INDEX, count=count, limit=MAX_SHARDS)
    return places


def _read_header(path: Path, name: str) -> Mapping[str, tuple[str, tuple[int, ...]]]:
    """Return the dtype and shape of every tensor in one safetensors file. name: its name in the folder."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
        if header > MAX_HEADER:
            raise UserError("header_size", name=name, size=header, limit=MAX_HEADER)
        with safe_open(path, framework="numpy") as tensors:
            slices = {key: tensors.get_slice(key) for key in tensors.keys()}  # noqa: SIM118, not a mapping
            return {key: (part.get_dtype(), tuple(part.get_shape())) for key, part in slices.items()}
    except (SafetensorError, OSError):
        raise truncated_error(name) from None


def truncated_error(name: str) -> UserError:
    """Return the error for a file whose tensors cannot be read."""
    return UserError("file_truncated", name=name)
