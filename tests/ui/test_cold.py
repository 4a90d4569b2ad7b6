"""A class opens a server that nobody has opened before: everything arrives, and what is slow to import is imported once."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from tests.browser.conftest import ROOT, await_health, free_port
from tests.visitor import PAGES, Visitor, at_once
from viz_core.ui.page_list import PAGES as PAGE_LIST

HEAVY = ("torch", "pandas", "pyarrow", "plotly", "numpy", "safetensors", "tokenizers", "viz_core")
ONE_THREAD = ("torch", "pandas", "pyarrow")  # the others are imported in parts, one after another
SMALL = ("preset=000&n_heads=2&d_model=16&d_ff=8&n_encoder_layers=1&n_decoder_layers=1&source_vocab_size=50&target_vocab_size=50"
         "&norm_depth=2&norm_width=16&norm_draws=1&norm_batches=1")


def links() -> Iterator[tuple[str, str]]:
    """Every page of the trained weights, every state of a small model, and a change of what it is."""
    yield from ((page, "") for page in PAGES)
    for page in PAGE_LIST.values():
        yield from ((page.name, f"{SMALL}&{urlencode(state)}") for state in page.test_states)
    yield "attention", f"{SMALL}&att_more=break&att_temperature=2"
    yield "shapes", f"{SMALL}&shapes_columns=statistics&architecture=decoder-only"
    yield "home", f"{SMALL}&tokenizer=ids&source=5 6&target=7&position=rope"


@contextmanager
def recorded(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """A fresh server whose script threads' imports are written down: its URL, its log, the imports."""
    url, log, imports = f"http://127.0.0.1:{free_port()}", folder / "log", folder / "imports"
    command = [sys.executable, "tests/recorded.py", imports, "run", "app.py", f"--server.port={url.rpartition(':')[2]}",
               "--server.address=127.0.0.1"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"NO_COLOR": "1"}, stdout=out, stderr=subprocess.STDOUT)
    try:
        await_health(url, process, log)
        yield url, log, imports
    finally:
        process.terminate()
        process.wait()


def heavy(imports: str) -> list[tuple[str, str]]:
    """(thread, module) of each import of a heavy package."""
    asked = [tuple(line.split()) for line in imports.splitlines()]
    return [(thread, name) for thread, name in asked if name.split(".")[0] in HEAVY]


def test_all_who_open_a_fresh_server_at_once_see_their_page(tmp_path: Path) -> None:
    with recorded(tmp_path) as (url, log, imports):
        silent = log.read_text()
        answers = asyncio.run(at_once(url, PAGES))
        cold = heavy(imports.read_text())
        for package in ONE_THREAD:
            threads = {thread for thread, name in cold if name.split(".")[0] == package}
            assert len(threads) == 1, f"{package} was imported by {len(threads)} threads"
        for page, answer in zip(PAGES, answers, strict=True):
            assert answer.finished and not answer.exceptions, (page, answer.exceptions)

        async def one_after_another() -> None:
            async with Visitor(url) as visitor:
                for number, (page, query) in enumerate(links()):
                    answer = await visitor.opens(page, query)
                    assert answer.finished and not answer.exceptions, (page, query, answer.exceptions)
                    if number < len(PAGES):
                        assert answers[number].kinds == answer.kinds, f"{page} was not whole at first"
                    new = heavy(imports.read_text())[len(cold) :]
                    assert not new, f"{page}?{query} imports {new}: name it in viz_core/ui/shell/caching/preload.py"

        asyncio.run(one_after_another())
        assert log.read_text() == silent


def test_home_waits_for_no_table_of_another_page(tmp_path: Path) -> None:
    with recorded(tmp_path) as (url, _, imports):
        (answer,) = asyncio.run(at_once(url, ["home"]))
        assert answer.finished and not answer.exceptions
        names = {name.split(".")[0] for _, name in heavy(imports.read_text())}
        assert "torch" in names and not names & {"pandas", "pyarrow"}
