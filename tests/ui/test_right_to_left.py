"""A right-to-left word of a visitor turns nothing around it, and punctuation is quoted: in every sentence, title and label."""

import re
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.helpers import TINY, bodies, canvas_headers, charts, open_page, words

WORD = "שלום"
TYPED = TINY | {"source": f"the {WORD} sat .", "target": f"a {WORD} b ."}
PAGES: list[tuple[str, dict[str, str]]] = [
    ("home", {}), ("home", {"weights": "translator", "source": f"The dog likes {WORD}."}),
    ("step_by_step", {"stage": "encoder.layers.0.self_attn.weights"}), ("step_by_step", {"walk_mode": "tour", "walk_follow": "1"}),
    ("step_by_step", {"walk_mode": "tour", "walk_follow": "1", "stage": "logits"}),
    ("attention", {}), ("attention", {"att_kind": "encoder", "att_query": "1", "att_key": "1"}),
    ("attention", {"att_more": "break"}), ("attention", {"att_query": "1", "att_key": "3"}),
    *(("writing", {"write_section": section}) for section in ("choose", "branch", "forcing", "cache")),
    *(("cause", {"cause_section": section}) for section in ("patching", "lens", "attribution", "heads")),
    ("masks", {}), ("masks", {"mask_section": "leak", "mask_place": "1"}), ("masks", {"mask_section": "empty"}),
    ("positions", {"pos_section": "experiments"}),
    ("positions", {"pos_section": "schemes", "pos_scheme": "rope", "pos_query": "1"}),
    ("norms", {"norm_section": "token"}), ("norms", {"norm_section": "batchnorm"}),
]


def sentences(at: AppTest) -> Iterator[str]:
    """Everything that is written on a page, on its widgets, or as the title of a picture; but not in a box that was typed into."""
    for kind in (at.markdown, at.caption, at.info, at.warning, at.success):
        yield from (element.value for element in kind)
    yield from bodies(at)
    for node in [*at.main, *at.sidebar]:
        for name in ("label", "placeholder", "help"):
            yield str(getattr(getattr(node, "proto", None), name, ""))
        options = getattr(getattr(node, "proto", None), "options", ())
        yield from (option if isinstance(option, str) else getattr(option, "content", "") for option in options)
    for header in canvas_headers(at):
        yield from (str(part.get("title", "")) for part in (header, *header.get("panels", ()), *header.get("grids", ())))
    for chart in charts(at):
        layout = chart.get("layout", {})
        yield from (str((layout.get(part) or {}).get("title", "")) for part in ("xaxis", "yaxis"))
        yield str(layout.get("title", ""))


@pytest.mark.parametrize(("page", "link"), PAGES, ids=str)
def test_a_right_to_left_word_is_isolated_wherever_it_stands(page: str, link: dict[str, str]) -> None:
    at = open_page(page, **({} if "weights" in link else TYPED), **link)
    bare = [said for said in sentences(at) for found in re.finditer(WORD, said)
            if said != WORD and not re.search(r"(\u2068[^\u2069]*|<bdi[^>]*>[^<]*)$", said[: found.start()])]
    assert not bare, bare


def test_a_full_stop_in_a_sentence_is_quoted() -> None:
    at = open_page("attention", **TYPED, att_kind="encoder", att_query="3", att_key="3")
    assert "the query <b>“<bdi>.</bdi>”</b> gets its weight for the key <b>“<bdi>.</bdi>”</b>" in words(at)
    at = open_page("cause", **TYPED, cause_section="heads")
    options = [option for node in at.main for option in getattr(getattr(node, "proto", None), "options", ())]
    assert "weight on “.”" in options and not any(str(option).endswith("on .") for option in options)
