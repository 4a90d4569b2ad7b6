"""Every page and section on one screen: the main picture begins near the top, is whole, and covers most of what is seen; in
presenter's mode it is alone and fills the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import mean
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from tests.browser.first_screen import Screen, measure
from tests.browser.helpers import idle
from viz_core.ui.page_list import PAGES
from viz_core.ui.shell.setup import from_link, to_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest_plugins = ["tests.browser.one_page"]

PROJECTOR, DESK, BACK_ROW = (1280, 720), (1920, 1080), (853, 480)  # the last is the first at 150 % zoom
TEXT_SCALE = {"projector": 1, "desk": 16 / 14}  # text is larger on a larger screen: `--lab-screen` of frame.css
# Further states of pages: its name, what follows in the link, the key of its main picture.
KEPT = urlencode({"source": "the animal did not cross the street because it was too wide",
                  "kept": to_query(from_link({"source": "the animal did not cross the street because it was too tired"})[0])})
STATES = (
    ("step_by_step", "?walk_mode=tour", "walk_canvas"),
    ("step_by_step", "?stage=decoder.layers.1.cross_attn.weights", "walk_canvas"),
    ("step_by_step", "?stage=logits", "walk_canvas"),
    ("step_by_step", f"?{KEPT}&stage=encoder.layers.1.self_attn.weights", "walk_canvas"),
    ("step_by_step", f"?{KEPT}&walk_look=parting", "walk_parting"),
    ("step_by_step", f"?{KEPT}&walk_look=parting&walk_rows=all", "walk_parting"),
    ("shapes", f"?{KEPT}", "shapes_table"),
)


def states() -> Iterator[tuple[str, str]]:
    """The link of each page and section from the server's address on, and the key of its main picture."""
    for page in PAGES.values():
        path = "" if page.name == "home" else page.name
        if page.name == "help":  # shows text
            continue
        if not page.sections:
            yield f"/{path}", page.figure_key
        for section in page.sections:
            yield f"/{path}?{page.section_param}={section.name}", section.figure_key
    for name, query, key in STATES:
        yield f"/{name}{query}", key


@pytest.fixture
def screens(serve: Callable[..., str], turn_to: Callable[..., Page]) -> Callable[..., dict[str, Screen]]:
    """`screens(link, key)` → one page on a projector and presented; on a desk too, and presented to the back row."""

    def screens(link: str, key: str, other_sizes: bool) -> dict[str, Screen]:
        page = turn_to(serve() + link, width=PROJECTOR[0], height=PROJECTOR[1])
        found = {"projector": measure(page, key)}
        if other_sizes:
            _resize(page, DESK)
            found["desk"] = measure(page, key)
        page.keyboard.press("f")
        _resize(page, PROJECTOR)
        found["presented"] = measure(page, key)
        if other_sizes:
            _resize(page, BACK_ROW)
            found["back row"] = measure(page, key)
        return found

    return screens


@pytest.mark.parametrize("leaf", ["self_attn.weights", "cross_attn.weights"])
def test_what_a_stop_says_of_its_cell_is_on_the_screen(leaf: str, serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    """Below a narrow matrix its legend, the link to its table and its readout can need a line each."""
    link = f"/step_by_step?walk_mode=tour&stage=decoder.layers.1.{leaf}&attn_head=3"
    page = turn_to(serve() + link, width=PROJECTOR[0], height=PROJECTOR[1])
    said = page.locator(".st-key-walk_canvas .readout b")
    place, box = page.locator(".st-key-walk_canvas").bounding_box(), said.bounding_box()
    assert place is not None and box is not None
    assert box["y"] + box["height"] <= min(PROJECTOR[1], place["y"] + place["height"])
    axes = page.locator(".st-key-walk_canvas figure").last.locator(".axes")
    assert "query" in axes.inner_text() and "key" in axes.inner_text()  # what T and S are at this place


def _resize(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    idle(page)


def test_every_page_shows_its_picture_first(screens: Callable[..., dict[str, Screen]]) -> None:
    """Every second state at the other sizes too: sections of a page share the layout that the sizes change."""
    found, faults = {}, []
    for number, (link, key) in enumerate(states()):
        try:
            found[link] = screens(link, key, other_sizes=number % 2 == 0)
        except AssertionError as error:
            faults.append(f"{link}: {error}")
    for link, at in found.items():
        faults += [f"{link}: {fault}" for fault in _faults(at)]
    for name, most_cover in (("projector", 0.45), ("desk", 0.35)):
        top, cover = (mean(getattr(at[name], of) for at in found.values() if name in at) for of in ("top", "cover"))
        most_top = 170 * TEXT_SCALE[name]
        if top > most_top:
            faults.append(f"{name}: the main picture begins {top:.0f} px from the top in the mean, at most {most_top:.0f} is right")
        if round(cover, 3) < most_cover:
            faults.append(f"{name}: pictures cover {cover:.1%} of the screen in the mean, at least {most_cover:.0%} is the aim")
    print(table(found))
    assert not faults, "\n".join([*faults, table(found)])


def _faults(at: dict[str, Screen]) -> Iterator[str]:
    for name in at.keys() & {"projector", "desk"}:
        if at[name].cover < 0.3:
            yield f"{name}: pictures cover only {at[name].cover:.1%} of the screen"
        if at[name].visible < 0.95:
            yield f"{name}: only {at[name].visible:.0%} of the main picture is on the screen"
    for name in at.keys() & {"presented", "back row"}:
        if max(at[name].wide, at[name].high) < 0.9:
            yield f"{name}: the picture spans {at[name].wide:.0%} of the width and {at[name].high:.0%} of the height"
    for name, least in (("projector", 9), ("presented", 14), ("back row", 14)):
        if name in at and at[name].type[0] < least:
            yield f"{name}: type of {at[name].type[0]:.3g} px ({at[name].type[1]!r}), at least {least} is the aim"


def table(found: dict[str, dict[str, Screen]]) -> str:
    """One line for each state."""
    lines = [f"{'':58} top  cover visible type | presented: wide high type | desk: top cover | back row: wide high type"]
    for link, at in found.items():
        p, s, d, b = (at.get(name) for name in ("projector", "presented", "desk", "back row"))
        lines.append(
            f"{link:58} {p.top:4.0f} {p.cover:5.0%} {p.visible:6.0%} {p.type[0]:5.3g} | "
            f"{s.wide:15.0%} {s.high:4.0%} {s.type[0]:4.3g}"
            + (f" | {d.top:9.0f} {d.cover:5.0%} | {b.wide:14.0%} {b.high:4.0%} {b.type[0]:4.3g}" if d and b else "")
        )
    return "\n".join(lines)
