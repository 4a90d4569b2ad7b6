"""The three files of a model in the Hugging Face layout: which may be opened, and what is wrong where one may not.

A folder has config.json (sizes and switches), model.safetensors (tensors) and tokenizer.json. They are data: nothing is
unpickled and no code beside them is run. Every `ValueError` is one sentence that never reveals a path on the machine.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from viz_core.language import translate as _
from viz_core.limits import MAX_PARAMETERS

CONFIG, TENSORS, TOKENIZER = FILES = ("config.json", "model.safetensors", "tokenizer.json")
MAX_BYTES = {CONFIG: 2**20, TENSORS: 8 * MAX_PARAMETERS, TOKENIZER: 32 * 2**20}
NAMED = ("tokenizer_config.json", "special_tokens_map.json")  # what older tokenizers call their special tokens; need not be there
MAX_BYTES |= dict.fromkeys(NAMED, 2**20)
MAX_FOLDERS = 64  # folders that are searched at start
MAX_REASON = 400  # characters of a message that quotes a file
PICKLES = ("pytorch_model.bin", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
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
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        raise ValueError(lacking(name, _listing(folder))) from None
    if not inside:
        raise ValueError(_("{name} is a link out of the folder; put the file itself there", name=name))
    if not real.is_file():
        raise ValueError(_("{name} is not a file; put the file itself there", name=name))
    check_size(name, found.size)
    return found


def check_size(name: str, size: int) -> None:
    if size > MAX_BYTES[name]:
        raise ValueError(_("{name} has {size:,} bytes and the limit is {max_bytes:,}; choose a smaller model",
                           name=name, size=size, max_bytes=MAX_BYTES[name]))


def _listing(folder: Path) -> list[str]:
    try:
        return sorted(child.name for child in folder.iterdir())
    except OSError:
        return []


def lacking(file: str, there: Sequence[str]) -> str:
    """What is wrong with a model without this file."""
    pickle = next((name for name in there if any(Path(name).match(pattern) for pattern in PICKLES)), None)
    if file == TENSORS and pickle is not None:
        return (
            _("{pickle} may be a pickle, which runs code when it is opened, and is not read; save the model as {tensors}, with "
              "save_pretrained(safe_serialization=True)", pickle=pickle[:60], tensors=TENSORS)
        )
    if file == TENSORS and f"{TENSORS}.index.json" in there:
        return _("the tensors lie in several files; save them as one {tensors}", tensors=TENSORS)
    return _("there is no {file}; a model here is {files} and {files_2}", file=file, files=", ".join(FILES[:2]), files_2=FILES[2])


def sentence(name: str, error: ValueError) -> str:
    """One bounded sentence, also where a file's own words are quoted."""
    reason = str(error).removeprefix(f"{name}: ").rstrip(".")
    reason = reason if len(reason) <= MAX_REASON else reason[: MAX_REASON - 1] + "…"
    return " ".join(f"{name}: {reason}.".split())
