"""A folder in the Hugging Face layout as a card: its facts at once, its tensors and its tokenizer when they are used.

Every `ValueError` is one sentence that starts with the card's name and never reveals a path on the machine.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from viz_core.config import TransformerConfig
from viz_core.language import translate as _
from viz_core.weights.agreement import disagreements, with_padding
from viz_core.weights.card import Card
from viz_core.weights.contents import inspected, json_object
from viz_core.weights.files import CONFIG, FILES, MAX_FOLDERS, NAME, NAMED, TENSORS, TOKENIZER, File, local_name, regular_file, sentence
from viz_core.weights.layouts import Layout, TensorPart
from viz_core.weights.special_tokens import parsed_tokenizer, special_tokens

if TYPE_CHECKING:
    from viz_core.model.transformer import Transformer
    from viz_core.text import AnyTokenizer


def read_folder(
    path: str | Path, *, name: str | None = None, title: str | None = None, about: Mapping[str, Any] | None = None,
    examples: Sequence[tuple[str, str]] = (), within: Path | None = None, sha256: str | None = None,
) -> Card:
    """The card of a BERT, DistilBERT or GPT-2 in a folder. Loads neither torch nor a tensor.

    within: the folder that no file may lead out of, by default `path`. sha256: of the only tensors to be accepted.
    `ValueError`: one sentence, for files that are missing, too large, elsewhere, pickles, or that do not fit each other.
    """
    folder = Path(path)
    name = name or local_name(folder)
    try:
        if not all(map(NAME.fullmatch, name.split("/"))):
            raise ValueError(_("a folder's name may have letters, digits and . _ - only; rename it"))
        files = tuple(regular_file(folder, file, within or folder) for file in FILES)
        layout, config, parts, unused = inspected(files)
        named = tuple(regular_file(folder, file, within or folder) for file in NAMED if os.path.lexists(folder / file))
        config, disagreements = _with_its_tokenizer(files, named, layout, config)
    except ValueError as error:
        raise ValueError(sentence(name, error)) from None
    facts = {
        "architecture": layout.title,
        "layers": config.n_layers(layout.side),
        "heads": config.n_heads,
        "width": config.d_model,
        "parameters": sum(part.numbers for part in parts.values()),
        "source": _("folder {name}", name=folder.resolve().name),
        **(about or {}),
    }
    if config.has_head:
        facts["end of text"] = _("the same id also pads shorter texts, so it does not count in the loss")
    else:
        facts["head"] = _("none: the model returns hidden states, no logits")
    facts |= disagreements
    if unused:
        facts["in the file, not used"] = unused
    return Card(
        name=name, title=title or _("{name}: {title}, {layers} layers",
                                    name=folder.resolve().name, title=layout.title, layers=facts["layers"]), config=config,
        tokenizers=partial(_named, name, partial(_tokenizers, files, layout, config)),
        load=partial(_named, name, partial(_load, files[1], layout, config, parts, sha256)),
        about=MappingProxyType(facts), examples=tuple(examples),
    )


@lru_cache(maxsize=2 * MAX_FOLDERS)
def _with_its_tokenizer(
    files: tuple[File, ...], named: tuple[File, ...], layout: Layout, config: TransformerConfig
) -> tuple[TransformerConfig, Mapping[str, str]]:
    """The config with the padding of the tokenizer, and what config.json says of special tokens that is not so."""
    parsed = parsed_tokenizer(_text(files[2]))
    tokens = special_tokens(parsed, *(json_object(file.path) for file in named))
    raw = json_object(files[0].path)
    found = disagreements(raw, parsed, tokens)
    return with_padding(config, layout.side, tokens, layout.ends(raw) or ()), MappingProxyType(found)


# --- When a card is used ----------------------------------------------------------------------------------------------


def _load(
    file: File, layout: Layout, config: TransformerConfig, parts: Mapping[str, TensorPart], sha256: str | None
) -> "Transformer":
    """The model on the CPU in float32, every parameter read from its part of the file and copied."""
    import torch
    from safetensors import SafetensorError, safe_open

    from viz_core.model.transformer import Transformer

    file.still()
    if sha256 is not None and _digest(file) != sha256:
        raise ValueError(_("{tensors} is not the file that was published (its SHA-256 differs); install it again", tensors=TENSORS))
    model = Transformer(config, seed=None).eval()
    try:
        with torch.no_grad(), safe_open(file.path, framework="pt") as tensors:
            for ours, parameter in model.named_parameters():
                part = parts[ours]
                x = tensors.get_tensor(part.name)  # as it is stored
                if tuple(x.shape) != part.shape:
                    raise ValueError(_("{tensors} changed since it was looked at; open the page again", tensors=TENSORS))
                x = x.mT if part.transposed else x  # [out, in]
                x = x if part.third is None else x.chunk(3)[part.third]
                parameter.copy_(x)
                if not parameter.sum().isfinite():
                    raise ValueError(_("{name} in {tensors} holds numbers that are not finite; fetch it again",
                                       name=part.name, tensors=TENSORS))
            _check_tie(layout, model, tensors)
    except (SafetensorError, OSError):
        raise ValueError(_("{tensors} is cut off or no safetensors file; fetch it again", tensors=TENSORS)) from None
    return model


def _check_tie(layout: Layout, model: "Transformer", tensors: Any) -> None:
    """A file may hold a tied head a second time, but then it is the embedding."""
    if layout.head is None or not model.config.tie_output:
        return
    name, ours = f"{layout.head.theirs}.weight", model.get_parameter("head.weight")
    if name in tensors.keys() and not ours.equal(tensors.get_tensor(name).float()):  # noqa: SIM118, not a mapping
        raise ValueError(_("{name} differs from the embedding, and {config} says tie_word_embeddings=True; save the model again",
                           name=name, config=CONFIG))


@lru_cache(maxsize=4)
def _digest(file: File) -> str:
    """SHA-256 in hex, computed once for a file that stays as it is."""
    with file.path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@lru_cache(maxsize=8)
def _tokenizers(files: tuple[File, ...], layout: Layout, config: TransformerConfig) -> "Mapping[str, AnyTokenizer]":
    """The tokenizer of the one side that the model reads; the same object as long as the files stay as they are."""
    from viz_core.weights.subword import Subword

    text = _text(files[2])
    vocabulary, pad_id = config.vocab_size(layout.side), config.pad_id(layout.side)
    return MappingProxyType({layout.side: Subword(text, vocabulary, pad_id, layout.ends(json_object(files[0].path)))})


def _text(file: File) -> str:
    try:
        return file.still().read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise ValueError(_("{tokenizer} is not text that can be read; fetch it again", tokenizer=TOKENIZER)) from None


def _named(name: str, make: Callable[[], Any]) -> Any:
    """What `make` gives; its errors start with the card's name."""
    try:
        return make()
    except ValueError as error:
        raise ValueError(sentence(name, error)) from None
