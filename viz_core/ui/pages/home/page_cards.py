"""Cards of the other pages, each with a thumbnail computed from the present run."""

from importlib import import_module
from typing import Any

import streamlit as st

from viz_core.messages import language
from viz_core.messages import translate as _
from viz_core.ui.shared.elements import is_dark
from viz_core.ui.shell import PAGES, PageContext
from viz_core.ui.shell.runs.below_fold import below_fold

CARD_WIDTH = 232  # pixels


def page_cards(context: PageContext) -> None:
    """Draw a card for each other page, in the order of the navigation. The thumbnails are cached for all sessions."""
    st.header(_("What you can look at"), anchor=False)
    _cards(context)


@below_fold()
def _cards(context: PageContext) -> None:
    from viz_core.ui.shell.caching.server_cache import cached_result

    capture = context.capture
    drawn = (
        {}
        if capture is None
        else cached_result(
            "thumbnails",
            (context.run_key(), context.selected_item(capture), is_dark(), language()),
            lambda: {name: _thumbnail_module(name).thumbnail(context, capture) for name, page in PAGES.items() if page.home_text},
        )
    )
    with st.container(horizontal=True, gap="small", key="home_cards"):
        for page in PAGES.values():
            if not page.home_text:
                continue
            with st.container(border=True, width=CARD_WIDTH, gap="xsmall"):
                if picture := drawn.get(page.name):  # without a Save menu: the page has the full figure
                    st.html(picture)
                st.page_link(page.path, label=f"**{page.title}**", icon=page.icon)
                st.caption(page.home_text)


def _thumbnail_module(name: str) -> Any:
    """Return the module of a page, whose `thumbnail(context, capture)` returns the picture of its card as HTML, "" for none."""
    return import_module(f"viz_core.ui.pages.{name}.thumbnail")
