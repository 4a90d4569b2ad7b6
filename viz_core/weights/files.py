"""The files of a model in the Hugging Face layout: which may be opened, and what is wrong where one may not.

A folder has config.json (sizes and switches), model.safetensors (tensors) and tokenizer.json; instead of model.safetensors it
may have several such files, and model.safetensors.index.json, which says which tensor lies in which (`viz_core.weights.shards`).
They are data: nothing is unpickled and no code beside them is run. Every `ValueError` is one sentence that never reveals a path
on the machine.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from viz_core.language import translate as _
from viz_core.limits import MAX_PARAMETERS

CONFIG, TENSORS, TOKENIZER = FILES = ("config.json", "model.safetensors", "tokenizer.json")
INDEX = f"{TENSORS}.index.json"
NAMED = ("tokenizer_config.json", "special_tokens_map.json")  # what a tokenizer calls its special tokens; need not be there
MAX_BYTES = {CONFIG: 2**20, TENSORS: 8 * MAX_PARAMETERS, INDEX: 2**20, TOKENIZER: 32 * 2**20} | dict.fromkeys(NAMED, 2**22)
MAX_FOLDERS = 64  # folders that are searched at start
MAX_REASON = 400  # characters of a message that quotes a file
PICKLES = ("pytorch_model.bin", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
OTHERS = ("*.safetensors", "*.h5", "*.msgpack", "*.gguf", "*.onnx")  # weights in files of another name or kind
WORDS = ("vocab.json", "vocab.txt", "*.model")  # what older tokenizers are saved as
POINTER = b"version https://git-lfs.github.com/spec/"  # how a note of Git LFS begins, which stands for a file
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was when it was looked at: what is written there later is not taken for it."""

    path: Path
    size: int  # bytes
    changed: int  # ns

    @classmethod
    def seen(cls, path: Path) -> Self:
        stat = path.stat()
        return cls(path, stat.st_size, stat.st_mtime_ns)

    def still(self) -> Path:
        """Its path. `ValueError` where the file is another one by now."""
        try:
            if File.seen(self.path) == self:
                return self.path
        except OSError:
            pass
        raise ValueError(_("{name} was changed while the app was running; reload the page", name=self.path.name))


def local_name(folder: Path) -> str:
    return f"local/{folder.resolve().name if folder.name in ('', '.', '..') else folder.name}"


def regular_file(folder: Path, name: str, root: Path) -> File:
    """A regular file of bounded size that lies inside `root`, links followed."""
    try:
        real = (folder / name).resolve(strict=True)
        inside = real.is_relative_to(root.resolve(strict=True))
        found = File.seen(real)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        if (folder / name).is_symlink() and not isinstance(error, PermissionError):
            raise ValueError(_("{name} is a link to a file that is not there; put the file itself there", name=name)) from None
        raise ValueError(lacking(name, listing(folder))) from None
    if not inside:
        raise ValueError(_("{name} is a link out of the folder; put the file itself there", name=name))
    if not real.is_file():
        raise ValueError(_("{name} is not a file; put the file itself there", name=name))
    check_size(name, found.size)
    check_content(name, real)
    return found


def check_size(name: str, size: int) -> None:
    """name: one of the files above, or a part of the tensors."""
    most = MAX_BYTES.get(name, MAX_BYTES[TENSORS])
    if size > most:
        raise ValueError(_("{name} has {size:,} bytes and the limit is {max_bytes:,}; choose a smaller model",
                           name=name, size=size, max_bytes=most))


def check_content(name: str, path: Path) -> None:
    """A repository that was cloned without Git LFS has a note of three lines in place of each large file."""
    try:
        with path.open("rb") as file:
            pointer = file.read(len(POINTER)) == POINTER
    except OSError:
        raise ValueError(_("{name} cannot be read; give the app's account the right to read it", name=name)) from None
    if pointer:
        raise ValueError(_("{name} is a Git LFS pointer, which only says where the file lies; fetch the file itself with "
                           "git lfs pull", name=name))


def json_object(path: Path) -> Mapping[str, Any]:
    """config.json or the index of the tensors, which has no NaN and is an object."""

    def refuse(word: str) -> float:
        raise ValueError(word)

    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=refuse)
    except (OSError, ValueError, RecursionError):
        raise ValueError(_("{name} is not JSON that can be read; save the model again", name=path.name)) from None
    if not isinstance(found, dict):
        raise ValueError(_("{name} is not a JSON object; save the model again", name=path.name))
    return MappingProxyType(found)


def listing(folder: Path) -> list[str]:
    """The names in a folder; none where it cannot be read."""
    try:
        return sorted(child.name for child in folder.iterdir())
    except OSError:
        return []


def lacking(file: str, there: Sequence[str]) -> str:
    """What is wrong with a model without this file."""
    if file == TENSORS and (pickle := _first(there, PICKLES)):
        return (
            _("{pickle} may be a pickle, which runs code when it is opened, and is not read; save the model as {tensors}, with "
              "save_pretrained(safe_serialization=True)", pickle=pickle, tensors=TENSORS)
        )
    if file == TENSORS and (other := _first(there, OTHERS)):
        return _("there is {other} but no {tensors}; save the whole model with save_pretrained", other=other, tensors=TENSORS)
    if file == TOKENIZER and (words := _first(there, WORDS)):
        return _("there is {words} but no {tokenizer}; open the tokenizer with AutoTokenizer and save it again with "
                 "save_pretrained", words=words, tokenizer=TOKENIZER)
    if file not in (*FILES, *NAMED):
        return _("there is no {file}, which {index} names; fetch it too", file=file, index=INDEX)
    return _("there is no {file}; a model here is {files} and {files_2}", file=file, files=", ".join(FILES[:2]), files_2=FILES[2])


def _first(there: Sequence[str], patterns: Sequence[str]) -> str:
    """The first name that fits one of the patterns, shortened; "" if none does."""
    return next((name[:60] for name in there if any(Path(name).match(pattern) for pattern in patterns)), "")


def without_surrogates(text: str) -> str:
    r"""Half of a pair as it is escaped in JSON, \ud800: it is in no UTF-8, so that it could not be shown."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def sentence(name: str, error: ValueError) -> str:
    """One bounded sentence, also where a file's own words are quoted."""
    reason = str(error).removeprefix(f"{name}: ").rstrip(".")
    reason = reason if len(reason) <= MAX_REASON else reason[: MAX_REASON - 1] + "…"
    reason = without_surrogates(reason)
    return " ".join(f"{name}: {reason}.".split())
