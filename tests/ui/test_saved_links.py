"""Links that were written in November 2026 and stand in people's slides: they open what they promised."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from viz_core.config import TransformerConfig
from viz_core.ui.shell.session.state import ALL_PARTS
from viz_core.ui.shell.setup import from_link, to_link

ROOT = Path(__file__).parents[2]
SAVED = json.loads(Path(__file__).with_name("saved_links.json").read_text("utf-8"))  # page, link, config where it differs
each_link = pytest.mark.parametrize("saved", SAVED, ids=[f"{i}-{s['page']}" for i, s in enumerate(SAVED)])


@each_link
def test_it_holds_the_setup_that_it_held(saved: dict) -> None:
    """Of a preset's model the whole config; trained weights may have been trained anew at other sizes, and what the link changes
    in them stays."""
    params = dict(parse_qsl(saved["link"], keep_blank_values=True))
    setup, faults = from_link(params)
    assert not faults
    held = {k: tuple(v) if isinstance(v, list) else v for k, v in saved["config"].items()}
    own = setup.checkpoint_card
    expected = replace(TransformerConfig(), **held) if own is None else replace(
        own.config, **{k: v for k, v in held.items() if k in params})
    assert asdict(setup.config) == asdict(expected)
    again, left_out = to_link(setup)
    assert not left_out.name and from_link(again)[0] == setup
    assert (setup.source, setup.target) == (params.get("source", setup.source), params.get("target", setup.target))


def test_there_are_thirty_of_all_pages() -> None:
    assert len(SAVED) >= 30 and {s["page"] for s in SAVED} == {path.stem for path in (ROOT / "pages").glob("*.py")}


@pytest.mark.parametrize("page", sorted({s["page"] for s in SAVED}))
def test_its_page_opens(page: str) -> None:
    """The first of each page, whole: the other tests of the pages do the rest."""
    saved = next(s for s in SAVED if s["page"] == page)
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60)
    at.query_params.update(dict(parse_qsl(saved["link"], keep_blank_values=True)))
    at.session_state[ALL_PARTS] = True
    at.run()
    if page != "home":
        at.switch_page(f"pages/{page}.py").run()
    assert not at.exception and not [w for w in at.warning if w.value.startswith("The link says")]
